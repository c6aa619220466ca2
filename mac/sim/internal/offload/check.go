package offload

import "encoding/binary"

// Payload is the kind of payload that a checksum engine knows.
type Payload uint8

// Kinds of payload.
const (
	Unknown Payload = iota
	UDP
	TCP
	ICMP
)

// Verdict is what a receive checksum engine says about a frame.
type Verdict struct {
	IPv4, IPv6 bool
	// HeaderError: the version, a length or the IPv4 header checksum is wrong.
	HeaderError bool
	// Payload is Unknown for fragments, extension headers and other protocols.
	Payload Payload
	// PayloadError: the payload's checksum is wrong, or its length.
	PayloadError bool
	// Bypassed: the payload was not checked although its kind is known (UDP
	// without checksum), or the frame is not IP at all.
	Bypassed bool
	Fragment bool
	// Length is that of the IP packet in bytes, 0 when it is not known, and Header
	// that of its IP header.
	Length, Header int
}

// Good reports whether all checksums were looked at and found right.
func (v Verdict) Good() bool {
	return (v.IPv4 || v.IPv6) && !v.HeaderError && !v.PayloadError && !v.Bypassed && v.Payload != Unknown
}

// Check looks at a frame as a receive checksum engine does: behind at most one
// VLAN tag, and not behind IPv6 extension headers.
func Check(f []byte) Verdict {
	typ, at, ok := EtherType(f, 1)
	switch {
	case ok && typ == typeIPv4:
		return check4(f[at:])
	case ok && typ == typeIPv6:
		return check6(f[at:])
	}
	return Verdict{Bypassed: true}
}

func check4(ip []byte) Verdict {
	v := Verdict{IPv4: true}
	hl, total, ok := header4(ip)
	if !ok || Sum(0).Add(ip[:hl]).Fold() != 0xffff {
		v.HeaderError = true
		return v
	}
	v.Length, v.Header = total, hl
	if binary.BigEndian.Uint16(ip[6:])&0x3fff != 0 {
		v.Fragment = true
		return v
	}
	if ip[9] != protoICMPv6 {
		v.payload(ip[:hl], ip[hl:total], ip[9])
	}
	return v
}

func check6(ip []byte) Verdict {
	v := Verdict{IPv6: true}
	total, ok := header6(ip)
	if !ok {
		v.HeaderError = true
		return v
	}
	v.Length, v.Header = total, 40
	if ip[6] != protoICMP {
		v.payload(ip[:40], ip[40:total], ip[6])
	}
	if v.Payload == Unknown {
		v.Bypassed = true
	}
	return v
}

// header4 returns the header length and total length of an IPv4 packet.
func header4(ip []byte) (hl, total int, ok bool) {
	if len(ip) < 20 || ip[0]>>4 != 4 {
		return 0, 0, false
	}
	hl, total = int(ip[0]&15)*4, int(binary.BigEndian.Uint16(ip[2:]))
	return hl, total, hl >= 20 && total >= hl && total <= len(ip)
}

// header6 returns the total length of an IPv6 packet.
func header6(ip []byte) (total int, ok bool) {
	if len(ip) < 40 || ip[0]>>4 != 6 {
		return 0, false
	}
	total = 40 + int(binary.BigEndian.Uint16(ip[4:]))
	return total, total <= len(ip)
}

// payload checks L4. ip is the IP header alone.
func (v *Verdict) payload(ip, l4 []byte, proto uint8) {
	at, least, ok := field(proto)
	if !ok {
		return
	}
	switch proto {
	case protoTCP:
		v.Payload = TCP
	case protoUDP:
		v.Payload = UDP
	default:
		v.Payload = ICMP
	}
	if len(l4) < least {
		v.PayloadError = true
		return
	}
	if proto == protoUDP {
		if !v.IPv6 && binary.BigEndian.Uint16(l4[at:]) == 0 {
			v.Bypassed = true
			return
		}
		if n := int(binary.BigEndian.Uint16(l4[4:])); n < 8 || n > len(l4) {
			v.PayloadError = true
			return
		} else {
			l4 = l4[:n]
		}
	}
	s := Sum(0)
	if proto != protoICMP {
		s = pseudo(ip, v.IPv6, proto, len(l4))
	}
	v.PayloadError = s.Add(l4).Fold() != 0xffff
}

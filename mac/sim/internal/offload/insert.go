package offload

import "encoding/binary"

// Mode says what a transmit checksum engine inserts.
type Mode uint8

// Modes.
const (
	// Header inserts the IPv4 header checksum alone.
	Header Mode = 1
	// Partial inserts the payload's checksum too; the field holds the sum of the
	// pseudo header.
	Partial Mode = 2
	// Full inserts both and does not care what the fields hold.
	Full Mode = 3
)

// Insert writes checksums into a frame in place. The two results say what the
// engine could not do: an IP header that it does not understand, a payload that
// it does not know, or a fragment.
func Insert(f []byte, mode Mode) (headerError, payloadError bool) {
	typ, at, ok := EtherType(f, 1)
	if !ok {
		return true, false
	}
	ip := f[at:]
	var v6 bool
	var hl, total int
	var proto uint8
	switch typ {
	case typeIPv4:
		if hl, total, ok = header4(ip); !ok {
			return true, false
		}
		header4Sum(ip[:hl])
		if proto = ip[9]; mode != Header && binary.BigEndian.Uint16(ip[6:])&0x3fff != 0 {
			return false, true
		}
	case typeIPv6:
		if total, ok = header6(ip); !ok {
			return true, false
		}
		v6, hl, proto = true, 40, ip[6]
	default:
		return true, false
	}
	if mode == Header {
		return false, false
	}
	return false, !insertL4(ip[:hl], ip[hl:total], v6, proto, mode)
}

func header4Sum(ip []byte) {
	ip[10], ip[11] = 0, 0
	binary.BigEndian.PutUint16(ip[10:], Sum(0).Add(ip).Checksum())
}

func insertL4(ip, l4 []byte, v6 bool, proto uint8, mode Mode) bool {
	at, least, ok := field(proto)
	if !ok || len(l4) < least {
		return false
	}
	s := Sum(0)
	if mode == Full {
		l4[at], l4[at+1] = 0, 0
		if proto != protoICMP {
			s = pseudo(ip, v6, proto, len(l4))
		}
	}
	sum := s.Add(l4).Checksum()
	if sum == 0 && proto == protoUDP {
		sum = 0xffff
	}
	binary.BigEndian.PutUint16(l4[at:], sum)
	return true
}

// Layout is where the headers of a frame are, for engines that do not look
// themselves.
type Layout struct {
	// L3 is the offset of the IP header, Header its length in bytes, extension
	// headers included.
	L3, Header int
	// IPv6, or IPv4; UDP, or TCP.
	IPv6, UDP bool
	// InsertHeader inserts the IPv4 header checksum, InsertPayload that of TCP or
	// UDP.
	InsertHeader, InsertPayload bool
}

// InsertAt writes the checksums that l asks for into a frame in place, whatever
// the frame really is. It reports false when they would lie outside of it.
func InsertAt(f []byte, l Layout) bool {
	least := 20
	if l.IPv6 {
		least = 40
	}
	if l.Header < least || l.L3+l.Header > len(f) {
		return false
	}
	ip := f[l.L3 : l.L3+l.Header]
	end := l.L3 + int(binary.BigEndian.Uint16(ip[2:]))
	if l.IPv6 {
		end = l.L3 + 40 + int(binary.BigEndian.Uint16(ip[4:]))
	}
	if end > len(f) || end < l.L3+l.Header {
		return false
	}
	if l.InsertHeader && !l.IPv6 {
		header4Sum(ip)
	}
	proto := uint8(protoTCP)
	if l.UDP {
		proto = protoUDP
	}
	return !l.InsertPayload || insertL4(ip, f[l.L3+l.Header:end], l.IPv6, proto, Full)
}

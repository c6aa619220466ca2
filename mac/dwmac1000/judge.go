package dwmac1000

import (
	"encoding/binary"

	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

var _ ring.Judge = (*rxRing)(nil)

// Judge implements ring.Judge: it takes back what descriptors of four words say too
// much.
//
// By the manual they tell a packet whose checksums are right from one that the
// engine does not know, and from what is no IP. But Linux's driver drops frames with
// the manual's marks for those two, ARP among them, and works; so there are cores
// that mark them as they mark good ones. Extended descriptors leave no such doubt.
func (r *rxRing) Judge(pool *pagepool.Pool, frames []ring.Frame) {
	if r.extended || !r.checksum {
		return
	}
	for i := range frames {
		f := &frames[i]
		if f.Flags&ring.ChecksumGood == 0 {
			continue
		}
		p := f.Pieces[0]
		if !summed(pool.Bytes(p.Page)[p.Off : p.Off+p.Len]) {
			f.Flags &^= ring.ChecksumGood
		}
	}
}

// summed reports whether a frame that begins with head holds what the engine sums
// up: TCP, UDP or ICMP in a packet that is no fragment and has no extension header,
// behind one VLAN tag at most.
func summed(head []byte) bool {
	const (
		typeIPv4, typeIPv6, typeVLAN = 0x0800, 0x86DD, 0x8100
		icmp, tcp, udp, icmpv6       = 1, 6, 17, 58
		least                        = 14 + 20
	)
	if len(head) < least {
		return false
	}
	typ, ip := binary.BigEndian.Uint16(head[12:]), head[14:]
	if typ == typeVLAN {
		if len(head) < least+4 {
			return false
		}
		typ, ip = binary.BigEndian.Uint16(head[16:]), head[18:]
	}
	switch typ {
	case typeIPv4:
		return binary.BigEndian.Uint16(ip[6:])&0x3FFF == 0 && (ip[9] == icmp || ip[9] == tcp || ip[9] == udp)
	case typeIPv6:
		return ip[6] == icmpv6 || ip[6] == tcp || ip[6] == udp
	}
	return false
}

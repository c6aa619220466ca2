package mvneta

import (
	"encoding/binary"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/neta"
)

// Ethernet types.
const (
	typeIPv4    = 0x0800
	typeARP     = 0x0806
	typeVLAN    = 0x8100
	typeIPv6    = 0x86DD
	typeControl = 0x8808
	typeLeast   = 0x0600 // below is a length
)

// entry looks up entry n of a table.
func (m *Model) entry(table uint32, n uint8) (queue int, ok bool) {
	e := m.load(table+4*uint32(n/4)) >> (8 * (n % 4))
	return int(field.Get(neta.EntryQueue, e)), e&neta.EntryAccept != 0
}

// filter decides whether a frame passes, and which queue its address says.
// exact is false when the address is not the port's own, bit for bit.
func (m *Model) filter(f []byte, typ uint16) (queue int, pass, exact bool) {
	a := mac.HardwareAddr(f[:6])
	config := m.load(neta.PortConfig)
	def := int(field.Get(neta.ConfigDefault, config))
	switch {
	case a == mac.Broadcast:
		reject := neta.ConfigRejectBcast
		switch typ {
		case typeIPv4:
			reject = neta.ConfigRejectIP
		case typeARP:
			reject = neta.ConfigRejectARP
		}
		return def, config&reject == 0, true
	case a.Multicast() && [5]byte(a[:5]) == [5]byte{0x01, 0x00, 0x5e}:
		queue, pass = m.entry(neta.SpecialTable, a[5])
		return queue, pass, true
	case a.Multicast():
		queue, pass = m.entry(neta.MulticastTable, crc8(a))
		return queue, pass, true
	}
	hi, lo := m.load(neta.MACHigh), m.load(neta.MACLow)
	own := binary.BigEndian.Uint32(a[:4]) == hi && uint32(a[4]) == lo>>8&0xFF && a[5]>>4 == byte(lo)>>4
	if config&neta.ConfigPromiscuous == 0 && !own {
		return 0, false, false
	}
	queue, pass = m.entry(neta.UnicastTable, a[5]&15)
	return queue, pass, own
}

// crc8 is the hash of group addresses, computed bit by bit: x^8 + x^2 + x + 1.
func crc8(a mac.HardwareAddr) uint8 {
	c := uint8(0)
	for _, b := range a {
		c ^= b
		for range 8 {
			carry := c & 0x80
			if c <<= 1; carry != 0 {
				c ^= 0x07
			}
		}
	}
	return c
}

// route picks the queue of a frame that has passed: by its priority when it is
// tagged, by its protocol, by its address.
func (m *Model) route(f []byte, typ uint16, tagged bool, queue int) int {
	if tagged {
		return int(m.load(neta.VLANPriority) >> (3 * (f[14] >> 5)) & 7)
	}
	config := m.load(neta.PortConfig)
	switch {
	case typ == typeARP:
		return int(field.Get(neta.ConfigARP, config))
	case typ == typeIPv4 && len(f) >= 24 && f[23] == 6:
		return int(field.Get(neta.ConfigTCP, config))
	case typ == typeIPv4 && len(f) >= 24 && f[23] == 17:
		return int(field.Get(neta.ConfigUDP, config))
	}
	return queue
}

package dwxgmac2

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/xgmac2"
)

// microsoftKey is that of "Verifying the RSS Hash Calculation", whose results the
// tests below have.
var microsoftKey = []byte{
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0,
	0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c,
	0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
}

// access does one access to key or table and polls until it is over.
func (r *rig) access(addr, data uint32) uint32 {
	r.m.Write32(xgmac2.MACRSSData, data)
	r.m.Write32(xgmac2.MACRSSAddr, addr|xgmac2.RSSAddrOB)
	require.NotZero(r, r.m.Read32(xgmac2.MACRSSAddr)&xgmac2.RSSAddrOB, "busy at first")
	require.Zero(r, r.m.Read32(xgmac2.MACRSSAddr)&xgmac2.RSSAddrOB)
	return r.m.Read32(xgmac2.MACRSSData)
}

func (r *rig) rss(control uint32) {
	for i := range uint32(xgmac2.RSSKeyWords) {
		r.access(i<<8|xgmac2.RSSAddrADDRT, binary.LittleEndian.Uint32(microsoftKey[4*i:]))
	}
	r.m.Write32(xgmac2.MACRSSControl, control)
}

func TestRSSHash(t *testing.T) {
	const all = xgmac2.RSSControlRSSE | xgmac2.RSSControlIP2TE | xgmac2.RSSControlTCP4TE | xgmac2.RSSControlUDP4TE
	fragment := ipv4(6, 100)
	fragment[20] |= 0x20
	clear(fragment[24:26])
	binary.BigEndian.PutUint16(fragment[24:], ^sum16(fragment[14:34]))
	for _, c := range []struct {
		name    string
		control uint32
		frame   []byte
		hash    uint32
		hashed  bool
	}{
		{"TCP over IPv4", all, ipv4(6, 100), 0x51ccc178, true},
		{"UDP over IPv4", all, ipv4(17, 100), 0x51ccc178, true},
		{"TCP over IPv6", all, ipv6(6, 100), 0x40207d3d, true},
		{"addresses of IPv4", all, ipv4(1, 100), 0x323e8fc2, true},
		{"addresses of IPv6", all, ipv6(58, 100), 0x2cc18cd5, true},
		{"a fragment", all, fragment, 0x323e8fc2, true},
		{"UDP without its ports", all &^ xgmac2.RSSControlUDP4TE, ipv4(17, 100), 0x323e8fc2, true},
		{"TCP alone", xgmac2.RSSControlRSSE | xgmac2.RSSControlTCP4TE, ipv4(17, 100), 0, false},
		{"not IP", all, frame(0x88b5, 100), 0, false},
		{"off", all &^ xgmac2.RSSControlRSSE, ipv4(6, 100), 0, false},
	} {
		r := newRig(t, Config{})
		r.rss(c.control)
		d := r.receive(c.frame)
		require.Equal(t, c.hashed, d[3]&xgmac2.RDES3RSV != 0, c.name)
		if c.hashed {
			require.Equal(t, c.hash, d[1], c.name)
		}
	}
}

func sum16(b []byte) uint16 {
	s := uint32(0)
	for i := 0; i < len(b); i += 2 {
		s += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	return uint16(s + s>>16)
}

func TestRSSAccess(t *testing.T) {
	r := newRig(t, Config{Queues: 4})
	r.rss(0)
	for i := range uint32(xgmac2.RSSKeyWords) {
		require.Equal(t, binary.LittleEndian.Uint32(microsoftKey[4*i:]), r.access(i<<8|xgmac2.RSSAddrADDRT|xgmac2.RSSAddrCT, 0))
	}
	r.access(0x78<<8, 3)
	require.EqualValues(t, 3, r.access(0x78<<8|xgmac2.RSSAddrCT, 9))
	r.access(10<<8|xgmac2.RSSAddrADDRT, 0xFFFFFFFF) // beyond the key
	// The hash 0x51ccc178 is entry 0x78.
	r.m.Write32(xgmac2.MACRSSControl, 0xF)
	r.m.Deliver(ipv4(6, 100))
	require.EqualValues(t, 1, r.m.Stats().RX[0], "the queue is mapped to channel 0")
	r.m.Write32(xgmac2.RxQDMAMap(0), xgmac2.RxQDMADynamic)
	require.Equal(t, 3, r.m.chip.rss.channel(0x51ccc178))
}

// TestStatus: what a descriptor says of good frames and bad ones.
func TestStatus(t *testing.T) {
	bad4, badHeader := ipv4(6, 100), ipv4(6, 100)
	bad4[80] ^= 1
	badHeader[24] ^= 1
	tag := func(f []byte, tags ...byte) []byte { return append(append(f[:12:12], tags...), f[12:]...) }
	wire := append(frame(0x88b5, 100), 1, 2, 3, 4)
	giant := frame(0x88b5, 2000)
	for _, c := range []struct {
		name      string
		frame     []byte
		es        bool
		kind, l34 uint32
		length    int
	}{
		{"not IP", frame(0x88b5, 100), false, 0, 0, 104},
		{"TCP", ipv4(6, 100), false, 0, 1, 138},
		{"UDP", ipv4(17, 100), false, 0, 2, 138},
		{"ICMP", ipv4(1, 100), false, 0, 3, 138},
		{"other", ipv4(99, 100), false, 0, 7, 138},
		{"TCP over IPv6", ipv6(6, 100), false, 0, 9, 158},
		{"other over IPv6", ipv6(99, 100), false, 0, 15, 158},
		{"tag", tag(ipv4(6, 100), 0x81, 0, 0, 1), false, xgmac2.TypeCTag, 1, 142},
		{"two tags", tag(ipv4(6, 100), 0x81, 0, 0, 1, 0x81, 0, 0, 2), false, xgmac2.TypeDoubleLow, 0, 146},
		{"bad checksum", bad4, true, xgmac2.ErrL4, 1, 138},
		{"bad header", badHeader, true, xgmac2.ErrIPHeader, 0, 138},
		{"giant", giant, true, xgmac2.ErrGiant, 0, 2004},
	} {
		r := newRig(t, Config{})
		d := r.receive(c.frame)
		require.Equal(t, c.es, d[3]&xgmac2.RDES3ES != 0, c.name)
		require.Equal(t, []uint32{c.kind, c.l34}, []uint32{field.Get(xgmac2.RDES3ET, d[3]), field.Get(xgmac2.RDES3L34T, d[3])}, "%s: %#x", c.name, d[3])
		require.EqualValues(t, c.length, d[3]&xgmac2.RDES3PL, c.name)
		require.EqualValues(t, xgmac2.RDES3FD|xgmac2.RDES3LD, d[3]&(xgmac2.RDES3FD|xgmac2.RDES3LD|xgmac2.RDES3CDA), c.name)
		require.NotEqual(t, uint32(r.buf.DeviceAddr()), d[0], "%s: the address is overwritten", c.name)
	}
	r := newRig(t, Config{})
	r.m.DeliverWire(wire)
	require.NotZero(t, r.ring[3]&xgmac2.RDES3OWN, "a bad CRC ends in the FIFO")
	r.m.Write32(xgmac2.QueueBase(0)+xgmac2.RxQOpMode, 127<<16|xgmac2.RxQOpRSF|xgmac2.RxQOpFEP)
	r.m.DeliverWire(wire)
	require.EqualValues(t, xgmac2.ErrCRC, field.Get(xgmac2.RDES3ET, r.take()[3]))
}

func TestContexts(t *testing.T) {
	r := newRig(t, Config{Contexts: true})
	d := r.receive(ipv4(6, 100))
	require.NotZero(t, d[3]&xgmac2.RDES3CDA)
	d = r.take()
	require.EqualValues(t, xgmac2.RDES3CTXT, d[3])
	require.Equal(t, []uint32{5, 1000}, d[:2], "the clock's time")

	r = newRig(t, Config{Contexts: true, LateContexts: true})
	r.receive(ipv4(6, 100))
	require.NotZero(t, r.ring[7]&xgmac2.RDES3OWN, "not there yet")
	r.m.Deliver(ipv4(6, 101))
	require.EqualValues(t, xgmac2.RDES3CTXT, r.take()[3])
	require.EqualValues(t, 139, r.take()[3]&xgmac2.RDES3PL)
}

// TestMMC: counters of 64 bits, read in halves that clear one by one.
func TestMMC(t *testing.T) {
	r := newRig(t, Config{})
	at := func(off uint32) uint32 { return r.m.Read32(xgmac2.MMC + off) }
	r.m.Write32(xgmac2.MMC+xgmac2.MMCControl, dwregs.MMCPreset|dwregs.MMCPresetFull|dwregs.MMCResetOnRead)
	require.Equal(t, uint32(0xfffffff0), at(xgmac2.MMCRxOctets))
	require.Zero(t, at(xgmac2.MMCRxOctets))
	r.m.Write32(xgmac2.MMC+xgmac2.MMCControl, dwregs.MMCPreset|dwregs.MMCPresetFull|dwregs.MMCResetOnRead)
	r.receive(ipv4(6, 100))
	require.EqualValues(t, 0xfffffff0+138-1<<32, at(xgmac2.MMCRxOctets))
	require.EqualValues(t, 1, at(xgmac2.MMCRxOctets+4), "the carry")
	require.Zero(t, at(xgmac2.MMCRxOctets+4))
	require.Equal(t, uint32(0xfffffff1), at(xgmac2.MMCRxPackets))
	require.Zero(t, at(xgmac2.MMCRxPackets+4))
	require.Equal(t, uint32(0xfffffff1), at(xgmac2.MMCRxTCPGood))
	require.EqualValues(t, 0xfffffff0+100-1<<32, at(xgmac2.MMCRxTCPGood+xgmac2.MMCIPCOctets), "without the IP header")
	require.Equal(t, uint32(0xfffffff0), at(xgmac2.MMCRxRunt), "32 bits")
	r.m.Write32(xgmac2.MMC+xgmac2.MMCControl, dwregs.MMCReset)
	require.Zero(t, at(xgmac2.MMCRxRunt))

	// Interrupts are enabled by ones, and end when the counter is read.
	r.m.Write32(xgmac2.MMC+xgmac2.MMCControl, dwregs.MMCPreset)
	require.False(t, r.level)
	r.receive(ipv4(6, 100))
	require.False(t, r.level, "not enabled")
	r.m.Write32(xgmac2.MMC+xgmac2.MMCRxIntEnable, 1<<(xgmac2.MMCRxOctets/8%32))
	require.True(t, r.level)
	require.EqualValues(t, xgmac2.MACIntMMCRx, r.m.Read32(xgmac2.MACIntStatus))
	require.EqualValues(t, xgmac2.DMAIntMAC, r.m.Read32(xgmac2.DMAIntStatus))
	at(xgmac2.MMCRxOctets)
	require.False(t, r.level)
	// Every counter that GMAC4 has and this core too has one place.
	seen := map[uint32]uint32{}
	for name := dwregs.MMCTxOctets; name <= dwregs.MMCRxICMPErr+dwregs.MMCIPCOctets; name += 4 {
		off, ok := place(name)
		if !ok {
			continue
		}
		require.NotContains(t, seen, off)
		seen[off] = name
		start, high, ok := counter(off)
		require.True(t, ok && !high && start == off, "%#x", off)
	}
	require.Len(t, seen, 68)
}

// TestMDIO: data and command in one register; a second command while one is busy is
// a violation.
func TestMDIO(t *testing.T) {
	m := New(Config{Inline: true})
	defer m.Close()
	m.Write32(xgmac2.MACMDIOPort, 1<<1)
	m.Write32(xgmac2.MACMDIOAddr, 1<<16|4)
	m.Write32(xgmac2.MACMDIOData, xgmac2.MDIOBusy|field.Put(xgmac2.MDIOCMD, xgmac2.MDIOWrite)|0x0d41)
	require.NotZero(t, m.Read32(xgmac2.MACMDIOData)&xgmac2.MDIOBusy)
	v := m.Read32(xgmac2.MACMDIOData)
	require.Equal(t, field.Put(xgmac2.MDIOCMD, xgmac2.MDIOWrite)|0x0d41, v)
	m.Write32(xgmac2.MACMDIOData, xgmac2.MDIOBusy|field.Put(xgmac2.MDIOCMD, xgmac2.MDIORead))
	require.Empty(t, m.Violations().List())
	m.Write32(xgmac2.MACMDIOData, xgmac2.MDIOBusy|field.Put(xgmac2.MDIOCMD, xgmac2.MDIORead))
	require.Len(t, m.Violations().List(), 1)
	m.Read32(xgmac2.MACMDIOData)
	require.EqualValues(t, 0x0d41, m.Read32(xgmac2.MACMDIOData)&xgmac2.MDIOData)
}

// TestSpeedOfTheWire: frames pass when MAC and link have one speed.
func TestSpeedOfTheWire(t *testing.T) {
	r := newRig(t, Config{AnyLinkChange: true, PHYAddress: -1})
	for speed, code := range map[int]uint32{10_000: 0, 5000: 5, 2500: 6, 1000: 3, 100: 4, 10: 7} {
		l := r.m.chip.cfg.Link
		l.Speed = speed
		r.m.SetLink(l)
		for other := range uint32(8) {
			r.m.Write32(xgmac2.MACTxConfig, field.Put(xgmac2.TxConfigSS, other))
			require.Equal(t, other == code || speed == 2500 && other == xgmac2.Speed2500GMII, r.m.chip.Speed() == speed)
		}
	}
	m := New(Config{Inline: true})
	defer m.Close()
	m.Write32(xgmac2.MACRxConfig, xgmac2.RxConfigRE)
	m.Write32(xgmac2.MACTxConfig, field.Put(xgmac2.TxConfigSS, 3))
	require.Len(t, m.Violations().List(), 1, "changed while the receiver is on")
}

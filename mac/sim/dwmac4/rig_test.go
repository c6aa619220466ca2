package dwmac4

import (
	"encoding/binary"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/internal/offload"
)

var (
	ownAddr  = mac.HardwareAddr{2, 0, 0, 0, 0, 1}
	peerAddr = mac.HardwareAddr{2, 0, 0, 0, 0, 2}
)

// rig drives a model by hand: registers and descriptors, no driver.
type rig struct {
	t     testing.TB
	m     *Model
	space *sim.Space
	clock *sim.ManualClock
	level bool
	edges int
	sent  [][]byte
	rx    [8]*handRing
	tx    [8]*handRing
}

// handRing is a ring with one buffer per descriptor.
type handRing struct {
	mem, buf *sim.Memory
	w        []uint32
	n, size  int
}

// newRig makes an inline model that receives everything for ownAddr, with rings
// of eight descriptors and 2 KiB buffers on every channel, nothing posted.
func newRig(t *testing.T, cfg Config) *rig {
	cfg.Inline = true
	r := &rig{t: t, clock: sim.NewManualClock(time.Unix(1000, 0)), space: sim.NewSpace(nil)}
	cfg.Clock = r.clock
	r.m = New(cfg)
	r.m.Connect(r.space, func(level bool) {
		if level && !r.level {
			r.edges++
		}
		r.level = level
	})
	r.m.OnTransmit(func(f []byte) { r.sent = append(r.sent, append([]byte(nil), f...)) })
	t.Cleanup(func() {
		require.NoError(t, r.m.Close())
		require.NoError(t, r.m.Close())
	})
	r.setup(8, 2048)
	return r
}

func (r *rig) read(off uint32) uint32  { return r.m.Read32(off) }
func (r *rig) write(off, v uint32)     { r.m.Write32(off, v) }
func (r *rig) set(off, bits uint32)    { r.write(off, r.read(off)|bits) }
func (r *rig) clear(off, bits uint32)  { r.write(off, r.read(off)&^bits) }
func ch(c int, off uint32) uint32      { return gmac4.ChanBase(c) + off }
func qu(q int, off uint32) uint32      { return gmac4.QueueBase(q) + off }
func (r *rig) status(c int) uint32     { return r.read(ch(c, gmac4.ChanStatus)) }
func (r *rig) ack(c int, bits uint32)  { r.write(ch(c, gmac4.ChanStatus), bits) }
func (r *rig) alloc(n int) *sim.Memory { return r.allocUse(n, mac.Buffers) }
func (r *rig) setAddr(n int, a mac.HardwareAddr, flags uint32) {
	r.write(gmac4.AddrHigh(n), flags|uint32(a[5])<<8|uint32(a[4]))
	r.write(gmac4.AddrLow(n), uint32(a[3])<<24|uint32(a[2])<<16|uint32(a[1])<<8|uint32(a[0]))
}

func (r *rig) allocUse(n int, use mac.Use) *sim.Memory {
	mem, err := r.space.Alloc(mac.Alloc{Use: use, Size: n, Align: 64, AddressBits: r.m.chip.cfg.AddressBits})
	require.NoError(r.t, err)
	return mem
}

func (r *rig) ring(n, size int, stride int) *handRing {
	h := &handRing{mem: r.allocUse(n*stride, mac.Descriptors), buf: r.alloc(n * size), n: n, size: size}
	h.w, _ = sim.Words(h.mem.Bytes())
	return h
}

// setup programs everything with rings of n descriptors, and starts it.
func (r *rig) setup(n, size int) {
	r.write(gmac4.DMASysBus, gmac4.SysBusEAME|gmac4.SysBusBLEN16)
	for c := range r.m.chip.cfg.Queues {
		r.rx[c], r.tx[c] = r.ring(n, size, 16), r.ring(n, size, 16)
		r.program(c)
		r.write(qu(c, gmac4.TxQOpMode), gmac4.TxQOpTSF|field.Put(gmac4.TxQOpTXQEN, 2)|
			field.Put(gmac4.TxQOpTQS, uint32(r.m.chip.cfg.TXFIFO/r.m.chip.cfg.Queues/256-1)))
		r.write(qu(c, gmac4.RxQOpMode), gmac4.RxQOpRSF|gmac4.RxQOpDISTCPEF|
			field.Put(gmac4.RxQOpRQS, uint32(r.m.chip.cfg.RXFIFO/r.m.chip.cfg.Queues/256-1)))
		r.set(gmac4.MACRxQCtrl0, gmac4.RxQGeneric<<(2*c))
		r.set(gmac4.RxQDMAMap(c), uint32(c)<<(8*(c%4)))
	}
	r.setAddr(0, ownAddr, 0)
	r.write(gmac4.MACConfig, gmac4.ConfigDM)
	r.set(gmac4.MACConfig, gmac4.ConfigTE|gmac4.ConfigRE)
	for c := range r.m.chip.cfg.Queues {
		r.ack(c, ^uint32(0)) // empty rings: RBU and TBU
	}
	r.edges = 0
}

// program writes ring addresses and lengths of channel c, and starts it.
func (r *rig) program(c int) {
	rx, tx := r.rx[c], r.tx[c]
	r.write(ch(c, gmac4.ChanRxControl), field.Put(gmac4.RxControlRBSZ, uint32(rx.size)))
	r.write(ch(c, gmac4.ChanTxControl), 0)
	r.write(ch(c, gmac4.ChanRxListHigh), uint32(rx.mem.DeviceAddr()>>32))
	r.write(ch(c, gmac4.ChanRxList), uint32(rx.mem.DeviceAddr()))
	r.write(ch(c, gmac4.ChanTxListHigh), uint32(tx.mem.DeviceAddr()>>32))
	r.write(ch(c, gmac4.ChanTxList), uint32(tx.mem.DeviceAddr()))
	r.write(ch(c, gmac4.ChanRxRingLen), uint32(rx.n-1))
	r.write(ch(c, gmac4.ChanTxRingLen), uint32(tx.n-1))
	r.write(ch(c, gmac4.ChanTxTail), uint32(tx.mem.DeviceAddr()))
	r.write(ch(c, gmac4.ChanIntEnable), r.m.chip.facts.IntNIE|r.m.chip.facts.IntAIE|gmac4.IntRI|gmac4.IntTI|gmac4.IntRBU|gmac4.IntFBE)
	r.set(ch(c, gmac4.ChanRxControl), gmac4.RxControlSR)
	r.set(ch(c, gmac4.ChanTxControl), gmac4.TxControlST)
	r.ack(c, ^uint32(0))
}

func (h *handRing) bufAddr(i int) uint64 { return h.buf.DeviceAddr() + uint64(i*h.size) }
func (h *handRing) tail(i int) uint32    { return uint32(h.mem.DeviceAddr()) + uint32(i%h.n)*16 }
func (h *handRing) own(i int) bool       { return atomic.LoadUint32(&h.w[4*i+3])>>31 != 0 }
func (h *handRing) bytes(i, n int) []byte {
	return h.buf.Bytes()[i*h.size : i*h.size+n]
}

func (h *handRing) put(i int, d [4]uint32) {
	copy(h.w[4*i:], d[:3])
	atomic.StoreUint32(&h.w[4*i+3], d[3])
}

// arm posts receive descriptor i without moving the tail.
func (h *handRing) arm(i int, flags uint32) {
	a := h.bufAddr(i)
	h.put(i, [4]uint32{uint32(a), uint32(a >> 32), 0, gmac4.RDES3OWN | gmac4.RDES3BUF1V | flags})
}

// post arms the descriptors from..to-1 of channel c and moves the tail to to.
func (r *rig) post(c, from, to int, flags uint32) {
	for i := from; i < to; i++ {
		r.rx[c].arm(i%r.rx[c].n, flags)
	}
	r.write(ch(c, gmac4.ChanRxTail), r.rx[c].tail(to))
}

// queueTX writes a frame into transmit descriptor i, moving no tail.
func (r *rig) queueTX(c, i int, f []byte, d2, d3 uint32) {
	h := r.tx[c]
	copy(h.bytes(i, len(f)), f)
	a := h.bufAddr(i)
	h.put(i, [4]uint32{uint32(a), uint32(a >> 32), d2 | uint32(len(f)), dwregs.TDES3OWN | d3})
}

// send sends one frame of one descriptor from slot i.
func (r *rig) send(c, i int, f []byte, d2, d3 uint32) {
	r.queueTX(c, i, f, d2, d3|dwregs.TDES3FD|dwregs.TDES3LD|uint32(len(f)))
	r.write(ch(c, gmac4.ChanTxTail), r.tx[c].tail(i+1))
}

func (r *rig) noViolations() {
	require.Empty(r.t, r.m.Violations().List())
	require.Empty(r.t, r.space.Violations().List())
}

// frame is an Ethernet frame of n bytes with a pattern.
func frame(dst mac.HardwareAddr, n int) []byte {
	f := make([]byte, n)
	copy(f, dst[:])
	copy(f[6:], peerAddr[:])
	binary.BigEndian.PutUint16(f[12:], 0x88b5) // local experimental
	for i := 14; i < n; i++ {
		f[i] = byte(i * 7)
	}
	return f
}

func tag(f []byte, tci uint16) []byte {
	g := append([]byte(nil), f[:12]...)
	g = binary.BigEndian.AppendUint16(g, 0x8100)
	g = binary.BigEndian.AppendUint16(g, tci)
	return append(g, f[12:]...)
}

// ipv4 is a frame with an IPv4 packet whose header checksum is right.
func ipv4(proto byte, payload []byte) []byte {
	f := frame(ownAddr, 34)
	f[12], f[13] = 8, 0
	ip := f[14:]
	clear(ip)
	ip[0], ip[8], ip[9] = 0x45, 64, proto
	binary.BigEndian.PutUint16(ip[2:], uint16(20+len(payload)))
	copy(ip[12:], []byte{10, 0, 0, 1, 10, 0, 0, 2})
	binary.BigEndian.PutUint16(ip[10:], offload.Sum(0).Add(ip).Checksum())
	return append(f, payload...)
}

// udp is a datagram without checksum.
func udp(n int) []byte {
	p := make([]byte, 8+n)
	binary.BigEndian.PutUint16(p[0:], 1000)
	binary.BigEndian.PutUint16(p[2:], 2000)
	binary.BigEndian.PutUint16(p[4:], uint16(len(p)))
	for i := range n {
		p[8+i] = byte(i)
	}
	return p
}

// tcp is a segment without checksum.
func tcp(flags byte, n int) []byte {
	p := make([]byte, 20+n)
	binary.BigEndian.PutUint32(p[4:], 1000)
	p[12], p[13] = 5<<4, flags
	for i := range n {
		p[20+i] = byte(i % 251)
	}
	return p
}

// summed has all checksums filled in.
func summed(f []byte) []byte {
	offload.Insert(f, offload.Full)
	return f
}

package sun8i

import (
	"encoding/binary"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/internal/offload"
)

var (
	ownAddr  = mac.HardwareAddr{2, 0, 0, 0, 0, 1}
	peerAddr = mac.HardwareAddr{2, 0, 0, 0, 0, 2}
)

// Modes that the rig programs.
const (
	rxMode = emac.RxCtl1NoFlush | emac.RxCtl1MD | emac.RxCtl1Err | emac.RxCtl1Runt
	txMode = emac.TxCtl1MD
)

// rig drives a model by hand: registers and descriptors, no driver.
type rig struct {
	t      testing.TB
	m      *Model
	space  *sim.Space
	clock  *sim.ManualClock
	level  bool
	edges  int
	sent   [][]byte
	rx, tx *handChain
}

// handChain is a chain with one buffer per descriptor.
type handChain struct {
	mem, buf *sim.Memory
	w        []uint32
	n, size  int
}

// newRig makes an inline model that runs at 1 Gbit/s and receives for ownAddr,
// with chains of eight descriptors and 2044-byte buffers, nothing posted.
func newRig(t testing.TB, cfg Config) *rig {
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
	r.rx, r.tx = r.chain(8, 2044), r.chain(8, 2044)
	r.start()
	return r
}

// start programs everything after a reset.
func (r *rig) start() {
	r.setAddr(0, ownAddr, emac.AddrHighEn)
	r.write(emac.RxDescList, r.rx.addr(0))
	r.write(emac.TxDescList, r.tx.addr(0))
	r.write(emac.RxCtl1, rxMode|emac.RxCtl1DMAEn|emac.RxCtl1Start)
	r.write(emac.TxCtl1, txMode|emac.TxCtl1DMAEn|emac.TxCtl1Start)
	r.write(emac.BasicCtl0, emac.Ctl0Duplex)
	r.write(emac.TxCtl0, emac.TxCtl0En)
	r.write(emac.RxCtl0, emac.RxCtl0En)
	r.write(emac.IntSta, emac.IntAll) // empty chains
	r.write(emac.IntEn, emac.IntRx|emac.IntTx)
}

func (r *rig) read(off uint32) uint32 { return r.m.Read32(off) }
func (r *rig) write(off, v uint32)    { r.m.Write32(off, v) }
func (r *rig) set(off, bits uint32)   { r.write(off, r.read(off)|bits) }
func (r *rig) status() uint32         { return r.read(emac.IntSta) }

// taken returns INT_STA and clears it.
func (r *rig) taken() uint32 {
	v := r.status()
	r.write(emac.IntSta, v)
	return v
}

func (r *rig) setAddr(n int, a mac.HardwareAddr, flags uint32) {
	r.write(emac.AddrHigh(n), flags|uint32(a[5])<<8|uint32(a[4]))
	r.write(emac.AddrLow(n), uint32(a[3])<<24|uint32(a[2])<<16|uint32(a[1])<<8|uint32(a[0]))
}

func (r *rig) alloc(n int, use mac.Use) *sim.Memory {
	mem, err := r.space.Alloc(mac.Alloc{Use: use, Size: n, Align: 64, AddressBits: 32})
	require.NoError(r.t, err)
	return mem
}

func (r *rig) chain(n, size int) *handChain {
	h := &handChain{mem: r.alloc(n*16, mac.Descriptors), buf: r.alloc(n*size, mac.Buffers), n: n, size: size}
	h.w, _ = sim.Words(h.mem.Bytes())
	for i := range n {
		h.w[4*i+emac.DescNext] = h.addr(i + 1)
	}
	return h
}

func (h *handChain) addr(i int) uint32    { return uint32(h.mem.DeviceAddr()) + uint32(i%h.n)*16 }
func (h *handChain) bufAddr(i int) uint32 { return uint32(h.buf.DeviceAddr()) + uint32(i*h.size) }
func (h *handChain) status(i int) uint32  { return atomic.LoadUint32(&h.w[4*i]) }
func (h *handChain) own(i int) bool       { return h.status(i)&emac.DescOwn != 0 }
func (h *handChain) bytes(i, n int) []byte {
	return h.buf.Bytes()[i*h.size : i*h.size+n]
}

// arm gives descriptor i to the device.
func (h *handChain) arm(i int, ctl uint32) {
	h.w[4*i+emac.DescCtl], h.w[4*i+emac.DescAddr] = ctl, h.bufAddr(i)
	atomic.StoreUint32(&h.w[4*i], emac.DescOwn)
}

// post arms receive descriptors and says so.
func (r *rig) post(from, to int, flags uint32) {
	for i := from; i < to; i++ {
		r.rx.arm(i%r.rx.n, flags|uint32(r.rx.size))
	}
	r.set(emac.RxCtl1, emac.RxCtl1Start)
}

// queueTX writes a piece of a frame into transmit descriptor i.
func (r *rig) queueTX(i int, b []byte, ctl uint32) {
	copy(r.tx.bytes(i, len(b)), b)
	r.tx.arm(i, ctl|uint32(len(b)))
}

func (r *rig) kickTX() { r.set(emac.TxCtl1, emac.TxCtl1Start) }

// send sends one frame of one descriptor from slot i.
func (r *rig) send(i int, f []byte, ctl uint32) {
	r.queueTX(i, f, ctl|emac.TxFirst|emac.TxLast)
	r.kickTX()
}

func (r *rig) noViolations() {
	r.t.Helper()
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

// ipv4 is a frame with an IPv4 packet and right checksums.
func ipv4(proto byte, payload []byte) []byte {
	f := frame(ownAddr, 34)
	f[12], f[13] = 8, 0
	ip := f[14:]
	clear(ip)
	ip[0], ip[8], ip[9] = 0x45, 64, proto
	binary.BigEndian.PutUint16(ip[2:], uint16(20+len(payload)))
	copy(ip[12:], []byte{10, 0, 0, 1, 10, 0, 0, 2})
	f = append(f, payload...)
	offload.Insert(f, offload.Full)
	return f
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

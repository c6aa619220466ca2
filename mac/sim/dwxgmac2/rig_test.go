package dwxgmac2

import (
	"encoding/binary"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/xgmac2"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/internal/offload"
)

var ownAddr = mac.HardwareAddr{2, 0, 0, 0, 0, 1}

// rig drives a model by hand: registers and receive descriptors, no driver.
type rig struct {
	*testing.T
	m     *Model
	clock *sim.ManualClock
	ring  []uint32 // of channel 0: eight descriptors
	buf   *sim.Memory
	next  int
	level bool
}

const slots = 8

// newRig makes an inline model that receives for ownAddr into channel 0, with all
// slots but one posted.
func newRig(t *testing.T, cfg Config) *rig {
	r := &rig{T: t, clock: sim.NewManualClock(time.Unix(1000, 5))}
	cfg.Inline, cfg.Clock = true, r.clock
	r.m = New(cfg)
	space := sim.NewSpace(&sim.SpaceOptions{Base: 0x10000})
	r.m.Connect(space, func(level bool) { r.level = level })
	t.Cleanup(func() {
		require.NoError(t, r.m.Close())
		require.Empty(t, r.m.Violations().List())
		require.Empty(t, space.Violations().List())
	})
	mem, err := space.Alloc(mac.Alloc{Use: mac.Descriptors, Size: 16 * slots, Align: 64, AddressBits: 32})
	require.NoError(t, err)
	r.buf, err = space.Alloc(mac.Alloc{Use: mac.Buffers, Size: 2048 * slots, Align: 64, AddressBits: 32})
	require.NoError(t, err)
	r.ring, _ = sim.Words(mem.Bytes())
	w := r.m.Write32
	w(xgmac2.MACRxQCtrl0, 2)
	w(xgmac2.QueueBase(0)+xgmac2.RxQOpMode, 127<<16|xgmac2.RxQOpRSF|xgmac2.RxQOpDISTCPEF)
	w(xgmac2.AddrHigh(0), 0x100)
	w(xgmac2.AddrLow(0), 0x2)
	base := xgmac2.ChanBase(0)
	w(base+xgmac2.ChanRxList, uint32(mem.DeviceAddr()))
	w(base+xgmac2.ChanRxRingLen, slots-1)
	w(base+xgmac2.ChanRxControl, field.Put(xgmac2.RxControlRBSZ, 2048)|xgmac2.RxControlSR)
	for i := range slots - 1 {
		r.post(i)
	}
	w(base+xgmac2.ChanRxTail, uint32(mem.DeviceAddr())+16*(slots-1))
	w(xgmac2.MACRxConfig, xgmac2.RxConfigRE|xgmac2.RxConfigIPC|xgmac2.RxConfigWD)
	w(base+xgmac2.ChanStatus, ^uint32(0))
	return r
}

func (r *rig) post(i int) {
	r.ring[4*i] = uint32(r.buf.DeviceAddr()) + uint32(2048*i)
	r.ring[4*i+1], r.ring[4*i+2] = 0, 0
	atomic.StoreUint32(&r.ring[4*i+3], xgmac2.RDES3OWN)
}

// receive delivers a frame and returns its descriptor.
func (r *rig) receive(f []byte) [4]uint32 {
	r.Helper()
	r.m.Deliver(f)
	return r.take()
}

func (r *rig) take() (d [4]uint32) {
	r.Helper()
	i := r.next
	r.next++
	copy(d[:], r.ring[4*i:])
	require.Zero(r, d[3]&xgmac2.RDES3OWN, "slot %d", i)
	return d
}

func frame(typ uint16, n int) []byte {
	f := make([]byte, n)
	copy(f, ownAddr[:])
	copy(f[6:], []byte{2, 0, 0, 0, 0, 2})
	binary.BigEndian.PutUint16(f[12:], typ)
	for i := 14; i < n; i++ {
		f[i] = byte(i)
	}
	return f
}

// ipv4 is a packet between the addresses and ports of Microsoft's first example.
func ipv4(proto byte, n int) []byte {
	f := frame(0x0800, 14+20+n)
	ip := f[14:]
	clear(ip[:28])
	ip[0], ip[8], ip[9] = 0x45, 64, proto
	binary.BigEndian.PutUint16(ip[2:], uint16(20+n))
	copy(ip[12:], []byte{66, 9, 149, 187, 161, 142, 100, 80, 2794 >> 8, 2794 & 0xff, 1766 >> 8, 1766 & 0xff})
	if proto == 6 {
		ip[32] = 5 << 4
	} else {
		binary.BigEndian.PutUint16(ip[24:], uint16(n))
	}
	offload.Insert(f, offload.Full)
	return f
}

func ipv6(proto byte, n int) []byte {
	f := frame(0x86dd, 14+40+n)
	ip := f[14:]
	clear(ip[:48])
	ip[0], ip[6], ip[7] = 0x60, proto, 64
	binary.BigEndian.PutUint16(ip[4:], uint16(n))
	// 3ffe:2501:200:1fff::7 to 3ffe:2501:200:3::1
	copy(ip[8:], []byte{0x3f, 0xfe, 0x25, 0x01, 0x02, 0x00, 0x1f, 0xff, 0, 0, 0, 0, 0, 0, 0, 7})
	copy(ip[24:], []byte{0x3f, 0xfe, 0x25, 0x01, 0x02, 0x00, 0x00, 0x03, 0, 0, 0, 0, 0, 0, 0, 1})
	binary.BigEndian.PutUint16(ip[40:], 2794)
	binary.BigEndian.PutUint16(ip[42:], 1766)
	if proto == 6 {
		ip[52] = 5 << 4
	}
	offload.Insert(f, offload.Full)
	return f
}

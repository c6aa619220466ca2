package mvneta

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/neta"
	"github.com/barewire/barewire/mac/sim"
)

var (
	own  = mac.HardwareAddr{2, 0, 0, 0, 0, 0x21}
	peer = mac.HardwareAddr{2, 0, 0, 0, 0, 2}
)

// rig drives a model by hand: registers and descriptors, no driver. Queue 0 has
// rings of eight descriptors each way.
type rig struct {
	t      testing.TB
	m      *Model
	space  *sim.Space
	clock  *sim.ManualClock
	level  bool
	edges  int
	sent   [][]byte
	rx, tx []uint32 // descriptors
	rxAddr uint32
	buf    *sim.Memory
	next   int // receive descriptor to look at
	fill   int // transmit descriptor to fill
}

const (
	slots   = 8
	bufSize = 256
)

// newRig makes an inline model that receives everything for own, with all receive
// descriptors posted.
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
	alloc := func(n int, use mac.Use) *sim.Memory {
		m, err := r.space.Alloc(mac.Alloc{Use: use, Size: n, Align: 64, AddressBits: 32})
		require.NoError(t, err)
		return m
	}
	rx, tx := alloc(slots*neta.DescriptorSize, mac.Descriptors), alloc(slots*neta.DescriptorSize, mac.Descriptors)
	r.rx, _ = sim.Words(rx.Bytes())
	r.tx, _ = sim.Words(tx.Bytes())
	r.rxAddr = uint32(rx.DeviceAddr())
	r.buf = alloc(64<<10, mac.Buffers)

	r.write(neta.MACHigh, binary.BigEndian.Uint32(own[:4]))
	r.write(neta.MACLow, uint32(binary.BigEndian.Uint16(own[4:])))
	r.write(neta.UnicastTable, 1<<8) // entry 1
	r.write(neta.PortConfig, neta.ConfigPseudo|neta.ConfigNoTXStatus)
	for c := range neta.MaxCPUs {
		r.write(neta.CPUMap(c), neta.AllQueues)
	}
	r.write(neta.PortTokenSize, neta.TokenSizeMask)
	r.write(neta.TokenSize(0), neta.TokenSizeMask)
	r.write(neta.PortMTU, 0x4000)
	r.write(neta.TokenConfig(0), neta.TokenConfigFull)
	r.write(neta.TokenCount(0), neta.TokenFull)
	r.write(neta.RXBase(0), r.rxAddr)
	r.write(neta.RXRingSize(0), slots|bufSize/8<<19)
	r.write(neta.RXTime(0), neta.RXTimeMask)
	r.write(neta.TXBase(0), uint32(tx.DeviceAddr()))
	r.write(neta.TXRingSize(0), slots)
	r.write(neta.CauseMask, 0xFFFFFFFF)
	for i := range slots {
		r.rx[i*8+neta.RXBuffer] = r.addr(i)
	}
	r.write(neta.RXUpdate(0), slots<<16)
	r.write(neta.AN, neta.ANMustSet|neta.ANForceUp|neta.ANGMII|neta.ANFull)
	r.write(neta.GMAC0, neta.GMAC0MIB|neta.GMAC0Enable|field.Put(neta.GMAC0MaxRX, 760))
	r.write(neta.RXCommand, 1)
	r.write(neta.TXCommandReg, 1)
	return r
}

func (r *rig) read(off uint32) uint32 { return r.m.Read32(off) }
func (r *rig) write(off, v uint32)    { r.m.Write32(off, v) }

// addr is where receive buffer i is; transmit data lies behind them.
func (r *rig) addr(i int) uint32 { return uint32(r.buf.DeviceAddr()) + uint32(i)*bufSize }

func (r *rig) noViolations() {
	r.t.Helper()
	require.Empty(r.t, append(r.m.Violations().List(), r.space.Violations().List()...))
}

// violates wants f to be recorded.
func (r *rig) violates(what string, f func()) {
	r.t.Helper()
	before := r.m.Violations().Count()
	f()
	list := r.m.Violations().List()
	require.Equal(r.t, before+1, len(list), "violations: %q", list)
	require.Contains(r.t, list[before], what)
}

// frame is n bytes to dst.
func frame(dst mac.HardwareAddr, n int) []byte {
	f := make([]byte, n)
	copy(f, dst[:])
	copy(f[6:], peer[:])
	f[12], f[13] = 0x88, 0xB5
	for i := 14; i < n; i++ {
		f[i] = byte(i)
	}
	return f
}

// received is the next filled receive descriptor, or nil.
func (r *rig) received() []uint32 {
	if r.read(neta.RXQStatus(0))&neta.RXStatusOccupied == 0 {
		return nil
	}
	d := r.rx[r.next*8 : r.next*8+8]
	r.next = (r.next + 1) % slots
	r.write(neta.RXUpdate(0), 1)
	return d
}

// repost gives n descriptors back.
func (r *rig) repost(n int) { r.write(neta.RXUpdate(0), uint32(n)<<16) }

// bytesAt is device memory.
func (r *rig) bytesAt(addr uint32, n int) []byte {
	b, err := r.space.Slice(uint64(addr), n, false)
	require.NoError(r.t, err)
	return b
}

// put writes a transmit descriptor for data at a place of its own.
func (r *rig) put(command uint32, data []byte) {
	at := 16<<10 + r.fill*4096
	copy(r.buf.Bytes()[at:], data)
	w := r.tx[r.fill*8:]
	w[neta.TXCommand], w[neta.TXSize], w[neta.TXBuffer] = command, uint32(len(data))<<16, uint32(r.buf.DeviceAddr())+uint32(at)
	r.fill = (r.fill + 1) % slots
}

const oneFrame = neta.TXFirst | neta.TXLast | neta.TXPad | neta.TXL4None<<30

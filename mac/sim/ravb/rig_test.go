package ravb

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/etheravb"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var station = mac.HardwareAddr{2, 0, 0, 0, 0, 1}

// rig is a model, programmed by hand: a table, a ring of four slots and a link for
// each direction of queue 0, and buffers of 256 bytes.
type rig struct {
	*testing.T
	m                      *Model
	space                  *sim.Space
	table, rx, tx, buffers *sim.Memory
	levels                 []bool
	sent                   [][]byte
}

const slots = 4

func newRig(t *testing.T, cfg Config) *rig {
	cfg.Inline = true
	r := &rig{T: t, m: New(cfg), space: sim.NewSpace(nil)}
	r.m.Connect(r.space, func(level bool) { r.levels = append(r.levels, level) })
	r.m.OnTransmit(func(f []byte) { r.sent = append(r.sent, append([]byte(nil), f...)) })
	alloc := func(size int) *sim.Memory {
		m, err := r.space.Alloc(mac.Alloc{Use: mac.Descriptors, Size: size, Align: 64, AddressBits: 32})
		require.NoError(t, err)
		return m
	}
	r.table, r.rx, r.tx, r.buffers = alloc(etheravb.TableSize), alloc(256), alloc(256), alloc(16*256)
	t.Cleanup(func() { require.NoError(t, r.m.Close()) })
	return r
}

func (r *rig) write(off, v uint32)    { r.m.Write32(off, v) }
func (r *rig) read(off uint32) uint32 { return r.m.Read32(off) }

func words(m *sim.Memory) []uint32 {
	w, _ := sim.Words(m.Bytes())
	return w
}

func (r *rig) buffer(i int) uint32 { return uint32(r.buffers.DeviceAddr()) + uint32(i)*256 }

// put writes a descriptor of stride words.
func put(m *sim.Memory, slot, stride int, control, pointer uint32) {
	w := words(m)
	w[slot*stride+1] = pointer
	atomic.StoreUint32(&w[slot*stride], control)
}

// mode asks for an operating mode and wants it.
func (r *rig) mode(opc uint32) {
	r.Helper()
	r.write(etheravb.CCC, opc)
	require.Equal(r, uint32(1)<<opc, r.read(etheravb.CSR)&etheravb.CSROPS)
}

// start goes to OPERATION with empty transmit and full receive rings.
func (r *rig) start() {
	r.Helper()
	before := r.m.Violations().Count()
	r.mode(etheravb.OPCReset)
	r.mode(etheravb.OPCConfig)
	for i := range etheravb.TableEntries {
		put(r.table, i, 2, etheravb.Type(etheravb.DTEOS), 0)
	}
	put(r.table, 0, 2, etheravb.Type(etheravb.DTLinkFix), uint32(r.tx.DeviceAddr()))
	put(r.table, etheravb.TableRX, 2, etheravb.Type(etheravb.DTLinkFix), uint32(r.rx.DeviceAddr()))
	for i := range slots {
		put(r.tx, i, 2, etheravb.Type(etheravb.DTEEmpty), 0)
		put(r.rx, i, 2, etheravb.Type(etheravb.DTFEmpty)|256, r.buffer(i))
	}
	put(r.tx, slots, 2, etheravb.Type(etheravb.DTLinkFix), uint32(r.tx.DeviceAddr()))
	put(r.rx, slots, 2, etheravb.Type(etheravb.DTLinkFix), uint32(r.rx.DeviceAddr()))
	r.write(etheravb.DBAT, uint32(r.table.DeviceAddr()))
	r.write(etheravb.MAHR, 0x02000000)
	r.write(etheravb.MALR, 1)
	r.write(etheravb.RFLR, 1526)
	gigabit := uint32(etheravb.GECMRGigabit)
	if r.m.cfg.Variant == GbEth {
		gigabit = field.Put(etheravb.GECMRSpeed, etheravb.Speed1000)
	}
	r.write(etheravb.GECMR, gigabit)
	r.mode(etheravb.OPCOperation)
	r.write(etheravb.ECMR, etheravb.ECMRDM|etheravb.ECMRTE|etheravb.ECMRRE|etheravb.ECMRRXF|etheravb.ECMRZPF)
	require.Equal(r, before, r.m.Violations().Count())
}

// frame is a frame to the station.
func frame(n int) []byte {
	f := make([]byte, n)
	copy(f, station[:])
	f[12], f[13] = 0x88, 0xB5
	for i := 14; i < n; i++ {
		f[i] = byte(i)
	}
	return f
}

// fill puts a frame of n bytes into buffer i and returns the control word without a
// type.
func (r *rig) fill(i, n int) uint32 {
	copy(r.buffers.Bytes()[i*256:], frame(n))
	return uint32(n)
}

func (r *rig) typeAt(m *sim.Memory, slot int) uint32 {
	return field.Get(etheravb.DescDT, atomic.LoadUint32(&words(m)[slot*2]))
}

// violation wants exactly one, with these words.
func (r *rig) violation(text string) {
	r.Helper()
	v := r.m.Violations().List()
	require.Len(r, v, 1)
	require.Contains(r, v[0], text)
}

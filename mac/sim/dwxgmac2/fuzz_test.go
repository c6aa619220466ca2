package dwxgmac2

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/xgmac2"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/internal/eqos"
)

// FuzzModel feeds a running model register writes, descriptors and frames. It
// must not panic, hang, or reach outside of the Space (whose slices are exact,
// so that a reach is a panic).
func FuzzModel(f *testing.F) {
	op := func(kind byte, a uint16, v uint32) []byte {
		b := binary.LittleEndian.AppendUint16([]byte{kind}, a)
		return binary.LittleEndian.AppendUint32(b, v)
	}
	join := func(ops ...[]byte) (b []byte) {
		for _, o := range ops {
			b = append(b, o...)
		}
		return b
	}
	f.Add(join(op(0, 0x312c, 0x70), op(2, 100, 0), op(2, 2000, 1), op(3, 0, 1000)))
	f.Add(join(op(1, 0x203, dwregs.TDES3OWN|dwregs.TDES3FD|dwregs.TDES3LD|dwregs.TDES3TSE|5<<19|9000), op(0, 0x3104, 0x1001), op(0, 0x3124, 0x1000)))
	f.Add(join(op(0, 0xc8c, 7), op(0, 0xc88, 0x0f05), op(5, 0xc88, 0), op(0, 0xc80, 15), op(0, 0x1030, 0x80), op(2, 300, 0x45000800)))
	f.Add(join(op(0, 0x3000, 1), op(0, 0x3100, 7<<18), op(0, 0x311c, 8), op(0, 0x3134, 0xfff), op(0, 0x3108, 1)))
	f.Add(join(op(0, 0x0004, 0x10bf1003), op(0, 0x1140, 0), op(4, 0, 7), op(2, 9000, 3), op(4, 1, 7), op(0, 0x70, 0xffff0003)))
	f.Add(join(op(0, 0x800, 0x34), op(5, 0x908, 0), op(5, 0x90c, 0), op(0, 0x220, 2), op(0, 0x200, 1<<16), op(0, 0x204, 1<<22|3<<16), op(5, 0x204, 0)))
	f.Fuzz(func(t *testing.T, program []byte) {
		clock := sim.NewManualClock(time.Unix(0, 0))
		space := sim.NewSpace(&sim.SpaceOptions{Base: 0x10000})
		m := New(Config{Inline: true, Clock: clock, Queues: 2, CheckArmed: true, Contexts: len(program)%2 == 0, LateContexts: len(program)%4 == 0})
		m.Connect(space, func(bool) {})
		m.OnTransmit(func([]byte) {})
		defer m.Close()
		mem, err := space.Alloc(mac.Alloc{Use: mac.Descriptors, Size: 1 << 14, Align: 4096, AddressBits: 32})
		if err != nil {
			t.Fatal(err)
		}
		w, _ := sim.Words(mem.Bytes())
		base := uint32(mem.DeviceAddr())
		for c := range 2 {
			off := base + uint32(c)*0x1000
			for _, reg := range [][2]uint32{
				{xgmac2.ChanRxList, off}, {xgmac2.ChanTxList, off + 0x800}, {xgmac2.ChanRxRingLen, 7}, {xgmac2.ChanTxRingLen, 7},
				{xgmac2.ChanRxControl, 1 | 256<<1}, {xgmac2.ChanTxControl, 1 | xgmac2.TxControlTSE}, {xgmac2.ChanIntEnable, ^uint32(0)},
			} {
				m.Write32(xgmac2.ChanBase(c)+reg[0], reg[1])
			}
			for i := range 8 {
				copy(w[uint32(c)*0x400+uint32(i)*4:], []uint32{base + 0x2000 + uint32(i)*256, 0, 0, xgmac2.RDES3OWN})
			}
			m.Write32(xgmac2.QueueBase(c)+xgmac2.RxQOpMode, 0x001f0020)
			m.Write32(xgmac2.QueueBase(c)+xgmac2.TxQOpMode, 0x001f000a)
		}
		m.Write32(xgmac2.RxQDMAMap(0), 0x0180)
		m.Write32(xgmac2.MACRxQCtrl0, 0x0a)
		m.Write32(xgmac2.MACPacketFilter, dwregs.FilterPR)
		m.Write32(xgmac2.MACTxConfig, xgmac2.TxConfigTE)
		m.Write32(xgmac2.MACRxConfig, xgmac2.RxConfigRE|xgmac2.RxConfigIPC)
		for len(program) >= 7 {
			kind, a, v := program[0], binary.LittleEndian.Uint16(program[1:]), binary.LittleEndian.Uint32(program[3:])
			program = program[7:]
			switch kind % 6 {
			case 0:
				off := uint32(a) &^ 3
				if _, reg, ok := eqos.Split(off, xgmac2.ChanBase(0), xgmac2.ChanStride, 2); ok && reg >= xgmac2.ChanTxListHigh && reg <= xgmac2.ChanRxTail {
					v = base + v%0x4000
				}
				m.Write32(off, v)
			case 1:
				w[int(a)%len(w)] = v
			case 2:
				n := 14 + int(a)%10000
				fr := frame(0x0800, n)
				binary.LittleEndian.PutUint32(fr[10:], v)
				copy(fr[14:], program)
				m.Deliver(fr)
				m.DeliverWire(fr[:n/(1+int(v%7))])
			case 3:
				clock.Advance(time.Duration(v) * time.Microsecond)
			case 4:
				m.Faults().Rate(sim.Fault(a%uint16(len(sim.FaultKinds()))), int(v%1001))
			case 5:
				m.Read32(uint32(a))
			}
		}
	})
}

package dwmac4

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/internal/eqos"
)

// FuzzModel feeds a running model register writes, descriptors and frames. It
// must not panic, hang, or reach outside of the Space (whose slices are exact,
// so that a reach is a panic).
func FuzzModel(f *testing.F) {
	op := func(kind byte, a uint16, v uint32) []byte {
		b := []byte{kind}
		b = binary.LittleEndian.AppendUint16(b, a)
		return binary.LittleEndian.AppendUint32(b, v)
	}
	join := func(ops ...[]byte) (b []byte) {
		for _, o := range ops {
			b = append(b, o...)
		}
		return b
	}
	f.Add(join(op(0, 0x1128, 0x70), op(2, 100, 0), op(2, 2000, 1), op(3, 0, 1000)))
	f.Add(join(op(1, 0x203, dwregs.TDES3OWN|dwregs.TDES3FD|dwregs.TDES3LD|dwregs.TDES3TSE|5<<19|9000), op(0, 0x1104, 0x1001), op(0, 0x1120, 0x1000)))
	f.Add(join(op(1, 0x202, 64), op(1, 0x203, dwregs.TDES3OWN|dwregs.TDES3CTXT|dwregs.TDES3CtxTCMSSV), op(0, 0x1120, 0x10)))
	f.Add(join(op(0, 0x1000, 1), op(0, 0x1100, 7<<18), op(0, 0x111c, 8), op(0, 0x1130, 0x3ff), op(0, 0x1108, 1)))
	f.Add(join(op(0, 0x0000, 0x10bf1003), op(0, 0xd30, 0), op(4, 0, 7), op(2, 9000, 3), op(4, 1, 7), op(0, 0x70, 0xffff0003)))
	f.Fuzz(func(t *testing.T, program []byte) {
		clock := sim.NewManualClock(time.Unix(0, 0))
		space := sim.NewSpace(&sim.SpaceOptions{Base: 0x10000})
		m := New(Config{Inline: true, Clock: clock, Queues: 2, CheckArmed: true, InBandLink: true})
		m.Connect(space, func(bool) {})
		m.OnTransmit(func([]byte) {})
		defer m.Close()
		r := &rig{m: m, space: space, clock: clock}
		mem, err := space.Alloc(mac.Alloc{Use: mac.Descriptors, Size: 1 << 14, Align: 4096, AddressBits: 32})
		if err != nil {
			t.Fatal(err)
		}
		w, _ := sim.Words(mem.Bytes())
		base := uint32(mem.DeviceAddr())
		for c := range 2 {
			off := base + uint32(c)*0x1000
			for _, reg := range [][2]uint32{
				{gmac4.ChanRxList, off}, {gmac4.ChanTxList, off + 0x800}, {gmac4.ChanRxRingLen, 7}, {gmac4.ChanTxRingLen, 7},
				{gmac4.ChanRxControl, 1 | 256<<1}, {gmac4.ChanTxControl, 1 | gmac4.TxControlTSE}, {gmac4.ChanIntEnable, ^uint32(0)},
			} {
				r.write(ch(c, reg[0]), reg[1])
			}
			for i := range 8 {
				copy(w[uint32(c)*0x400+uint32(i)*4:], []uint32{base + 0x2000 + uint32(i)*256, 0, 0, gmac4.RDES3OWN | gmac4.RDES3BUF1V})
			}
			r.write(qu(c, gmac4.RxQOpMode), 0x01f00020)
			r.write(qu(c, gmac4.TxQOpMode), 0x001f000a)
			r.set(gmac4.RxQDMAMap(c), uint32(c)<<(8*c))
		}
		r.write(gmac4.MACRxQCtrl0, 0x0a)
		r.write(gmac4.MACPacketFilter, dwregs.FilterPR)
		r.write(gmac4.MACConfig, gmac4.ConfigTE|gmac4.ConfigRE|gmac4.ConfigIPC)
		for len(program) >= 7 {
			kind, a, v := program[0], binary.LittleEndian.Uint16(program[1:]), binary.LittleEndian.Uint32(program[3:])
			program = program[7:]
			switch kind % 6 {
			case 0:
				off := uint32(a) &^ 3
				if _, reg, ok := eqos.Split(off, gmac4.ChanBase(0), 0x80, 2); ok && reg >= gmac4.ChanTxListHigh && reg <= gmac4.ChanRxTail {
					v = base + v%0x4000
				}
				r.write(off, v)
			case 1:
				w[int(a)%len(w)] = v
			case 2:
				n := 14 + int(a)%10000
				fr := frame(ownAddr, n)
				binary.LittleEndian.PutUint32(fr[10:], v)
				copy(fr[14:], program)
				m.Deliver(fr)
				m.DeliverWire(fr[:n/(1+int(v%7))])
			case 3:
				clock.Advance(time.Duration(v) * time.Microsecond)
			case 4:
				m.Faults().Rate(sim.Fault(a%uint16(len(sim.FaultKinds()))), int(v%1001))
			case 5:
				r.read(uint32(a))
			}
		}
	})
}

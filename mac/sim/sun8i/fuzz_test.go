package sun8i

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/mac/sim"
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
	f.Add(join(op(2, 100, 0), op(2, 2000, 1), op(3, 0, 1000), op(0, 0x28, 0xC000000F)))
	f.Add(join(op(1, 0x81, 0x790005EA), op(1, 0x80, 1<<31), op(0, 0x14, 0xC0000006)))
	f.Add(join(op(0, 4, 1), op(0, 0x34, 8), op(0, 0x28, 1<<31|1<<30), op(2, 9000, 3)))
	f.Add(join(op(0, 0x30, 6), op(0, 0x60, 0), op(5, 0x48, 0), op(0, 0x48, 0x301023), op(5, 0x48, 0)))
	f.Add(join(op(4, 6, 1000), op(2, 60, 1), op(4, 7, 500), op(2, 1500, 9), op(0, 0x38, 1<<31)))
	f.Fuzz(func(t *testing.T, program []byte) {
		clock := sim.NewManualClock(time.Unix(0, 0))
		space := sim.NewSpace(&sim.SpaceOptions{Base: 0x10000})
		m := New(Config{SoC: "H3", Inline: true, Windows: true, Clock: clock, InBandLink: true})
		m.Connect(space, func(bool) {})
		m.OnTransmit(func([]byte) {})
		defer m.Close()
		mem, err := space.Alloc(mac.Alloc{Use: mac.Descriptors, Size: 1 << 14, Align: 4096, AddressBits: 32})
		if err != nil {
			t.Fatal(err)
		}
		w, _ := sim.Words(mem.Bytes())
		base := uint32(mem.DeviceAddr())
		for i := range uint32(8) {
			next := (i + 1) % 8 * 16
			copy(w[i*4:], []uint32{emac.DescOwn, 256, base + 0x2000 + i*256, base + next})
			copy(w[0x80+i*4:], []uint32{0, emac.TxFirst | emac.TxLast | 60, base + 0x3000, base + 0x200 + next})
		}
		for _, reg := range [][2]uint32{
			{emac.RxDescList, base}, {emac.TxDescList, base + 0x200}, {emac.IntEn, emac.IntAll}, {emac.RxFrmFlt, emac.FltDisAddr},
			{emac.RxCtl1, rxMode | emac.RxCtl1DMAEn | emac.RxCtl1Start}, {emac.TxCtl1, txMode | emac.TxCtl1DMAEn | emac.TxCtl1Start},
			{emac.TxCtl0, emac.TxCtl0En}, {emac.RxCtl0, emac.RxCtl0En | emac.RxCtl0Check},
		} {
			m.Write32(reg[0], reg[1])
		}
		for len(program) >= 7 {
			kind, a, v := program[0], binary.LittleEndian.Uint16(program[1:]), binary.LittleEndian.Uint32(program[3:])
			program = program[7:]
			switch kind % 6 {
			case 0:
				off := uint32(a) &^ 3
				if off == emac.RxDescList || off == emac.TxDescList {
					v = base + v%0x4000
				}
				if off >= emac.WindowSize { // few registers, mostly nothing
					off = []uint32{syscBase + 0x30, ccuBase + 0x60, ccuBase + 0x2C0, ccuBase + 0x2C8, ccuBase + 0x70}[off%5]
				}
				m.Write32(off, v)
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
				m.Read32(uint32(a))
			}
		}
	})
}

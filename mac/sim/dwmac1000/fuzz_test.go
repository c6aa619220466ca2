package dwmac1000

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/gmac3"
	"github.com/barewire/barewire/mac/sim"
)

// FuzzModel feeds a running model register writes, descriptors and frames. It must
// not panic, hang, or reach outside of the Space (whose slices are exact, so that a
// reach is a panic).
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
	f.Add(byte(0), join(op(0, 0x1008, 1), op(2, 100, 0), op(2, 2000, 1), op(3, 0, 1000)))
	f.Add(byte(1), join(op(1, 0x200, 0xF0E00000), op(1, 0x201, 9000), op(1, 0x202, 0x12000), op(0, 0x1004, 1)))
	f.Add(byte(2), join(op(0, 0x1000, 1), op(0, 0x100c, 0), op(0, 0x1018, 0x2006), op(0, 0x1008, 1), op(2, 1500, 9)))
	f.Add(byte(3), join(op(1, 1, 0x4000), op(1, 3, 0x10000), op(0, 0x1008, 1), op(2, 9000, 3), op(4, 5, 1000), op(2, 60, 3)))
	f.Fuzz(func(t *testing.T, variant byte, program []byte) {
		clock := sim.NewManualClock(time.Unix(0, 0))
		space := sim.NewSpace(&sim.SpaceOptions{Base: 0x10000})
		m := New(Config{
			Inline: true, Clock: clock, CheckArmed: true, InBandLink: true, Overwrites: variant&1 != 0,
			NormalDescriptors: variant&2 != 0, StaysSuspended: variant&4 != 0, RXChecksum: 1 + int(variant>>3&1),
		})
		m.Connect(space, func(bool) {})
		m.OnTransmit(func([]byte) {})
		defer m.Close()
		mem, err := space.Alloc(mac.Alloc{Use: mac.Descriptors, Size: 1 << 14, Align: 4096, AddressBits: 32})
		if err != nil {
			t.Fatal(err)
		}
		w, _ := sim.Words(mem.Bytes())
		base := uint32(mem.DeviceAddr())
		for i := range 8 {
			copy(w[i*4:], []uint32{gmac3.RDES0OWN, 256, base + 0x2000 + uint32(i)*256, 0})
		}
		for _, reg := range [][2]uint32{
			{gmac3.DMARxList, base}, {gmac3.DMATxList, base + 0x800}, {gmac3.DMAIntEnable, ^uint32(0)},
			{gmac3.DMAOpMode, gmac3.OpSR | gmac3.OpST | gmac3.OpTSF}, {gmac3.MACFilter, dwregs.FilterPR},
			{gmac3.MACConfig, gmac3.ConfigTE | gmac3.ConfigRE | gmac3.ConfigIPC},
		} {
			m.Write32(reg[0], reg[1])
		}
		for steps := 0; len(program) >= 7 && steps < 200; steps++ {
			kind, a, v := program[0], binary.LittleEndian.Uint16(program[1:]), binary.LittleEndian.Uint32(program[3:])
			program = program[7:]
			switch kind % 6 {
			case 0:
				off := uint32(a) &^ 3 % gmac3.WindowSize
				if off == gmac3.DMARxList || off == gmac3.DMATxList {
					v = base + v%0x4000
				}
				m.Write32(off, v)
			case 1:
				w[int(a)%len(w)] = v
			case 2:
				n := 14 + int(a)%10000
				fr := ether(ownAddr, n)
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

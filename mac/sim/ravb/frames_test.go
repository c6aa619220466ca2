package ravb

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/etheravb"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/internal/offload"
)

// TestStatusOfFrames: what is wrong with a frame is counted, and dropped or marked.
func TestStatusOfFrames(t *testing.T) {
	crc := func(f []byte) []byte { return append(f, 0, 0, 0, 0) }
	group := frame(100)
	group[0] = 0x33
	for _, c := range []struct {
		name    string
		wire    []byte
		msc     uint32
		counter uint32
	}{
		{"CRC", crc(frame(100)), etheravb.MSCCRC, etheravb.CEFCR},
		{"short, and a wrong CRC", crc(frame(40)), etheravb.MSCCRC | etheravb.MSCRTSF, etheravb.TSFRCR},
		{"long", crc(frame(1523)), etheravb.MSCCRC | etheravb.MSCRTLF, etheravb.TLFRCR},
		{"group", crc(group), etheravb.MSCCRC | etheravb.MSCMC, etheravb.MAFCR},
	} {
		for _, v := range []Variant{Gen3, GbEth} {
			r := newRig(t, Config{Variant: v})
			r.mode(etheravb.OPCConfig)
			r.write(etheravb.RCR, 0)
			r.start()
			if v != GbEth {
				r.mode(etheravb.OPCConfig)
				r.write(etheravb.RCR, etheravb.RCREFFS)
				r.mode(etheravb.OPCOperation)
			}
			r.m.DeliverWire(c.wire)
			require.EqualValues(t, 1, r.read(c.counter), c.name)
			if v != GbEth {
				require.EqualValues(t, etheravb.DTFEmpty, r.typeAt(r.rx, 0), "%s: dropped", c.name)
				continue
			}
			last := (min(len(c.wire)-4, 1522) - 1) / 256
			if last < slots { // a longer one runs out of buffers
				require.Equal(t, c.msc, words(r.rx)[2*last]&etheravb.DescMSC, c.name)
			}
		}
	}
}

func TestExtendedDescriptors(t *testing.T) {
	r := newRig(t, Config{})
	r.start()
	r.mode(etheravb.OPCConfig)
	r.write(etheravb.RCR, etheravb.RCRETS0)
	for i := range slots {
		put(r.rx, i, 5, etheravb.Type(etheravb.DTFEmpty)|256, r.buffer(i))
	}
	put(r.rx, slots, 5, etheravb.Type(etheravb.DTLinkFix), uint32(r.rx.DeviceAddr()))
	r.mode(etheravb.OPCOperation)
	for range 2 {
		for i := range slots {
			r.m.Deliver(frame(60))
			require.EqualValues(t, etheravb.DTFSingle, field.Get(etheravb.DescDT, words(r.rx)[5*i]), "slot %d", i)
			put(r.rx, i, 5, etheravb.Type(etheravb.DTFEmpty)|256, r.buffer(i))
			// It has been fetched ahead: the next one needs another slot.
		}
	}
}

func TestFilter(t *testing.T) {
	r := newRig(t, Config{Variant: GbEth})
	r.start()
	other, group := frame(60), frame(60)
	other[5], group[0] = 9, 1
	r.m.Deliver(other)
	require.EqualValues(t, 1, r.m.Stats().Filtered)
	r.m.Deliver(group)
	r.m.Deliver(frame(60))
	require.EqualValues(t, 2, r.m.Stats().RX[0])
	r.write(etheravb.ECMR, r.read(etheravb.ECMR)|etheravb.ECMRPRM)
	r.m.Deliver(other)
	require.EqualValues(t, 3, r.m.Stats().RX[0])
}

func TestTransmit(t *testing.T) {
	r := newRig(t, Config{Variant: Gen2})
	r.start()
	n := r.fill(0, 100)
	put(r.tx, 0, 2, etheravb.Type(etheravb.DTFSingle)|field.Put(etheravb.DescDIE, 5)|n, r.buffer(0))
	r.write(etheravb.TCCR, 1)
	require.Equal(t, [][]byte{frame(100)}, r.sent)
	require.Equal(t, etheravb.Type(etheravb.DTFEmpty)|field.Put(etheravb.DescDIE, 5)|n, words(r.tx)[0], "only the type has changed")
	require.EqualValues(t, 1, r.read(etheravb.TIS))
	require.EqualValues(t, 1<<5, r.read(etheravb.DIS))
	require.Zero(t, r.read(etheravb.TCCR), "the request has ended")

	// A frame over two descriptors and the link, then an end of set.
	r.fill(0, 200)
	put(r.tx, 2, 2, etheravb.Type(etheravb.DTFStart)|200, r.buffer(0))
	put(r.tx, 1, 2, etheravb.Type(etheravb.DTFSingle)|n, r.buffer(0))
	put(r.tx, 3, 2, etheravb.Type(etheravb.DTFEnd)|60, r.buffer(1))
	put(r.tx, 0, 2, etheravb.Type(etheravb.DTEOS), 0)
	r.write(etheravb.TCCR, 1)
	require.Len(t, r.sent, 3)
	require.Len(t, r.sent[2], 260)
	require.EqualValues(t, etheravb.DTEEmpty, r.typeAt(r.tx, 0), "the end is used up")
	put(r.tx, 1, 2, etheravb.Type(etheravb.DTFSingle)|n, r.buffer(0))
	r.write(etheravb.TCCR, 1)
	require.Len(t, r.sent, 4)
	require.Empty(t, r.m.Violations().List())
}

// TestWrongDescriptors: each mistake is a violation or a queue error, and stops the
// queue.
func TestWrongDescriptors(t *testing.T) {
	single, start := etheravb.Type(etheravb.DTFSingle), etheravb.Type(etheravb.DTFStart)
	for _, c := range []struct {
		name, violation string
		control         uint32
		off             uint32
		kind            uint32
	}{
		{"no bytes", "descriptor without bytes", single, 0, etheravb.ErrDescType},
		{"start without end", "given away before its end", start | 100, 0, etheravb.ErrDescType},
		{"end without start", "has not started", etheravb.Type(etheravb.DTFEnd) | 100, 0, etheravb.ErrDescType},
		{"too short", "frame of 59 bytes", single | 59, 0, etheravb.ErrFrameSize},
		{"too long", "frame of 2048 bytes", single | 2048, 0, etheravb.ErrFrameSize},
		{"nowhere", "", single | 100, 0x4000_0000, etheravb.ErrDataRead},
	} {
		r := newRig(t, Config{Variant: Gen2})
		r.start()
		put(r.tx, 0, 2, c.control, r.buffer(0)^c.off)
		r.write(etheravb.EIC, etheravb.EISQEF)
		r.write(etheravb.TCCR, 1)
		require.Empty(t, r.sent, c.name)
		require.Equal(t, field.Put(etheravb.ESRET, c.kind), r.read(etheravb.ESR), c.name)
		require.Equal(t, []bool{true}, r.levels, c.name)
		if c.violation != "" {
			r.violation(c.violation)
		}
		put(r.tx, 0, 2, single|r.fill(0, 100), r.buffer(0))
		r.write(etheravb.TCCR, 1)
		require.Empty(t, r.sent, "%s: the queue stands still", c.name)
		r.start()
		put(r.tx, 0, 2, single|100, r.buffer(0))
		r.write(etheravb.TCCR, 1)
		require.Len(t, r.sent, 1, c.name)
	}

	r := newRig(t, Config{Variant: GbEth})
	r.start()
	put(r.tx, 0, 2, single|r.fill(0, 100), r.buffer(0)+2)
	r.write(etheravb.TCCR, 1)
	r.violation("not aligned to 4 bytes")

	r = newRig(t, Config{Variant: Gen2})
	r.start()
	put(r.tx, 0, 2, start|100, r.buffer(0))
	put(r.tx, 1, 2, etheravb.Type(etheravb.DTFMid)|100, r.buffer(0))
	put(r.tx, 2, 2, etheravb.Type(etheravb.DTLinkFix), uint32(r.tx.DeviceAddr())+8)
	r.write(etheravb.TCCR, 1)
	r.violation("frame of 2100 bytes")

	r = newRig(t, Config{Variant: Gen2})
	r.start()
	put(r.tx, 0, 2, etheravb.Type(etheravb.DTLinkFix), uint32(r.tx.DeviceAddr()))
	r.write(etheravb.TCCR, 1)
	r.violation("links without an end")
}

// TestLinkIsUsedUp: a link that is not fixed is followed once.
func TestLinkIsUsedUp(t *testing.T) {
	r := newRig(t, Config{Variant: Gen2})
	r.start()
	put(r.tx, 0, 2, etheravb.Type(etheravb.DTLink), uint32(r.tx.DeviceAddr())+16)
	put(r.tx, 2, 2, etheravb.Type(etheravb.DTFSingle)|r.fill(0, 100), r.buffer(0))
	r.write(etheravb.TCCR, 1)
	require.Len(t, r.sent, 1)
	require.EqualValues(t, etheravb.DTLEmpty, r.typeAt(r.tx, 0))
	r.write(etheravb.DLR, 1) // begin again
	put(r.tx, 0, 2, etheravb.Type(etheravb.DTFSingle)|100, r.buffer(0))
	r.write(etheravb.TCCR, 1)
	require.Len(t, r.sent, 2)
}

func TestReceiveSum(t *testing.T) {
	r := newRig(t, Config{Variant: Gen2})
	r.start()
	r.write(etheravb.ECMR, 0)
	r.write(etheravb.ECMR, etheravb.ECMRDM|etheravb.ECMRRE|etheravb.ECMRRCSC)
	for i, n := range []int{60, 61, 100} {
		f := frame(n)
		r.m.Deliver(f)
		require.EqualValues(t, n+2, words(r.rx)[2*i]&etheravb.DescDS)
		b := r.buffers.Bytes()[i*256:]
		require.Equal(t, offload.Sum(0).Add(f[14:]).Fold(), binary.BigEndian.Uint16(b[n:]))
	}
}

// TestChecksumEngine: GbEth works on the kinds of frame it is told, and on no other.
func TestChecksumEngine(t *testing.T) {
	udp := frame(80)
	udp[12], udp[13] = 8, 0
	copy(udp[14:], []byte{0x45, 0, 0, 66, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 1, 0, 2, 0, 46, 0xBA, 0xD1})
	right := append([]byte(nil), udp...)
	offload.Insert(right, offload.Full)
	for kinds, want := range map[uint32]struct {
		sent    []byte
		trailer uint32
	}{
		etheravb.TOEIPv4 | etheravb.TOEUDP4: {right, 0},
		etheravb.TOETCP4:                    {udp, 0xFFFFFFFF},
		etheravb.TOEIPv4:                    {nil, 0xFFFF0000},
	} {
		r := newRig(t, Config{Variant: GbEth})
		r.start()
		r.write(etheravb.TOE1, kinds)
		r.write(etheravb.TOE2, kinds)
		r.write(etheravb.TOE0, etheravb.TOE0TPE|etheravb.TOE0RPE)
		copy(r.buffers.Bytes(), udp)
		put(r.tx, 0, 2, etheravb.Type(etheravb.DTFSingle)|80, r.buffer(0))
		r.write(etheravb.TCCR, 1)
		if want.sent != nil {
			require.Equal(t, [][]byte{want.sent}, r.sent)
		} else {
			require.Equal(t, [][]byte{right[:40], udp[40:]}, [][]byte{r.sent[0][:40], r.sent[0][40:]})
		}
		r.m.Deliver(right)
		require.EqualValues(t, 84, words(r.rx)[0]&etheravb.DescDS)
		require.Equal(t, want.trailer, binary.LittleEndian.Uint32(r.buffers.Bytes()[80:]), "%#x", kinds)
		r.write(etheravb.TOE0, etheravb.TOE0TPE)
		r.write(etheravb.TOE2, 0)
		require.Empty(t, r.m.Violations().List())
		r.write(etheravb.TOE1, 1<<31)
		r.violation("TOE_CSR1 changed with the checksum engine on")
	}
}

// TestPinsOfTheInterface: GbEth hears nothing over an interface that it is not set
// to.
func TestPinsOfTheInterface(t *testing.T) {
	r := newRig(t, Config{Variant: GbEth, MII: true})
	r.start()
	r.m.Deliver(frame(60))
	require.Zero(t, r.m.Stats().RX[0])
	r.write(etheravb.CXR35, 1000<<16|etheravb.XMIIMII)
	r.m.Deliver(frame(60))
	require.EqualValues(t, 1, r.m.Stats().RX[0])
}

func TestSpeeds(t *testing.T) {
	r := newRig(t, Config{Variant: Gen2})
	r.start()
	r.m.SetLink(mac.Link{Up: true, Speed: 100, FullDuplex: true})
	r.m.Deliver(frame(60))
	require.Zero(t, r.m.Stats().RX[0], "the MAC is set to 1 Gbit/s")
	r.write(etheravb.GECMR, 0)
	r.violation("changed while the E-MAC runs")
	r.m.Deliver(frame(60))
	require.EqualValues(t, 1, r.m.Stats().RX[0])
	r.m.SetLink(mac.Link{})
	require.Zero(t, r.read(etheravb.PSR))
	require.NotZero(t, r.read(etheravb.ECSR)&etheravb.ECSRLCHNG)
}

// FuzzRegisters: whatever is written, in whatever order, nothing breaks.
func FuzzRegisters(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 1, 0, 4, 0, 1, 0, 0, 0x40, 0, 0, 0, 0, 2}, uint8(0))
	f.Fuzz(func(t *testing.T, script []byte, variant uint8) {
		r := newRig(t, Config{Variant: Variant(variant % 3)})
		r.start()
		for len(script) >= 6 {
			off := uint32(binary.LittleEndian.Uint16(script)) & 0xFFC
			r.write(off, binary.LittleEndian.Uint32(script[2:]))
			r.read(off)
			r.m.Deliver(frame(60 + int(script[2])))
			script = script[6:]
		}
	})
}

// FuzzDescriptors: whatever descriptors say, nothing breaks, and nothing outside of
// the memory given is touched without an error.
func FuzzDescriptors(f *testing.F) {
	f.Add([]byte{0x64, 0, 0, 0x70, 0, 0, 0, 0x64, 0, 0, 0x50, 0, 0, 0})
	f.Fuzz(func(t *testing.T, script []byte) {
		r := newRig(t, Config{Variant: Gen2})
		r.start()
		for slot := 0; len(script) >= 7; slot = (slot + 1) % (slots + 1) {
			pointer := r.buffer(0) + uint32(binary.LittleEndian.Uint16(script[4:]))
			if script[6]&1 != 0 {
				pointer = uint32(r.tx.DeviceAddr()) + uint32(script[5])
			}
			put(r.tx, slot, 2, binary.LittleEndian.Uint32(script), pointer)
			put(r.rx, slot, 2, binary.LittleEndian.Uint32(script), pointer)
			r.write(etheravb.TCCR, 1)
			r.m.Deliver(frame(60 + int(script[6])))
			script = script[7:]
		}
	})
}

func TestStuckDescriptor(t *testing.T) {
	r := newRig(t, Config{Variant: Gen2})
	r.start()
	r.m.Faults().Once(sim.StuckOwn)
	for i := range slots {
		put(r.tx, i, 2, etheravb.Type(etheravb.DTFSingle)|r.fill(0, 100), r.buffer(0))
	}
	r.write(etheravb.TCCR, 1)
	require.Len(t, r.sent, slots, "it is not sent again")
	require.EqualValues(t, etheravb.DTFSingle, r.typeAt(r.tx, 0))
}

// TestPauseOnTheWire: a pause that ends lets go what waited, and control frames that
// end before they say anything are nothing.
func TestPauseOnTheWire(t *testing.T) {
	r := newRig(t, Config{})
	r.start()
	pause := func(quanta uint16) []byte {
		return binary.BigEndian.AppendUint16(append(pauseAddr[:], 2, 0, 0, 0, 0, 9, 0x88, 8, 0, opPause), quanta)
	}
	wire := func(f []byte) []byte { return binary.LittleEndian.AppendUint32(f, crc32.ChecksumIEEE(f)) }
	r.m.DeliverWire(wire(pause(0xffff)))
	put(r.tx, 0, 2, etheravb.Type(etheravb.DTFSingle)|r.fill(0, 60), r.buffer(0))
	r.write(etheravb.TCCR, 1)
	for n := 14; n < 18; n++ {
		r.m.DeliverWire(wire(pause(0)[:n]))
	}
	require.Empty(t, r.sent)
	r.m.DeliverWire(wire(pause(0)))
	require.Len(t, r.sent, 1)
}

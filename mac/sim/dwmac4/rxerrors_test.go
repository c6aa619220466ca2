package dwmac4

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/mac/sim"
)

func TestReceiveErrors(t *testing.T) {
	good := func(f []byte) []byte { return binary.LittleEndian.AppendUint32(f, crc32.ChecksumIEEE(f)) }
	bad := func(f []byte) []byte { return binary.LittleEndian.AppendUint32(f, 0x12345678) }
	for _, c := range []struct {
		name     string
		wire     []byte
		config   uint32
		mode     uint32 // RxQOpMode beside RSF
		want     uint32 // error bits, 0 with delivered
		arrives  bool
		counters map[uint32]uint32
	}{
		{"bad FCS dropped", bad(frame(ownAddr, 60)), 0, 0, 0, false, map[uint32]uint32{gmac4.MMC + dwregs.MMCRxCRC: 1}},
		{"bad FCS forwarded", bad(frame(ownAddr, 60)), 0, gmac4.RxQOpFEP, gmac4.RDES3CE, true, map[uint32]uint32{gmac4.MMC + dwregs.MMCRxCRC: 1}},
		{"runt with good FCS", good(frame(ownAddr, 30)), 0, 0, 0, false, map[uint32]uint32{gmac4.MMC + dwregs.MMCRxUndersize: 1}},
		{"undersized forwarded", good(frame(ownAddr, 30)), 0, gmac4.RxQOpFUP, 0, true, map[uint32]uint32{gmac4.MMC + dwregs.MMCRxUndersize: 1}},
		{"runt with bad FCS", bad(frame(ownAddr, 30)), 0, 0, 0, false, map[uint32]uint32{gmac4.MMC + dwregs.MMCRxRunt: 1}},
		{"tiny", []byte{1, 2, 3}, 0, 0, 0, false, map[uint32]uint32{gmac4.MMC + dwregs.MMCRxRunt: 1}},
		{"largest", good(frame(ownAddr, 1514)), 0, 0, 0, true, map[uint32]uint32{gmac4.MMC + dwregs.MMCRxOversize: 0}},
		{"giant", good(frame(ownAddr, 1515)), 0, 0, gmac4.RDES3GP, true, map[uint32]uint32{gmac4.MMC + dwregs.MMCRxOversize: 1}},
		{"tagged, four bytes more", good(tag(frame(ownAddr, 1514), 5)), 0, 0, 0, true, map[uint32]uint32{gmac4.MMC + dwregs.MMCRxVLAN: 1}},
		{"no giant with S2KP", good(frame(ownAddr, 1996)), gmac4.ConfigS2KP, 0, 0, true, nil},
		{"no giant with JE", good(frame(ownAddr, 9014)), gmac4.ConfigJE, 0, 0, true, nil},
		{"giant with JE", good(frame(ownAddr, 9015)), gmac4.ConfigJE, 0, gmac4.RDES3GP, true, nil},
		{"watchdog", good(frame(ownAddr, 2045)), 0, gmac4.RxQOpFEP, gmac4.RDES3RWT | gmac4.RDES3GP | gmac4.RDES3CE, true, map[uint32]uint32{gmac4.MMC + dwregs.MMCRxWatchdog: 1, gmac4.MMC + dwregs.MMCRxJabber: 1}},
		{"watchdog drops", good(frame(ownAddr, 2045)), 0, 0, 0, false, map[uint32]uint32{gmac4.MMC + dwregs.MMCRxWatchdog: 1}},
		{"watchdog off", good(frame(ownAddr, 4000)), gmac4.ConfigWD, 0, gmac4.RDES3GP, true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, Config{})
			r.setRings(8, 10240)
			r.set(gmac4.MACConfig, c.config)
			r.clear(qu(0, gmac4.RxQOpMode), 0)
			r.set(qu(0, gmac4.RxQOpMode), c.mode)
			r.post(0, 0, 7, 0)
			r.m.DeliverWire(c.wire)
			const errs = gmac4.RDES3CE | gmac4.RDES3GP | gmac4.RDES3RWT | gmac4.RDES3OE | gmac4.RDES3RE | gmac4.RDES3DE
			require.Equal(t, c.arrives, !r.rx[0].own(0))
			if c.arrives {
				require.Equal(t, c.want, r.rx[0].w[3]&errs)
				require.Equal(t, c.want != 0, r.rx[0].w[3]&gmac4.RDES3ES != 0)
			}
			for off, n := range c.counters {
				require.Equal(t, n, r.read(off), gmac4.RegName(off))
			}
		})
	}
}

func TestGiantAndWatchdogLimits(t *testing.T) {
	r := newRig(t, Config{})
	r.setRings(8, 10240)
	r.write(gmac4.MACExtConfig, 1000)
	r.set(gmac4.MACConfig, gmac4.ConfigGPSLCE)
	r.write(gmac4.MACWatchdog, 1<<8|2) // 4 KiB
	r.set(qu(0, gmac4.RxQOpMode), gmac4.RxQOpFEP)
	r.post(0, 0, 7, 0)
	r.m.Deliver(frame(ownAddr, 997))
	r.m.Deliver(frame(ownAddr, 4092))
	r.m.Deliver(frame(ownAddr, 4093))
	require.Equal(t, gmac4.RDES3GP, r.rx[0].w[3]&(gmac4.RDES3GP|gmac4.RDES3RWT))
	require.Equal(t, gmac4.RDES3GP, r.rx[0].w[7]&(gmac4.RDES3GP|gmac4.RDES3RWT))
	require.Equal(t, gmac4.RDES3GP|gmac4.RDES3RWT, r.rx[0].w[11]&(gmac4.RDES3GP|gmac4.RDES3RWT))
	require.EqualValues(t, 4096, r.rx[0].w[11]&gmac4.RDES3PL)
}

func TestStripPadAndFCS(t *testing.T) {
	llc := frame(ownAddr, 60)
	binary.BigEndian.PutUint16(llc[12:], 20)
	for _, c := range []struct {
		name   string
		f      []byte
		config uint32
		pl     uint32
		lt     uint32
	}{
		{"length frame, ACS", llc, gmac4.ConfigACS, 34, gmac4.LTLength},
		{"length frame, CST alone", llc, gmac4.ConfigCST, 64, gmac4.LTLength},
		{"type frame, ACS alone", frame(ownAddr, 60), gmac4.ConfigACS, 64, gmac4.LTType},
		{"type frame, CST", frame(ownAddr, 60), gmac4.ConfigCST, 60, gmac4.LTType},
		{"tagged", tag(frame(ownAddr, 60), 7), 0, 68, gmac4.LTVLAN},
		{"two tags", tag(tag(frame(ownAddr, 60), 7), 8), 0, 72, gmac4.LTDoubleVLAN},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, Config{})
			r.set(gmac4.MACConfig, c.config)
			r.post(0, 0, 7, 0)
			r.m.Deliver(c.f)
			require.Equal(t, c.pl, r.rx[0].w[3]&gmac4.RDES3PL)
			require.Equal(t, c.lt, field.Get(gmac4.RDES3LT, r.rx[0].w[3]))
		})
	}
}

func TestBusErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(r *rig)
		code   uint32
	}{
		{"buffer outside memory", func(r *rig) { r.rx[0].put(1, [4]uint32{16, 0, 0, gmac4.RDES3OWN | gmac4.RDES3BUF1V}) }, gmac4.BusErrBufferWrite},
		{"injected at a buffer", func(r *rig) { r.m.Faults().Nth(sim.RXBusError, 2) }, gmac4.BusErrBufferWrite},
		{"injected at a descriptor", func(r *rig) { r.m.Faults().Nth(sim.DescriptorBusError, 3) }, gmac4.BusErrDescriptorRead},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, Config{})
			for i := range 7 {
				r.rx[0].arm(i, 0)
			}
			c.damage(r)
			r.write(ch(0, gmac4.ChanRxTail), r.rx[0].tail(7))
			for range 3 {
				r.m.Deliver(frame(ownAddr, 60))
			}
			require.NotZero(t, r.status(0)&gmac4.IntFBE)
			require.Equal(t, c.code, field.Get(gmac4.StatusREB, r.status(0)))
			require.False(t, r.rx[0].own(0))
			require.True(t, r.rx[0].own(1))
			r.write(ch(0, gmac4.ChanRxTail), r.rx[0].tail(7))
			require.True(t, r.rx[0].own(1), "only a reset brings it back")
			r.write(gmac4.DMAMode, gmac4.DMAModeSWR)
			r.setup(8, 2048)
			r.post(0, 0, 7, 0)
			r.m.Deliver(frame(ownAddr, 60))
			require.False(t, r.rx[0].own(0))
		})
	}
}

func TestOverlappingBuffersAreRecorded(t *testing.T) {
	r := newRig(t, Config{CheckArmed: true})
	r.post(0, 0, 3, 0)
	r.noViolations()
	a := r.rx[0].bufAddr(0) + 64
	r.rx[0].put(3, [4]uint32{uint32(a), uint32(a >> 32), 0, gmac4.RDES3OWN | gmac4.RDES3BUF1V})
	r.write(ch(0, gmac4.ChanRxTail), r.rx[0].tail(4))
	require.NotZero(t, r.m.Violations().Count())
}

func TestReceiveFaults(t *testing.T) {
	for _, c := range []struct {
		fault sim.Fault
		check func(t *testing.T, r *rig)
	}{
		{sim.BadCRC, func(t *testing.T, r *rig) {
			require.NotZero(t, r.rx[0].w[3]&gmac4.RDES3CE)
			require.EqualValues(t, 1, r.read(gmac4.MMC+dwregs.MMCRxCRC))
		}},
		{sim.Overflow, func(t *testing.T, r *rig) {
			require.Equal(t, gmac4.RDES3OE|gmac4.RDES3ES|gmac4.RDES3LD, r.rx[0].w[3]&(gmac4.RDES3OE|gmac4.RDES3ES|gmac4.RDES3LD))
		}},
		{sim.Truncated, func(t *testing.T, r *rig) {
			require.Equal(t, gmac4.RDES3FD, r.rx[0].w[3]&(gmac4.RDES3FD|gmac4.RDES3LD))
		}},
		{sim.MissingFirst, func(t *testing.T, r *rig) {
			require.Equal(t, gmac4.RDES3LD, r.rx[0].w[3]&(gmac4.RDES3FD|gmac4.RDES3LD))
		}},
		{sim.BadLength, func(t *testing.T, r *rig) {
			require.NotEqualValues(t, 104, r.rx[0].w[3]&gmac4.RDES3PL)
		}},
	} {
		t.Run(c.fault.String(), func(t *testing.T) {
			r := newRig(t, Config{Seed: 7})
			r.set(qu(0, gmac4.RxQOpMode), gmac4.RxQOpFEP)
			r.post(0, 0, 7, 0)
			r.m.Faults().Once(c.fault)
			r.m.Deliver(frame(ownAddr, 100))
			c.check(t, r)
			require.EqualValues(t, 1, r.m.Faults().Hits(c.fault))
			r.m.Deliver(frame(ownAddr, 100)) // the next one is whole
			require.Equal(t, gmac4.RDES3FD|gmac4.RDES3LD, r.rx[0].w[7]&(gmac4.RDES3FD|gmac4.RDES3LD|gmac4.RDES3ES))
			require.EqualValues(t, 104, r.rx[0].w[7]&gmac4.RDES3PL)
		})
	}
	t.Run("dropped", func(t *testing.T) {
		r := newRig(t, Config{})
		r.post(0, 0, 7, 0)
		r.m.Faults().Once(sim.DropFrame)
		r.m.Deliver(frame(ownAddr, 100))
		r.m.Deliver(frame(ownAddr, 101))
		require.EqualValues(t, 105, r.rx[0].w[3]&gmac4.RDES3PL)
	})
}

// B003: a cut frame takes descriptors and never shows a last one.
func TestTruncatedLongFrame(t *testing.T) {
	r := newRig(t, Config{})
	r.setRings(8, 256)
	r.post(0, 0, 7, 0)
	r.m.Faults().Once(sim.Truncated)
	r.m.Deliver(frame(ownAddr, 600))
	r.m.Deliver(frame(ownAddr, 60))
	const both = gmac4.RDES3FD | gmac4.RDES3LD
	require.Equal(t, gmac4.RDES3FD, r.rx[0].w[3]&both)
	require.Zero(t, r.rx[0].w[7]&both)
	require.Equal(t, both, r.rx[0].w[11]&both)
}

func TestAddressWidth(t *testing.T) {
	t.Run("32 bits ignore the high words", func(t *testing.T) {
		r := newRig(t, Config{AddressBits: 32})
		for i := range 7 {
			r.rx[0].arm(i, 0)
			r.rx[0].w[4*i+1] = 0xdead
		}
		r.write(ch(0, gmac4.ChanRxTail), r.rx[0].tail(7))
		r.m.Deliver(frame(ownAddr, 60))
		require.False(t, r.rx[0].own(0))
	})
	t.Run("without EAME there are no high words", func(t *testing.T) {
		r := newRig(t, Config{})
		r.clear(gmac4.DMASysBus, gmac4.SysBusEAME)
		r.setRings(8, 2048)
		require.NotZero(t, r.space.Violations().Count(), "the ring is above 4 GiB")
		require.Zero(t, r.read(gmac4.DMADebug0)>>8&15, "stopped by a bus error")
	})
}

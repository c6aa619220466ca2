package ravb

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac/internal/etheravb"
	"github.com/barewire/barewire/mac/sim"
)

func TestModes(t *testing.T) {
	r := newRig(t, Config{Variant: Gen2})
	require.EqualValues(t, 1, r.read(etheravb.CSR), "RESET at power-on")
	r.write(etheravb.CCC, etheravb.OPCOperation)
	r.violation("operating mode 2 asked for in mode 0")

	r = newRig(t, Config{Variant: Gen2, MACAddress: station})
	require.EqualValues(t, 2, r.read(etheravb.CSR), "CONFIG, as firmware leaves it")
	require.EqualValues(t, 0x02000000, r.read(etheravb.MAHR))
	r.mode(etheravb.OPCReset)
	require.Zero(t, r.read(etheravb.MAHR), "nothing answers")
	r.write(etheravb.RFLR, 1)
	r.violation("RFLR written with 0x1 in RESET")
	r.mode(etheravb.OPCConfig)
	require.Zero(t, r.read(etheravb.MAHR), "and everything is lost")

	r.start()
	r.write(etheravb.CCC, etheravb.OPCOperation|etheravb.CCCDTSR)
	require.EqualValues(t, 4|etheravb.CSRDTS, r.read(etheravb.CSR), "suspended")
	r.m.Deliver(frame(100))
	require.EqualValues(t, 1, r.m.Stats().Lost)
	r.write(etheravb.CCC, etheravb.OPCOperation)
	r.m.Deliver(frame(100))
	require.EqualValues(t, etheravb.DTFSingle, r.typeAt(r.rx, 0))
	r.write(etheravb.RCR, 0)
	require.Contains(t, r.m.Violations().List()[1], "RCR written with 0x0 outside of CONFIG")
}

func TestSlowReset(t *testing.T) {
	clock := sim.NewManualClock(time.Unix(0, 0))
	r := newRig(t, Config{Clock: clock, SlowReset: time.Second})
	r.start()
	r.m.Faults().Once(sim.SlowReset)
	r.write(etheravb.CCC, etheravb.OPCReset)
	clock.Advance(time.Second - 1)
	require.EqualValues(t, 2, r.read(etheravb.CSR))
	clock.Advance(1)
	require.EqualValues(t, 1, r.read(etheravb.CSR))
	r.start()
}

func TestGPTPClock(t *testing.T) {
	r := newRig(t, Config{})
	const clock = etheravb.CCCGAC | etheravb.CSELHPB<<16
	r.write(etheravb.CCC, etheravb.OPCConfig|clock)
	r.write(etheravb.CCC, etheravb.OPCOperation|clock)
	require.Empty(t, r.m.Violations().List(), "in one write")
	r.write(etheravb.CCC, etheravb.OPCConfig|etheravb.CCCGAC)
	r.violation("clock of gPTP changed")
}

// TestReservedStatusBits: zeros clear, ones leave alone and must not be written where
// a bit is reserved.
func TestReservedStatusBits(t *testing.T) {
	for _, s := range []struct{ off, bits, reserved uint32 }{
		{etheravb.EIS, 5, etheravb.EISReserved}, {etheravb.RIS0, 3, etheravb.RIS0Reserved},
		{etheravb.RIS2, 1<<31 | 3, etheravb.RIS2Reserved}, {etheravb.TIS, 3, etheravb.TISReserved}, {etheravb.DIS, 6, etheravb.DISReserved},
	} {
		r := newRig(t, Config{MACAddress: station})
		r.m.RaiseStatus(s.off, s.bits)
		r.write(s.off, ^(s.reserved | s.bits&-s.bits))
		require.Equal(t, s.bits&^(s.bits&-s.bits), r.read(s.off), etheravb.RegName(s.off))
		require.Empty(t, r.m.Violations().List())
		r.write(s.off, ^uint32(0))
		r.violation("reserved bits of " + etheravb.RegName(s.off))
	}
	r := newRig(t, Config{MACAddress: station})
	r.m.RaiseStatus(etheravb.ECSR, etheravb.ECSRAll)
	r.write(etheravb.ECSR, etheravb.ECSRICD)
	require.EqualValues(t, etheravb.ECSRAll&^etheravb.ECSRICD, r.read(etheravb.ECSR), "the one that ones clear")
}

// TestSummary: each enabled cause shows in ISS and on the line.
func TestSummary(t *testing.T) {
	for _, c := range []struct{ status, control, bit, iss uint32 }{
		{etheravb.RIS0, etheravb.RIC0, 1, etheravb.ISSFRS}, {etheravb.TIS, etheravb.TIC, 2, etheravb.ISSFTS},
		{etheravb.TIS, etheravb.TIC, etheravb.TISTFUF, etheravb.ISSTFUS}, {etheravb.EIS, etheravb.EIC, etheravb.EISQEF, etheravb.ISSES},
		{etheravb.RIS2, etheravb.RIC2, 1, etheravb.ISSES}, {etheravb.RIS1, etheravb.RIC1, 1 << 31, etheravb.ISSRFWS},
		{etheravb.DIS, etheravb.DIC, 1 << 3, 1 << 19}, {etheravb.ECSR, etheravb.ECSIPR, etheravb.ECSRLCHNG, etheravb.ISSMS},
	} {
		r := newRig(t, Config{Variant: Gen2, MACAddress: station})
		r.m.RaiseStatus(c.status, c.bit)
		require.Zero(t, r.read(etheravb.ISS))
		require.Empty(t, r.levels)
		r.write(c.control, c.bit)
		require.Equal(t, c.iss, r.read(etheravb.ISS))
		require.Equal(t, []bool{true}, r.levels)
		r.write(c.control, 0)
		require.Equal(t, []bool{true, false}, r.levels)
	}
	r := newRig(t, Config{Variant: Gen2, MACAddress: station})
	r.write(etheravb.RIC2, 1)
	r.m.RaiseStatus(etheravb.RIS2, 1)
	require.EqualValues(t, etheravb.EISQFS, r.read(etheravb.EIS), "and QFS sums RIS2 up")
	r.write(etheravb.EIS, ^uint32(etheravb.EISQFS|etheravb.EISReserved))
	require.EqualValues(t, etheravb.EISQFS, r.read(etheravb.EIS), "as long as something is pending there")
	r.m.RaiseStatus(etheravb.RIS2, 1)
	r.write(etheravb.RIS2, ^uint32(1|etheravb.RIS2Reserved))
	require.EqualValues(t, etheravb.EISQFS, r.read(etheravb.EIS), "and until it is cleared")
	r.write(etheravb.EIS, ^uint32(etheravb.EISQFS|etheravb.EISReserved))
	require.Zero(t, r.read(etheravb.EIS))
	require.Zero(t, r.read(etheravb.ISS))
}

// TestLines: CIE deals the causes of a Gen3 to its lines.
func TestLines(t *testing.T) {
	r := newRig(t, Config{MACAddress: station})
	r.write(etheravb.RIC0, 3)
	r.write(etheravb.TIC, 3)
	r.write(etheravb.ECSIPR, etheravb.ECSRLCHNG)
	high := func() (s string) {
		names := [lineCount]string{"ch0 ", "ch1 ", "ch18 ", "ch19 ", "ch22 ", "ch24 "}
		for i, on := range r.m.levels() {
			if on {
				s += names[i]
			}
		}
		return s
	}
	for cie, want := range map[uint32][4]string{
		0:                {"ch22 ", "ch22 ", "ch22 ", "ch22 "},
		etheravb.CIECRIE: {"ch22 ", "ch1 ", "ch22 ", "ch22 "},
		etheravb.CIECTIE: {"ch22 ", "ch22 ", "ch18 ", "ch19 "},
		etheravb.CIECRIE | etheravb.CIECL0M | etheravb.CIECTIE: {"ch0 ", "ch1 ", "ch18 ", "ch19 "},
	} {
		r.write(etheravb.CIE, cie)
		for i, c := range []struct{ off, bit uint32 }{{etheravb.RIS0, 1}, {etheravb.RIS0, 2}, {etheravb.TIS, 1}, {etheravb.TIS, 2}} {
			r.m.RaiseStatus(c.off, c.bit)
			require.Equal(t, want[i], high(), "CIE %#x, %s %d", cie, etheravb.RegName(c.off), c.bit)
			r.write(c.off, 0)
		}
		r.m.RaiseStatus(etheravb.ECSR, etheravb.ECSRLCHNG)
		require.Equal(t, "ch24 ", high())
		r.write(etheravb.ECSR, etheravb.ECSRLCHNG)
	}
	r.write(etheravb.RID0, 1)
	require.EqualValues(t, 2, r.read(etheravb.RIC0))
	r.write(etheravb.RIE0, 1)
	require.EqualValues(t, 3, r.read(etheravb.RIC0))
	require.Empty(t, r.m.Violations().List())

	old := newRig(t, Config{Variant: Gen2, MACAddress: station})
	old.write(etheravb.RIE0, 1)
	old.violation("RIE0 written with 0x1: the core has none")
}

func TestReceive(t *testing.T) {
	r := newRig(t, Config{Variant: Gen2})
	r.start()
	r.write(etheravb.RIC0, 1)
	f := frame(600) // three buffers
	r.m.Deliver(f)
	var got []byte
	for i, dt := range []uint32{etheravb.DTFStart, etheravb.DTFMid, etheravb.DTFEnd} {
		require.Equal(t, dt, r.typeAt(r.rx, i))
		n := words(r.rx)[2*i] & etheravb.DescDS
		require.Equal(t, r.buffer(i), words(r.rx)[2*i+1], "the pointer stays")
		got = append(got, r.buffers.Bytes()[i*256:i*256+int(n)]...)
	}
	require.Equal(t, f, got)
	require.Equal(t, []bool{true}, r.levels)

	r.m.Deliver(frame(600)) // one buffer is left
	require.EqualValues(t, etheravb.DTFStart, r.typeAt(r.rx, 3))
	require.EqualValues(t, 1, r.read(etheravb.RIS2), "queue full")
	require.EqualValues(t, 1, r.m.Stats().Full)
	for i := range slots {
		put(r.rx, i, 2, etheravb.Type(etheravb.DTFEmpty)|256, r.buffer(i))
	}
	r.m.Deliver(frame(60))
	require.EqualValues(t, etheravb.DTFSingle, r.typeAt(r.rx, 0), "it goes on by itself, behind the link")
	require.EqualValues(t, etheravb.DTLinkFix, r.typeAt(r.rx, slots))
}

package etheravb

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac/internal/field"
)

func TestFields(t *testing.T) {
	require.EqualValues(t, 0x00010000, field.Put(CCCCSEL, CSELHPB))
	require.Equal(t, uint32(0xC0000000), Type(DTFEmpty))
	require.EqualValues(t, 0x70000000, Type(DTFSingle))
	require.EqualValues(t, DTFEnd, field.Get(DescDT, 0x6F123456))
	require.EqualValues(t, 0x03E80002, field.Put(CXR35HalfCycle, HalfCycleDefault)|field.Put(CXR35SelXMII, XMIIMII))
	require.EqualValues(t, 0x4F<<16, MSCErrors)
	require.EqualValues(t, 0x18000001, field.Put(RCRRFCL, RFCLDefault)|RCREFFS)
	require.EqualValues(t, 176, TableSize)
}

// No status bit that is used is a reserved one.
func TestReservedBits(t *testing.T) {
	require.Zero(t, EISReserved&(EISMREF|EISMTEF|EISQEF|EISSEF|EISTFFF|EISQFS))
	require.Zero(t, RIS0Reserved&RISQueues)
	require.Zero(t, RIS2Reserved&(RISQueues|RIS2RFFF))
	require.Zero(t, TISReserved&(TISFTF|TISTFUF|TISTFWF|TISTDPF))
}

func TestRegName(t *testing.T) {
	for off, want := range map[uint32]string{CCC: "CCC", CSR: "CSR", TOE0: "TOE_CSR0", CDAR(0): "CDAR0", CDAR(21): "CDAR21", 0xFFC: "0x0ffc"} {
		require.Equal(t, want, RegName(off))
	}
	seen := map[string]bool{}
	for off := uint32(0); off < WindowSize; off += 4 {
		name := RegName(off)
		require.False(t, seen[name], name)
		seen[name] = true
	}
}

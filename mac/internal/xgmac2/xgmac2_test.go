package xgmac2

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac/internal/field"
)

func TestPlaces(t *testing.T) {
	for _, c := range []struct{ got, want uint32 }{
		{ChanBase(0) + ChanStatus, 0x3160},
		{ChanBase(0) + ChanTxTail, 0x3124},
		{ChanBase(15) + ChanRxTail, 0x38AC},
		{QueueBase(0), 0x1100},
		{QueueBase(15) + RxQOpMode, 0x18C0},
		{AddrHigh(1), 0x308},
		{AddrLow(0), 0x304},
		{RxQDMAMap(5), 0x1034},
		{RxQDMAField(5), 0xFF00},
		{RxQEnable(1), 0x0C},
		{HashTable(7), 0x02C},
		{MMCRxICMPErrOcts, 0x33C},
		{field.Put(RxControlRBSZ, 1536), 0xC00},
		{field.Put(RxQFlowRFA, 1) | field.Put(RxQFlowRFD, 3), 3<<17 | 1<<1},
	} {
		require.Equal(t, c.want, c.got)
	}
}

func TestDebugState(t *testing.T) {
	for _, c := range []struct {
		ch            int
		reg, rps, tps uint32
	}{
		{0, 0x3020, 0x00000F00, 0x0000F000},
		{2, 0x3020, 0x0F000000, 0xF0000000},
		{3, 0x3024, 0x0000000F, 0x000000F0},
		{6, 0x3024, 0x0F000000, 0xF0000000},
		{15, 0x3030, 0x0000000F, 0x000000F0},
	} {
		reg, rps, tps := DebugState(c.ch)
		require.Equal(t, []uint32{c.reg, c.rps, c.tps}, []uint32{reg, rps, tps}, "channel %d", c.ch)
	}
}

func TestSpeeds(t *testing.T) {
	want := map[uint32]int{Speed10G: 10_000, Speed5000XGMII: 5000, Speed2500XGMII: 2500, Speed2500GMII: 2500, Speed1000GMII: 1000, Speed100MII: 100, Speed10MII: 10, SpeedReserved1: 0}
	for code, speed := range want {
		require.Equal(t, speed, SpeedOf(code))
	}
	require.Len(t, want, speedCodesCount)
}

func TestFacts(t *testing.T) {
	for _, c := range []struct {
		reg      uint32
		name     string
		nie, aie uint32
		phys     int
		slow     bool
	}{
		{0x7620, "2.00", 1 << 16, 1 << 15, 4, false},
		{0x7621, "2.10", 1 << 15, 1 << 14, 4, false},
		{0x7622, "2.20", 1 << 15, 1 << 14, 32, true},
		{0x107630, "3.00", 1 << 15, 1 << 14, 32, true},
		{0x7632, "3.20", 1 << 15, 1 << 14, 32, true},
	} {
		f, ok := FactsFor(c.reg)
		require.True(t, ok)
		require.Equal(t, Facts{Version: uint8(c.reg), IntNIE: c.nie, IntAIE: c.aie, Clause22PHYs: c.phys, Slow: c.slow}, f)
		require.Equal(t, c.name, VersionName(c.reg))
	}
	for _, reg := range []uint32{0, 0xFFFFFFFF, 0x37, 0x1051, 0x2732, 0x7640} {
		_, ok := FactsFor(reg)
		require.False(t, ok, "%#x taken for an XGMAC", reg)
	}
}

func TestRegName(t *testing.T) {
	for off, want := range map[uint32]string{
		0x0000: "MAC_TxConfig", 0x0014: "MAC_HashTable1", 0x0074: "MAC_Q1_TxFlow",
		0x0304: "MAC_Addr0_Low", 0x0310: "MAC_Addr2_High", 0x1140: "MTL_Q0_RxQOpMode",
		0x31A4: "DMA_CH1_TxTail", 0x3160: "DMA_CH0_Status", 0x3008: "DMA_IntStatus", 0x814: "MMC_TxOctets",
		0x0200: "MAC_MDIOAddr", 0x3168: "0x3168", 0x3FFC: "0x3ffc", 0x0013: "0x0013",
	} {
		require.Equal(t, want, RegName(off))
	}
}

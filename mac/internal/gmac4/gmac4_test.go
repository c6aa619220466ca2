package gmac4

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFields(t *testing.T) {
	require.Equal(t, uint32(0xC00), Put(RxControlRBSZ, 1536), "manual's example: 1536 bytes")
	require.Equal(t, uint32(1536), Get(RxControlRBSZ, 0xC00|RxControlSR))
	require.Equal(t, uint32(8)<<16, Put(TxControlPBL, 8))
	require.Equal(t, uint32(0xFFFF0000), Put(TxFlowPT, 0x12FFFF), "what does not fit is cut off")
	require.Equal(t, uint32(1)<<31, Put(ConfigARPEN, 1))
}

func TestStrides(t *testing.T) {
	require.Equal(t, uint32(0x1160), ChanBase(0)+ChanStatus)
	require.Equal(t, uint32(0x14A8), ChanBase(7)+ChanRxTail)
	require.Equal(t, uint32(0xD00), QueueBase(0))
	require.Equal(t, uint32(0xEF0), QueueBase(7)+RxQOpMode)
	require.Equal(t, uint32(0x308), AddrHigh(1))
	require.Equal(t, uint32(0x304), AddrLow(0))
	require.Equal(t, uint32(0xC34), RxQDMAMap(5))
	require.Equal(t, uint32(0x0F00), RxQDMAChannel(5))
	require.Equal(t, uint32(0x0C), RxQEnable(1))
}

func TestDebugState(t *testing.T) {
	for _, c := range []struct {
		ch            int
		reg, rps, tps uint32
	}{
		{0, DMADebug0, 0x00000F00, 0x0000F000},
		{1, DMADebug0, 0x000F0000, 0x00F00000},
		{2, DMADebug0, 0x0F000000, 0xF0000000},
		{3, DMADebug1, 0x0000000F, 0x000000F0},
		{6, DMADebug1, 0x0F000000, 0xF0000000},
		{7, DMADebug2, 0x0000000F, 0x000000F0},
	} {
		reg, rps, tps := DebugState(c.ch)
		require.Equal(t, []uint32{c.reg, c.rps, c.tps}, []uint32{reg, rps, tps}, "channel %d", c.ch)
	}
}

func TestFacts(t *testing.T) {
	for _, c := range []struct {
		reg      uint32
		name     string
		nie, aie uint32
		feature3 bool
	}{
		{0x1040, "4.00", 1 << 16, 1 << 15, false},
		{0x1041, "4.10", 1 << 15, 1 << 14, false},
		{0x0042, "4.20", 1 << 15, 1 << 14, false},
		{0x3150, "5.00", 1 << 15, 1 << 14, false},
		{0x3051, "5.10", 1 << 15, 1 << 14, true},
		{0x3052, "5.20", 1 << 15, 1 << 14, true},
		{0xFF53, "5.30", 1 << 15, 1 << 14, true},
	} {
		f, ok := FactsFor(c.reg)
		require.True(t, ok, c.name)
		require.Equal(t, Facts{Version: uint8(c.reg), IntNIE: c.nie, IntAIE: c.aie, Feature3: c.feature3}, f)
		require.Equal(t, c.name, VersionName(c.reg))
	}
	for _, reg := range []uint32{0, 0xFFFFFFFF, 0x37, 0x60, 0x1076} {
		_, ok := FactsFor(reg)
		require.False(t, ok, "%#x", reg)
	}
}

func TestRegName(t *testing.T) {
	for off, name := range map[uint32]string{
		0x0000: "MAC_Config", 0x0014: "MAC_HashTable1", 0x0074: "MAC_Q1_TxFlow",
		0x0304: "MAC_Addr0_Low", 0x0310: "MAC_Addr2_High", 0x0D30: "MTL_Q0_RxQOpMode",
		0x11A0: "DMA_CH1_TxTail", 0x1160: "DMA_CH0_Status", 0x1008: "DMA_IntStatus",
		0x0200: "MAC_MDIOAddr", 0x1164 + 4: "0x1168", 0x1FFC: "0x1ffc", 0x0013: "0x013",
	} {
		require.Equal(t, name, RegName(off))
	}
}

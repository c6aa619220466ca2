package gmac4

import (
	"testing"

	"github.com/barewire/barewire/mac/internal/field"
)

func TestFields(t *testing.T) {
	for _, c := range []struct {
		what      string
		got, want uint32
	}{
		{"1536-byte buffers", field.Put(RxControlRBSZ, 1536), 0xC00},
		{"and back", field.Get(RxControlRBSZ, 0xC00|RxControlSR), 1536},
		{"burst length", field.Put(TxControlPBL, 8), 8 << 16},
		{"what does not fit is cut off", field.Put(TxFlowPT, 0x12FFFF), 0xFFFF0000},
		{"top bit", field.Put(ConfigARPEN, 1), 1 << 31},
	} {
		if c.got != c.want {
			t.Errorf("%s: %#x, want %#x", c.what, c.got, c.want)
		}
	}
}

func TestStrides(t *testing.T) {
	for _, c := range []struct{ got, want uint32 }{
		{ChanBase(0) + ChanStatus, 0x1160},
		{ChanBase(7) + ChanRxTail, 0x14A8},
		{QueueBase(0), 0xD00},
		{QueueBase(7) + RxQOpMode, 0xEF0},
		{AddrHigh(1), 0x308},
		{AddrLow(0), 0x304},
		{RxQDMAMap(5), 0xC34},
		{RxQDMAChannel(5), 0x0F00},
		{RxQEnable(1), 0x0C},
		{HashTable(7), 0x02C},
	} {
		if c.got != c.want {
			t.Errorf("%#x, want %#x", c.got, c.want)
		}
	}
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
		if reg, rps, tps := DebugState(c.ch); reg != c.reg || rps != c.rps || tps != c.tps {
			t.Errorf("channel %d: %#x %#x %#x", c.ch, reg, rps, tps)
		}
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
		want := Facts{Version: uint8(c.reg), IntNIE: c.nie, IntAIE: c.aie, Feature3: c.feature3}
		if f, ok := FactsFor(c.reg); !ok || f != want {
			t.Errorf("%s: %+v %v, want %+v", c.name, f, ok, want)
		}
		if name := VersionName(c.reg); name != c.name {
			t.Errorf("%#x is called %s, want %s", c.reg, name, c.name)
		}
	}
	for _, reg := range []uint32{0, 0xFFFFFFFF, 0x37, 0x60, 0x1076} {
		if _, ok := FactsFor(reg); ok {
			t.Errorf("%#x taken for a GMAC4 or GMAC5", reg)
		}
	}
}

func TestRegName(t *testing.T) {
	for off, want := range map[uint32]string{
		0x0000: "MAC_Config", 0x0014: "MAC_HashTable1", 0x0074: "MAC_Q1_TxFlow",
		0x0304: "MAC_Addr0_Low", 0x0310: "MAC_Addr2_High", 0x0D30: "MTL_Q0_RxQOpMode",
		0x11A0: "DMA_CH1_TxTail", 0x1160: "DMA_CH0_Status", 0x1008: "DMA_IntStatus",
		0x0200: "MAC_MDIOAddr", 0x1168: "0x1168", 0x1FFC: "0x1ffc", 0x0013: "0x0013",
	} {
		if got := RegName(off); got != want {
			t.Errorf("RegName(%#x) = %s, want %s", off, got, want)
		}
	}
}

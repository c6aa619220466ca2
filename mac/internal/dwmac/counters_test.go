package dwmac

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwregs"
)

func TestCounters(t *testing.T) {
	const base = 0x100
	all := ^uint32(0)
	regs := &fakeRegs{
		regs:        map[uint32]uint32{base + 0x80: 7, base + 0x84: all, base + 0x88: 2, base + 0x8C: 3},
		clearOnRead: map[uint32]uint32{base + 0x80: all, base + 0x84: all, base + 0x88: all, base + 0x8C: all},
	}
	k := NewCounters(regs, base, []Counter{
		{Off: 0x80, Into: func(c *mac.Counters) *uint64 { return &c.RXFrames }},
		{Off: 0x84, Wide: true, Into: func(c *mac.Counters) *uint64 { return &c.RXOctets }},
		{Off: 0x8C, Into: func(c *mac.Counters) *uint64 { return &c.RXFrames }},
	})
	k.Save()
	k.Save() // nothing new
	regs.regs[base+0x80] = 1
	k.Save()
	out := mac.Counters{RXFrames: 100}
	k.Take(&out)
	require.Equal(t, mac.Counters{RXFrames: 111, RXOctets: 2<<32 | 0xFFFFFFFF}, out)
	k.Take(&out)
	require.Equal(t, uint64(111), out.RXFrames, "taken once")
}

func TestStartMMC(t *testing.T) {
	regs := &fakeRegs{regs: map[uint32]uint32{}}
	StartMMC(regs, 0x700)
	require.Equal(t, []access{{0x70C, 0xFFFFFFFF}, {0x710, 0xFFFFFFFF}, {0x800, 0xFFFFFFFF}, {0x700, 5}}, regs.writes, "masks first")
	seen := map[uint32]bool{}
	for _, c := range MMC() {
		require.False(t, seen[c.Off], "counter %#x twice", c.Off)
		require.NotEmpty(t, dwregs.MMCName(c.Off))
		seen[c.Off] = true
	}
}

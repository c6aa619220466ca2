package ravb

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/etheravb"
	"github.com/barewire/barewire/pagepool"
)

// fakeBus has one register window and says what it is.
type fakeBus struct {
	mac.Bus // nil: what New must not use fails the test
	regs    mac.Registers
	names   []string
}

func (b *fakeBus) Name() string                         { return "fake0" }
func (b *fakeBus) Compatible() []string                 { return b.names }
func (b *fakeBus) Registers(int) (mac.Registers, error) { return b.regs, nil }

// constant reads the same everywhere, but for CSR where that is not 0.
type constant struct{ csr, all uint32 }

func (c constant) Read32(off uint32) uint32 {
	if off == etheravb.CSR && c.csr != 0 {
		return c.csr
	}
	return c.all
}
func (constant) Write32(uint32, uint32) {}

func TestVariants(t *testing.T) {
	for name, want := range map[string]string{
		"renesas,etheravb-rcar-gen2": "R-Car Gen2", "renesas,etheravb-r8a7790": "R-Car Gen2",
		"renesas,etheravb-rcar-gen3": "R-Car Gen3", "renesas,etheravb-r8a774a1": "R-Car Gen3",
		"renesas,etheravb-rcar-gen4": "R-Car Gen4", "renesas,etheravb-r8a779g0": "R-Car Gen4",
		"somebody,else": "R-Car Gen3",
	} {
		c, err := NewRCar(&fakeBus{regs: constant{csr: 1}, names: []string{name}})
		require.NoError(t, err)
		require.Equal(t, want, c.Info().Version, name)
		require.Equal(t, "ravb-rcar", c.Info().Core)
		if name != "somebody,else" {
			require.Contains(t, RCar().Compatible, name)
		}
	}
	c, err := NewGbEth(&fakeBus{regs: constant{csr: 4}})
	require.NoError(t, err)
	require.Equal(t, mac.Info{Core: "ravb-gbeth", Version: "RZ/G2L"}, mac.Info{Core: c.Info().Core, Version: c.Info().Version})
	for _, name := range GbEth().Compatible {
		require.False(t, slices.Contains(RCar().Compatible, name))
	}
}

// wired is a bus that knows the PHY interface.
type wired struct {
	*fakeBus
	mode string
}

func (w wired) Wiring() mac.Wiring { return mac.Wiring{PHYMode: w.mode} }

func TestPHYInterface(t *testing.T) {
	for mode, want := range map[string][2]uint32{
		"mii": {0, 0x03E80002}, "rgmii-id": {1, 0x03E80000}, "": {1, 0x03E80000},
	} {
		c, err := NewGbEth(wired{&fakeBus{regs: constant{csr: 1}}, mode})
		require.NoError(t, err)
		require.Equal(t, want, [2]uint32{c.board.cxr31, c.board.cxr35}, mode)
	}
}

func TestNoAVBDMAC(t *testing.T) {
	for csr, want := range map[uint32]error{
		0xFFFFFFFF: mac.ErrNoDevice, 3: mac.ErrUnsupported, 0x100: mac.ErrUnsupported, 0x1037: mac.ErrUnsupported,
	} {
		_, err := NewRCar(&fakeBus{regs: constant{csr: csr}})
		require.ErrorIs(t, err, want, "CSR %#x", csr)
	}
	_, err := NewGbEth(&fakeBus{regs: constant{}})
	require.ErrorIs(t, err, mac.ErrNoDevice)
}

func TestRefusedRings(t *testing.T) {
	c, err := NewRCar(&fakeBus{regs: constant{csr: 1}})
	require.NoError(t, err)
	l := c.Info().Ring
	desc := pagepool.NewHeap(l.RXBytes(16), 0x1000_0000)
	for _, err := range []error{
		second(c.NewRX(2, desc, 16, 1024)), second(c.NewRX(0, desc, 3, 1024)), second(c.NewRX(0, desc, 17, 1024)),
		second(c.NewRX(0, desc, 16, 1000)), second(c.NewRX(0, desc, 16, 4096)),
		second(c.NewRX(0, pagepool.NewHeap(l.RXBytes(16), 0xFFFF_FF00), 16, 1024)),
		second(c.NewTX(-1, desc, 16)), second(c.NewTX(0, desc, maxSlots+1)),
		c.Start(),
		c.Configure(mac.Setup{RXQueues: 3, TXQueues: 1, MTU: 1500, BufferSize: 2048}),
		c.Configure(mac.Setup{RXQueues: 1, TXQueues: 1, MTU: 1500, BufferSize: 2000}),
		c.Configure(mac.Setup{RXQueues: 1, TXQueues: 1, MTU: 2026, BufferSize: 2048}),
	} {
		require.ErrorIs(t, err, mac.ErrConfig)
	}
	require.ErrorIs(t, c.Configure(mac.Setup{RXQueues: 1, TXQueues: 1, MTU: 1500, BufferSize: 2048, TXChecksum: true}), mac.ErrUnsupported)
	_, err = c.SetWatchdog(0, 100)
	require.ErrorIs(t, err, mac.ErrUnsupported)
	require.Error(t, c.SetAddress(mac.Broadcast))
}

func second[T any](_ T, err error) error { return err }

// FuzzRegisters: registers may read anything at any time, and every call ends.
func FuzzRegisters(f *testing.F) {
	f.Add([]byte{1, 0xFF, 0, 4, 2, 1}, true)
	f.Add([]byte{0xFF, 0xFF, 0xFF}, false)
	f.Fuzz(func(t *testing.T, values []byte, toe bool) {
		synctest.Test(t, func(t *testing.T) {
			open := NewRCar
			if toe {
				open = NewGbEth
			}
			c, err := open(&fakeBus{regs: &scripted{values: values}, names: []string{"renesas,etheravb-rcar-gen2"}})
			if err != nil {
				return
			}
			_ = c.Reset(context.Background())
			l := c.Info().Ring
			_, err = c.NewRX(0, pagepool.NewHeap(l.RXBytes(16), 0x1000_0000), 16, 2048)
			require.NoError(t, err)
			_, err = c.NewTX(0, pagepool.NewHeap(l.TXBytes(16), 0x2000_0000), 16)
			require.NoError(t, err)
			require.NoError(t, c.Configure(mac.Setup{RXQueues: 1, TXQueues: 1, MTU: 1500, BufferSize: 2048, RXChecksum: true}))
			_ = c.Start()
			_ = c.SetLink(mac.Link{Up: true, Speed: 1000, FullDuplex: true})
			for range 8 {
				c.Interrupt()
				c.Ack(0)
				c.Unmask(0)
				c.UnmaskTX(0)
			}
			var counters mac.Counters
			c.Counters(&counters)
			_, _ = c.MDIO().Read(1, 1)
			_ = c.Stop()
			_ = c.Reset(context.Background())
		})
	})
}

// scripted reads what the script says, over and over.
type scripted struct {
	values []byte
	at     int
}

func (s *scripted) Read32(uint32) uint32 {
	if len(s.values) == 0 {
		return 1
	}
	v := uint32(s.values[s.at%len(s.values)])
	s.at++
	if v == 0xFF {
		return 0xFFFFFFFF
	}
	return v | v<<12
}

func (s *scripted) Write32(uint32, uint32) {}

package phy_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	simbus "github.com/barewire/barewire/mac/bus/sim"
	"github.com/barewire/barewire/mac/dwmac4"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/mac/phy"
	core "github.com/barewire/barewire/mac/sim/dwmac4"
	model "github.com/barewire/barewire/mac/sim/phy"
	"github.com/barewire/barewire/ring"
)

// board is a GMAC5 with a PHY: driver on model on both sides of MDIO.
type board struct {
	*mac.Device
	t     *testing.T
	mac   *core.Model
	cable *model.PHY
	sent  int
	log   bytes.Buffer
	heard []string
}

// onBoard runs f in a bubble with a started device, which follows the PHY.
func onBoard(t *testing.T, cfg core.Config, o phy.Options, f func(b *board)) {
	synctest.Test(t, func(t *testing.T) {
		cfg.Inline = true
		b := &board{t: t, mac: core.New(cfg)}
		b.cable = b.mac.PHY()
		b.cable.Unplug()
		b.mac.OnTransmit(func([]byte) { b.sent++ })
		dev, err := dwmac4.Open(t.Context(), simbus.New(b.mac, nil), &mac.Config{
			RXRing: 16, TXRing: 16, PHY: phy.At(o), Logger: slog.New(slog.NewTextHandler(&b.log, nil)),
		})
		require.NoError(t, err)
		b.Device = dev
		dev.OnLink(func(l mac.Link) { b.heard = append(b.heard, l.String()) })
		require.NoError(t, dev.Start())
		b.expect("down")
		f(b)
		require.NoError(t, dev.Close())
		require.Empty(t, b.mac.Violations().List())
		_, err = dev.MDIO().Read(1, 2)
		require.ErrorIs(t, err, mac.ErrClosed)
	})
}

// expect waits for the next look at the PHY. want is what the device says of its
// link, and what frames prove of it.
func (b *board) expect(want string) {
	b.t.Helper()
	pass(time.Second)
	require.Equal(b.t, want, b.Link().String())
	before, q := b.sent, b.Queues()[0]
	tx := q.LockTX()
	require.Equal(b.t, b.Link().Up, tx != nil, "frames are taken when the link is up")
	if tx == nil {
		return
	}
	require.NotNil(b.t, tx.Reserve(60))
	tx.Commit(ring.TXFrame{})
	q.FlushTX()
	q.UnlockTX()
	require.Equal(b.t, before+1, b.sent, "the MAC runs at the speed of the wire")
	require.Equal(b.t, b.Link().RXPause, b.mac.Read32(gmac4.MACRxFlow)&gmac4.RxFlowRFE != 0)
	require.Equal(b.t, b.Link().TXPause, b.mac.Read32(gmac4.TxFlow(0))&gmac4.TxFlowTFE != 0)
}

func TestFromTheCableToTheDevice(t *testing.T) {
	onBoard(t, core.Config{PHYAddress: 7}, phy.Options{Address: phy.Scan}, func(b *board) {
		p := b.PHY().(*phy.PHY)
		require.Equal(t, 7, p.Address())

		b.cable.Plug(model.Partner{Modes: phy.UpTo1000, Pause: true})
		b.expect("up 1000 Mb/s full duplex pause rx/tx")
		b.cable.Unplug()
		b.expect("down")
		b.cable.Plug(model.Partner{Modes: phy.UpTo100, AsymPause: true})
		b.expect("up 100 Mb/s full duplex pause rx")

		// Another partner within a second, and less to offer: down in between.
		b.cable.Plug(model.Partner{Modes: phy.Mode10Half})
		b.expect("up 10 Mb/s half duplex")
		b.cable.Plug(model.Partner{Modes: phy.UpTo1000, Pause: true, AsymPause: true})
		b.expect("up 1000 Mb/s full duplex pause rx/tx")
		require.NoError(t, p.Negotiate(phy.Mode100Full, phy.PauseTransmit))
		b.expect("up 100 Mb/s full duplex pause tx")
		require.NoError(t, p.Force(phy.Mode10Full))
		b.expect("up 10 Mb/s full duplex")
		require.NoError(t, p.PowerDown())
		b.expect("down")
		require.NoError(t, p.PowerUp())
		b.expect("up 10 Mb/s full duplex")
		require.Equal(t, []string{
			"down", "up 1000 Mb/s full duplex pause rx/tx", "down", "up 100 Mb/s full duplex pause rx",
			"down", "up 10 Mb/s half duplex", "down", "up 1000 Mb/s full duplex pause rx/tx",
			"down", "up 100 Mb/s full duplex pause tx", "down", "up 10 Mb/s full duplex", "down", "up 10 Mb/s full duplex",
		}, b.heard)
	})
}

// TestMDIOLostInOperation: the port stays busy, the PHY goes and comes back.
func TestMDIOLostInOperation(t *testing.T) {
	onBoard(t, core.Config{}, phy.Options{Address: 1, Modes: phy.UpTo100}, func(b *board) {
		const up = "up 100 Mb/s full duplex pause rx/tx"
		b.cable.Plug(model.Partner{Modes: phy.UpTo1000, Pause: true})
		b.expect(up)
		b.mac.MDIO().Break(errBus)
		start := time.Now()
		_, err := b.MDIO().Read(1, 2)
		require.ErrorContains(t, err, "still busy")
		require.Less(t, time.Since(start), 50*time.Millisecond)
		for range 3 {
			b.expect("down")
		}
		b.mac.MDIO().Break(nil)
		b.expect(up)

		b.mac.MDIO().Attach(1, nil)
		b.expect("down")
		b.expect("down")
		b.cable.PowerCycle() // it comes back with all it can do
		require.Equal(t, 1000, b.cable.Link().Speed)
		b.mac.MDIO().Attach(1, b.cable)
		pass(time.Second)
		b.expect(up)
		require.EqualValues(t, 5, b.Snapshot().PHYErrors)
		require.Equal(t, 2, strings.Count(b.log.String(), "PHY does not say"), "once each: %s", b.log.String())
	})
}

// TestNegotiationLeavesTheMACOff: no frame leaves before both ends have agreed.
func TestNegotiationLeavesTheMACOff(t *testing.T) {
	onBoard(t, core.Config{PHY: model.Config{Negotiation: 3 * time.Second}}, phy.Options{Address: 1}, func(b *board) {
		b.cable.Plug(model.Partner{Modes: phy.UpTo1000})
		for range 2 {
			b.expect("down")
			require.Zero(t, b.mac.Read32(gmac4.MACConfig)&(gmac4.ConfigTE|gmac4.ConfigRE))
		}
		pass(time.Second)
		b.expect("up 1000 Mb/s full duplex")
	})
}

func TestNoPHYNoDevice(t *testing.T) {
	for name, cfg := range map[string]core.Config{"no PHY": {PHYAddress: -1}, "another address": {PHYAddress: 3}} {
		t.Run(name, func(t *testing.T) {
			cfg.Inline = true
			_, err := dwmac4.Open(context.Background(), simbus.New(core.New(cfg), nil), &mac.Config{PHY: phy.At(phy.Options{Address: 1})})
			require.ErrorIs(t, err, mac.ErrNoDevice)
			require.ErrorContains(t, err, "open the PHY")
		})
	}
}

package phy_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/mii"
	"github.com/barewire/barewire/mac/phy"
	model "github.com/barewire/barewire/mac/sim/phy"
)

// open makes a PHY of the model cfg at address 1, negotiated for by the driver.
func open(t testing.TB, cfg model.Config, o phy.Options) (*phy.PHY, *model.PHY, *model.Bus) {
	t.Helper()
	m, bus := model.New(cfg), model.NewBus()
	bus.Attach(1, m)
	if o.Address == 0 {
		o.Address = 1
	}
	p, err := phy.Open(context.Background(), bus, o)
	require.NoError(t, err)
	return p, m, bus
}

// priority is annex 28B.3, the best first.
var priority = []struct {
	mode phy.Modes
	link mac.Link
}{
	{phy.Mode10000, mac.Link{Up: true, Speed: 10000, FullDuplex: true}}, {phy.Mode5000, mac.Link{Up: true, Speed: 5000, FullDuplex: true}},
	{phy.Mode2500, mac.Link{Up: true, Speed: 2500, FullDuplex: true}}, {phy.Mode1000Full, mac.Link{Up: true, Speed: 1000, FullDuplex: true}},
	{phy.Mode1000Half, mac.Link{Up: true, Speed: 1000}}, {phy.Mode100Full, mac.Link{Up: true, Speed: 100, FullDuplex: true}},
	{phy.Mode100Half, mac.Link{Up: true, Speed: 100}}, {phy.Mode10Full, mac.Link{Up: true, Speed: 10, FullDuplex: true}},
	{phy.Mode10Half, mac.Link{Up: true, Speed: 10}},
}

// pauses is table 28B-3, by what is offered and by the partner's bits.
var pauses = []struct {
	own         phy.Pause
	pause, asym bool // the partner's
	rx, tx      bool
}{
	{phy.PauseNone, false, false, false, false}, {phy.PauseNone, false, true, false, false},
	{phy.PauseNone, true, false, false, false}, {phy.PauseNone, true, true, false, false},
	{phy.PauseTransmit, false, false, false, false}, {phy.PauseTransmit, false, true, false, false},
	{phy.PauseTransmit, true, false, false, false}, {phy.PauseTransmit, true, true, false, true},
	{phy.PauseSymmetric, false, false, false, false}, {phy.PauseSymmetric, false, true, false, false},
	{phy.PauseSymmetric, true, false, true, true}, {phy.PauseSymmetric, true, true, true, true},
	{phy.PauseAny, false, false, false, false}, {phy.PauseAny, false, true, true, false},
	{phy.PauseAny, true, false, true, true}, {phy.PauseAny, true, true, true, true},
}

// agreed is what own and partner must come to with row of pauses.
func agreed(own, partner phy.Modes, row int) mac.Link {
	for _, p := range priority {
		if own&partner&p.mode != 0 {
			l := p.link
			if l.FullDuplex {
				l.RXPause, l.TXPause = pauses[row].rx, pauses[row].tx
			}
			return l
		}
	}
	return mac.Link{}
}

// TestEveryAgreement goes through all that two gigabit ends can offer each other:
// 63 sets of modes by 64 by 16 of pause.
func TestEveryAgreement(t *testing.T) {
	p, m, _ := open(t, model.Config{}, phy.Options{})
	require.Equal(t, phy.UpTo1000|phy.Mode1000Half, p.Modes())
	cases := 0
	for own := phy.Modes(1); own < phy.Mode2500; own++ {
		for row, pause := range pauses {
			require.NoError(t, p.Negotiate(own, pause.own))
			for partner := phy.Modes(0); partner < phy.Mode2500; partner++ {
				m.Plug(model.Partner{Modes: partner, Pause: pause.pause, AsymPause: pause.asym})
				want := agreed(own, partner, row)
				p.Link() // that the old one is gone
				got, err := p.Link()
				if err != nil || got != want || m.Link() != want {
					t.Fatalf("own %v, partner %v, pause %+v: %v, %v; the model %v; want %v", own, partner, pause, got, err, m.Link(), want)
				}
				cases++
			}
		}
	}
	require.Equal(t, 63*64*16, cases)
}

// TestMultigigabitAgreement takes sets at random, over registers 13 and 14.
func TestMultigigabitAgreement(t *testing.T) {
	p, m, _ := open(t, model.Config{Modes: mii.AllModes}, phy.Options{})
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		own, partner, row := phy.Modes(1+random.IntN(int(mii.AllModes))), phy.Modes(random.IntN(int(mii.AllModes)+1)), random.IntN(len(pauses))
		require.NoError(t, p.Negotiate(own, pauses[row].own))
		m.Plug(model.Partner{Modes: partner, Pause: pauses[row].pause, AsymPause: pauses[row].asym})
		p.Link()
		got, err := p.Link()
		require.NoError(t, err)
		require.Equal(t, agreed(own, partner, row), got, "own %v, partner %v", own, partner)
		require.Equal(t, got, m.Link())
	}
}

// A partner that does not negotiate is taken for half duplex, as it must be.
func TestParallelDetection(t *testing.T) {
	p, m, _ := open(t, model.Config{}, phy.Options{})
	for mode, want := range map[phy.Modes]mac.Link{
		phy.Mode100Full: {Up: true, Speed: 100}, phy.Mode100Half: {Up: true, Speed: 100}, phy.Mode10Full: {Up: true, Speed: 10},
	} {
		m.Plug(model.Partner{Modes: mode, Forced: true, Pause: true})
		p.Link()
		got, err := p.Link()
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, want, m.Link())
	}
}

func TestForcedModes(t *testing.T) {
	p, m, _ := open(t, model.Config{}, phy.Options{Modes: phy.Mode10Half, Force: true})
	m.Plug(model.Partner{Modes: phy.UpTo1000, Pause: true})
	link := func() mac.Link {
		p.Link()
		l, err := p.Link()
		require.NoError(t, err)
		require.Equal(t, m.Link(), l)
		return l
	}
	require.Equal(t, mac.Link{Up: true, Speed: 10}, link())
	for _, c := range priority[5:] {
		require.NoError(t, p.Force(c.mode))
		require.Equal(t, c.link, link())
	}
	require.ErrorIs(t, p.Restart(), mac.ErrConfig)
	for _, bad := range []phy.Modes{0, phy.Mode1000Full, phy.UpTo100, phy.Mode2500, 1 << 15} {
		require.ErrorIs(t, p.Force(bad), mac.ErrConfig, "%v", bad)
	}
	require.Equal(t, mac.Link{Up: true, Speed: 10}, link(), "refused: nothing has changed")
	require.NoError(t, p.Negotiate(phy.Mode1000Full, phy.PauseNone))
	require.Equal(t, mac.Link{Up: true, Speed: 1000, FullDuplex: true}, link(), "the way to one fast mode")
	require.ErrorIs(t, p.Negotiate(phy.Mode10000, 0), mac.ErrConfig)
	require.ErrorIs(t, p.Negotiate(0, 9), mac.ErrConfig)
}

// A PHY of clause 45 has all but 1000BASE-T.
func TestClause45Alone(t *testing.T) {
	p, m, bus := open(t, model.Config{Modes: mii.AllModes, NoClause22: true, EEE: true}, phy.Options{Address: phy.Scan, Reset: true})
	require.Equal(t, mii.AllModes, p.Modes()|phy.Mode1000Full|phy.Mode1000Half)
	link := func(partner phy.Modes) (mac.Link, error) {
		m.Plug(model.Partner{Modes: partner, Pause: true})
		p.Link()
		return p.Link()
	}
	for _, c := range priority {
		want := c.link
		if want.RXPause = want.FullDuplex; want.FullDuplex {
			want.TXPause = true
		}
		got, err := link(c.mode)
		if c.link.Speed == 1000 {
			require.ErrorIs(t, err, mac.ErrUnsupported)
			want = mac.Link{}
		} else {
			require.NoError(t, err)
		}
		require.Equal(t, want, got)
	}
	require.NoError(t, p.Negotiate(phy.Mode2500, phy.PauseNone))
	got, err := link(phy.Mode2500 | phy.Mode10000)
	require.NoError(t, err)
	require.Equal(t, mac.Link{Up: true, Speed: 2500, FullDuplex: true}, got)
	require.ErrorIs(t, p.Force(phy.Mode100Full), mac.ErrConfig)
	require.NoError(t, p.PowerDown())
	require.False(t, m.Link().Up)
	require.NoError(t, p.PowerUp())
	require.True(t, m.Link().Up)
	eee, err := p.Read45(mii.DevAN, mii.EEEAdvertise)
	require.NoError(t, err)
	require.Zero(t, eee)
	require.Zero(t, p.Counters().Restored)

	bus.Clause22Only()
	_, err = phy.Open(context.Background(), bus, phy.Options{Address: phy.Scan})
	require.ErrorIs(t, err, mac.ErrNoDevice)
}

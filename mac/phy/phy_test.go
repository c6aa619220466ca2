package phy_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/mii"
	"github.com/barewire/barewire/mac/phy"
	model "github.com/barewire/barewire/mac/sim/phy"
)

var (
	gigabit = mac.Link{Up: true, Speed: 1000, FullDuplex: true}
	fast    = mac.Link{Up: true, Speed: 100, FullDuplex: true}
)

// states reads the link n times.
func states(t *testing.T, p *phy.PHY, n int) (got []mac.Link) {
	t.Helper()
	for range n {
		l, err := p.Link()
		require.NoError(t, err)
		got = append(got, l)
	}
	return got
}

// TestReset: it is not done unasked, takes what it takes, and no longer than the
// standard allows.
func TestReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, m := model.NewBus(), model.New(model.Config{Reset: 400 * time.Millisecond})
		bus.Attach(1, m)
		const vendor = 0x1b
		m.Write(vendor, 0x1234)
		_, err := phy.Open(t.Context(), bus, phy.Options{Address: 1})
		require.NoError(t, err)
		require.EqualValues(t, 0x1234, m.Read(vendor), "RGMII delays, say, are left alone")

		start := time.Now()
		var order []uint16
		setup := func(p *phy.PHY) error {
			v, err := p.Read(vendor)
			order = append(order, v, m.Read(mii.ANAR))
			require.NoError(t, p.Write(vendor, 0x5678))
			return err
		}
		_, err = phy.Open(t.Context(), bus, phy.Options{Address: 1, Reset: true, Setup: setup})
		require.NoError(t, err)
		require.WithinDuration(t, start.Add(400*time.Millisecond), time.Now(), 10*time.Millisecond)
		require.Equal(t, []uint16{0, 0x01e1}, order, "Setup comes after the reset and before negotiation")
		require.EqualValues(t, 0x5678, m.Read(vendor))
		_, err = phy.Open(t.Context(), bus, phy.Options{Address: 1, Setup: func(*phy.PHY) error { return errBus }})
		require.ErrorIs(t, err, errBus)

		m.BreakReset(true)
		start = time.Now()
		_, err = phy.Open(t.Context(), bus, phy.Options{Address: 1, Reset: true})
		require.ErrorIs(t, err, mac.ErrReset)
		require.ErrorContains(t, err, "PHY reset")
		require.Less(t, time.Since(start), time.Second)
		m.PowerCycle()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = phy.Open(ctx, bus, phy.Options{Address: 1, Reset: true})
		require.ErrorIs(t, err, context.Canceled)
	})
}

// A PHY that is powered down, isolated, or both, as a warm reboot may leave it, is
// woken; one whose link is up as it should be keeps it.
func TestOpenWakesAndLeavesAlone(t *testing.T) {
	for _, cfg := range []model.Config{{PoweredDown: true}, {Isolated: true}, {PoweredDown: true, Isolated: true, Modes: phy.UpTo100, NoMMD: true}} {
		m, bus := model.New(cfg), model.NewBus()
		bus.Attach(1, m)
		m.Plug(model.Partner{Modes: phy.UpTo1000})
		require.False(t, m.Link().Up)
		_, err := phy.Open(context.Background(), bus, phy.Options{Address: 1})
		require.NoError(t, err)
		require.True(t, m.Link().Up)

		m.OnLink(func(l mac.Link) { t.Fatalf("the link is touched: %v", l) })
		p, err := phy.Open(context.Background(), bus, phy.Options{Address: 1})
		require.NoError(t, err)
		require.Zero(t, m.Read(mii.BMCR)&mii.BMCRANRestart)
		require.True(t, states(t, p, 1)[0].Up)
	}
}

// What the MAC cannot do with it is not offered.
func TestAdvertisement(t *testing.T) {
	_, m, _ := open(t, model.Config{EEE: true}, phy.Options{})
	require.EqualValues(t, 0x0de1, m.Read(mii.ANAR))
	require.EqualValues(t, mii.GBCRFull, m.Read(mii.GBCR), "no half duplex at 1000 Mbit/s")
	require.Zero(t, m.Read45(mii.DevAN, mii.EEEAdvertise), "no energy-efficient Ethernet")
	_, m, _ = open(t, model.Config{}, phy.Options{Modes: phy.Mode100Full | phy.Mode10Full, Pause: phy.PauseNone})
	require.EqualValues(t, 0x0141, m.Read(mii.ANAR))
	require.Zero(t, m.Read(mii.GBCR))

	bus := model.NewBus()
	bus.Attach(1, model.New(model.Config{Modes: phy.UpTo100}))
	_, err := phy.Open(context.Background(), bus, phy.Options{Address: 1, Modes: phy.Mode1000Full})
	require.ErrorIs(t, err, mac.ErrConfig)
	require.ErrorContains(t, err, "none of the modes 1000/full: the PHY can do 10/half 10/full 100/half 100/full")
}

// TestFlaps: a link that was lost is down once, however short that was, and then
// it is what it has become.
func TestFlaps(t *testing.T) {
	p, m, bus := open(t, model.Config{}, phy.Options{Pause: phy.PauseNone})
	require.Equal(t, []mac.Link{{}, {}}, states(t, p, 2))
	m.SetLink(gigabit)
	require.Equal(t, []mac.Link{gigabit, gigabit}, states(t, p, 2))
	m.SetLink(mac.Link{})
	m.SetLink(fast)
	require.Equal(t, []mac.Link{{}, fast, fast}, states(t, p, 3))
	m.SetLink(mac.Link{})
	require.Equal(t, []mac.Link{{}, {}}, states(t, p, 2))
	m.SetLink(fast)
	m.SetLink(mac.Link{})
	m.SetLink(gigabit)
	require.Equal(t, []mac.Link{gigabit}, states(t, p, 1), "it was down before")

	// Somebody else's read of the status takes the lost link with it.
	m.SetLink(fast)
	v, err := p.Read(mii.BMSR)
	require.NoError(t, err)
	require.Zero(t, v&mii.BMSRLink)
	require.Equal(t, []mac.Link{{}, fast}, states(t, p, 2))
	require.Equal(t, phy.Counters{Drops: 3}, p.Counters())

	before := bus.Accesses()
	states(t, p, 1)
	require.EqualValues(t, 3, bus.Accesses()-before, "the cost of a link that stays up")
}

// pass lets time pass, with all that is due by then.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// TestNegotiationTakesTime: no link before it is over (B053).
func TestNegotiationTakesTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, m, _ := open(t, model.Config{Negotiation: 3 * time.Second}, phy.Options{Pause: phy.PauseNone})
		m.SetLink(gigabit)
		time.Sleep(2999 * time.Millisecond)
		require.Equal(t, []mac.Link{{}, {}}, states(t, p, 2))
		pass(time.Millisecond)
		require.Equal(t, []mac.Link{gigabit}, states(t, p, 1))
		require.NoError(t, p.Restart())
		require.Equal(t, []mac.Link{{}, {}}, states(t, p, 2))
		pass(3 * time.Second)
		require.Equal(t, []mac.Link{gigabit}, states(t, p, 1))

		require.NoError(t, p.PowerDown())
		time.Sleep(time.Minute)
		require.Equal(t, []mac.Link{{}, {}}, states(t, p, 2))
		require.ErrorIs(t, p.Restart(), mac.ErrConfig)
		require.NoError(t, p.PowerUp())
		pass(3 * time.Second)
		require.Equal(t, []mac.Link{gigabit}, states(t, p, 1))
		require.Zero(t, p.Counters().Restored)
	})
}

// TestLostBusAndLostRegisters: errors are down, and what the PHY has forgotten
// meanwhile is set again.
func TestLostBusAndLostRegisters(t *testing.T) {
	setups := 0
	p, m, bus := open(t, model.Config{}, phy.Options{Modes: phy.Mode100Full, Setup: func(*phy.PHY) error { setups++; return nil }})
	partner := model.Partner{Modes: phy.UpTo1000, Pause: true}
	m.Plug(partner)
	link := mac.Link{Up: true, Speed: 100, FullDuplex: true, RXPause: true, TXPause: true}
	require.Equal(t, []mac.Link{link}, states(t, p, 1))

	fails := func(want error) {
		t.Helper()
		for range 3 {
			l, err := p.Link()
			require.ErrorIs(t, err, want)
			require.Equal(t, mac.Link{}, l)
		}
	}
	bus.Break(errBus)
	fails(errBus)
	require.ErrorIs(t, p.Restart(), errBus)
	require.ErrorIs(t, p.PowerDown(), errBus)
	require.ErrorIs(t, p.PowerUp(), errBus)
	bus.Break(nil)
	require.Equal(t, []mac.Link{link}, states(t, p, 1), "it has lost nothing")
	require.Equal(t, phy.Counters{Drops: 1, Errors: 3}, p.Counters())
	require.Equal(t, 2, setups)

	for _, absent := range []model.Absent{model.Ones, model.Zeros, model.Stale} {
		bus.Attach(1, nil)
		bus.SetAbsent(absent)
		fails(mac.ErrNoDevice)
		m.PowerCycle()
		bus.Attach(1, m)
		require.Equal(t, []mac.Link{{}, link}, states(t, p, 2))
	}
	require.Equal(t, phy.Counters{Drops: 4, Errors: 12, Restored: 3}, p.Counters())

	m.PowerCycle() // between two looks
	require.Equal(t, gigabit.Speed, m.Link().Speed, "it does what it likes")
	require.Equal(t, []mac.Link{{}, link}, states(t, p, 2))
	m.Write(mii.BMCR, mii.BMCRANEnable|mii.BMCRIsolate)
	require.Equal(t, []mac.Link{{}, link}, states(t, p, 2))
	require.Equal(t, phy.Counters{Drops: 6, Errors: 12, Restored: 5}, p.Counters())
	require.Equal(t, 7, setups)
}

// TestRegistersThatTakeNothing: a PHY that keeps none of what is written, as
// emulated ones do, is believed about the link and not set up for ever.
func TestRegistersThatTakeNothing(t *testing.T) {
	bus := registers{mii.BMCR: 0x1140, mii.BMSR: 0x796d, mii.PHYID1: 0x0362, mii.PHYID2: 0x5e6a, mii.ANAR: 0x01e1, mii.ANLPAR: 0x45e1, mii.GBCR: 0x0200, mii.GBSR: 0x0800, mii.ESR: 0x3000}
	p, err := phy.Open(context.Background(), &bus, phy.Options{Address: phy.Scan})
	require.NoError(t, err)
	require.Equal(t, []mac.Link{gigabit, gigabit}, states(t, p, 2))
	bus[mii.GBSR] |= mii.GBSRFault
	p.Read(mii.BMSR)
	bus[mii.BMSR] &^= mii.BMSRLink
	states(t, p, 1)
	bus[mii.BMSR] |= mii.BMSRLink
	require.Equal(t, []mac.Link{fast}, states(t, p, 1), "no master, no gigabit")
	require.Equal(t, phy.Counters{Drops: 1}, p.Counters())
	require.NoError(t, p.PowerDown())
	require.NoError(t, p.PowerUp())
	require.Equal(t, []mac.Link{fast}, states(t, p, 1))

	q, err := phy.Open(context.Background(), &bus, phy.Options{})
	require.NoError(t, err)
	bus[mii.BMSR] &^= mii.BMSRANDone
	require.Equal(t, []mac.Link{{}}, states(t, q, 1), "a link before negotiation is over")
}

// registers is a PHY at address 0 of nothing but registers that cannot be written.
type registers [32]uint16

func (r *registers) Read(address, reg int) (uint16, error) {
	if address != 0 {
		return 0, nil
	}
	return r[reg], nil
}

func (r *registers) Write(int, int, uint16) error            { return nil }
func (r *registers) Read45(int, int, uint16) (uint16, error) { return 0, mac.ErrUnsupported }
func (r *registers) Write45(int, int, uint16, uint16) error  { return mac.ErrUnsupported }

// FuzzLink: whatever registers read, nothing hangs, and a link is one that exists.
func FuzzLink(f *testing.F) {
	f.Add([]byte{0x11, 0x40, 0x79, 0x6d, 0x03, 0x62, 0x5e, 0x6a, 0x01, 0xe1, 0x45, 0xe1}, false)
	f.Add([]byte{0xff, 0xff}, true)
	f.Fuzz(func(t *testing.T, values []byte, quiet bool) {
		bus := &noise{values: values, quiet: quiet}
		phy.ScanBus(bus)
		p, err := phy.Open(context.Background(), bus, phy.Options{Address: phy.Scan})
		if err != nil {
			return
		}
		for range 8 {
			l, err := p.Link()
			exists := mii.ModeOf(l.Speed, l.FullDuplex)&p.Modes() != 0
			if l.Up && (err != nil || !exists || (l.RXPause || l.TXPause) && !l.FullDuplex) || !l.Up && l != (mac.Link{}) {
				t.Fatalf("link %v, %v", l, err)
			}
		}
	})
}

// noise reads one value after the other, each for its own register when quiet.
type noise struct {
	values []byte
	quiet  bool
	at     int
}

func (n *noise) next(reg int) (uint16, error) {
	if len(n.values) < 2 {
		return 0xffff, nil
	}
	if n.quiet {
		n.at = 2 * reg
	} else {
		n.at += 2
	}
	i := n.at % (len(n.values) &^ 1)
	return uint16(n.values[i])<<8 | uint16(n.values[i+1]), nil
}

func (n *noise) Read(_, reg int) (uint16, error)               { return n.next(reg) }
func (n *noise) Read45(_, dev int, reg uint16) (uint16, error) { return n.next(dev*7 + int(reg)) }
func (n *noise) Write(int, int, uint16) error                  { return nil }
func (n *noise) Write45(int, int, uint16, uint16) error        { return nil }

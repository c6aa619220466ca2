package mac

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// fakePHY says what the test wants.
type fakePHY struct {
	mu    sync.Mutex
	link  Link
	err   error
	looks int
	flap  bool          // down once, then as link says
	hold  chan struct{} // Link waits for it
}

func (p *fakePHY) set(l Link, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.link, p.err = l, err
}

func (p *fakePHY) Link() (Link, error) {
	p.mu.Lock()
	p.looks++
	l, err, hold := p.link, p.err, p.hold
	if p.flap {
		l, p.flap = Link{}, false
	}
	p.mu.Unlock()
	if hold != nil {
		<-hold
	}
	return l, err
}

func (p *fakePHY) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.looks
}

// open is a Config.PHY.
func (p *fakePHY) open(_ context.Context, bus MDIO, _ Wiring) (PHY, error) {
	_, err := bus.Read(1, 2)
	return p, err
}

// fakeMDIO notes its calls in the core.
type fakeMDIO struct{ core *fakeCore }

func (m fakeMDIO) Read(phy, reg int) (uint16, error) {
	return 7, m.core.call(fmt.Sprintf("mdio %d.%d", phy, reg))
}
func (m fakeMDIO) Write(phy, reg int, _ uint16) error              { return m.core.call("mdio") }
func (m fakeMDIO) Read45(phy, dev int, reg uint16) (uint16, error) { return 8, m.core.call("mdio") }
func (m fakeMDIO) Write45(phy, dev int, reg, _ uint16) error       { return m.core.call("mdio") }

// withMDIO gives the core an MDIO bus and takes its own view of the link.
func withMDIO(c *fakeCore, _ *fakeBus) { c.mdio, c.noLink = fakeMDIO{c}, true }

func phyConfig(p *fakePHY) *Config {
	c := small()
	c.PHY = p.open
	return c
}

func TestDeviceFollowsPHY(t *testing.T) {
	p := &fakePHY{}
	inBubble(t, phyConfig(p), func(t *testing.T, r *rig) {
		require.Same(t, p, r.PHY())
		require.False(t, r.Link().Up)
		require.False(t, r.canSend())
		require.Empty(t, r.core.log())
		var l listener
		r.OnLink(l.hear)
		looks := p.count()
		pass(10 * monitorPeriod)
		require.Equal(t, 10, p.count()-looks, "once a second")

		p.set(gigabit, nil)
		pass(monitorPeriod)
		require.True(t, r.canSend())
		require.Equal(t, []string{"SetLink " + gigabit.String()}, r.core.log())

		half := Link{Up: true, Speed: 10}
		p.set(half, nil)
		r.PollLink() // its interrupt
		synctest.Wait()
		require.Equal(t, half, r.Link())
		p.set(gigabit, nil)
		r.interrupt(Events{Link: true})
		synctest.Wait()
		require.Equal(t, []Link{{}, gigabit, half, gigabit}, l.heard())

		// A flap costs no second: it is looked at again at once.
		p.mu.Lock()
		p.flap = true
		p.mu.Unlock()
		r.PollLink()
		synctest.Wait()
		require.Equal(t, []Link{{}, gigabit, half, gigabit, {}, gigabit}, l.heard())
	}, withMDIO)
}

// A PHY that does not answer is a link that is down, said once.
func TestPHYThatDoesNotAnswer(t *testing.T) {
	p := &fakePHY{link: gigabit}
	inBubble(t, phyConfig(p), func(t *testing.T, r *rig) {
		require.True(t, r.Link().Up)
		for lap := 1; lap <= 2; lap++ {
			p.set(gigabit, errTest)
			pass(5 * monitorPeriod)
			require.Equal(t, Link{}, r.Link())
			require.False(t, r.canSend())
			require.Equal(t, lap, r.warnings())
			require.EqualValues(t, 5*lap, r.Snapshot().PHYErrors)
			p.set(gigabit, nil)
			pass(monitorPeriod)
			require.True(t, r.Link().Up)
		}
	}, withMDIO)
}

// A slow PHY holds up nobody: neither senders, nor who programs the device, nor
// its counters.
func TestSlowPHYHoldsUpNobody(t *testing.T) {
	p := &fakePHY{link: gigabit}
	inBubble(t, phyConfig(p), func(t *testing.T, r *rig) {
		hold := make(chan struct{})
		p.mu.Lock()
		p.hold = hold
		p.mu.Unlock()
		pass(monitorPeriod)
		looks := p.count()
		require.True(t, r.canSend())
		require.NoError(t, r.JoinGroup(groupA))
		require.NoError(t, r.Start())
		r.Snapshot()
		var l listener
		r.OnLink(l.hear)
		require.Equal(t, []Link{gigabit}, l.heard())
		require.Equal(t, looks, p.count(), "one at a time")
		close(hold)
	}, withMDIO)
}

// TestStartAsksNoPHY: Start may be called with a lock of the stack held.
func TestStartAsksNoPHY(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &fakePHY{link: gigabit, hold: make(chan struct{})}
		r := newRig(t, phyConfig(p), withMDIO)
		require.NoError(t, r.Start())
		require.False(t, r.Link().Up)
		close(p.hold)
		synctest.Wait()
		require.True(t, r.Link().Up)
		require.NoError(t, r.Close())
		require.Equal(t, Link{}, r.Link())
	})
}

// TestWhoSaysTheLink: what goes before what.
func TestWhoSaysTheLink(t *testing.T) {
	fixed := Link{Up: true, Speed: 100, FullDuplex: true}
	for name, c := range map[string]struct {
		fixed, fallback, knows, named bool
		asked                         bool
	}{
		"PHY alone":                  {asked: true},
		"PHY before the core":        {knows: true, asked: true},
		"the core before a fallback": {knows: true, fallback: true},
		"fallback":                   {fallback: true, asked: true},
		"fixed before all":           {fixed: true, knows: true, named: true},
		"named before the core":      {named: true, knows: true, fallback: true, asked: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := &fakePHY{link: gigabit}
			cfg := phyConfig(p)
			cfg.PHYFallback = c.fallback
			if c.fixed {
				cfg.Link = fixed
			}
			r := newRig(t, cfg, withMDIO, func(core *fakeCore, bus *fakeBus) {
				core.noLink = !c.knows
				if c.named {
					bus.wiring.PHYs = []int{1}
				}
			})
			require.Equal(t, c.asked, r.PHY() != nil)
			require.NoError(t, r.Close())
		})
	}
}

// TestPHYIsWokenForReset: a core that does not leave reset for want of the PHY's
// clock gets it, and a core that does not for another reason says both (B045).
func TestPHYIsWokenForReset(t *testing.T) {
	dead := fmt.Errorf("no clock: %w", ErrReset)
	r, err := tryRig(t, phyConfig(&fakePHY{}), withMDIO, func(c *fakeCore, _ *fakeBus) { c.failNext("Reset", 1, dead) })
	require.NoError(t, err)
	require.Equal(t, []string{"Reset", "mdio 1.2", "Reset", "NewRX"}, r.core.log()[:4], "the PHY once")
	require.NoError(t, r.Close())

	_, err = tryRig(t, phyConfig(&fakePHY{}), withMDIO, func(c *fakeCore, _ *fakeBus) { c.failNext("Reset", 2, dead) })
	require.ErrorIs(t, err, ErrReset)
	_, err = tryRig(t, phyConfig(&fakePHY{}), withMDIO, func(c *fakeCore, _ *fakeBus) {
		c.failNext("Reset", 1, dead)
		c.failNext("mdio 1.2", 1, errTest)
	})
	require.ErrorIs(t, err, ErrReset)
	require.ErrorIs(t, err, errTest)
	r, err = tryRig(t, phyConfig(&fakePHY{}), withMDIO, func(c *fakeCore, _ *fakeBus) { c.failNext("mdio 1.2", 1, errTest) })
	require.ErrorIs(t, err, errTest)
	require.ErrorContains(t, err, "open the PHY")
	require.NoError(t, r.bus.released())
	require.Equal(t, 1, r.bus.closed)
}

// TestMDIOEndsWithTheDevice: a PHY may be held longer than its device.
func TestMDIOEndsWithTheDevice(t *testing.T) {
	r := newRig(t, phyConfig(&fakePHY{}), withMDIO)
	bus := r.MDIO()
	v, err := bus.Read(3, 4)
	require.NoError(t, err)
	require.EqualValues(t, 7, v)
	v, err = bus.Read45(3, 4, 5)
	require.NoError(t, err)
	require.EqualValues(t, 8, v)
	require.NoError(t, bus.Write(3, 4, 5))
	require.NoError(t, bus.Write45(3, 4, 5, 6))
	require.Equal(t, []string{"mdio 3.4", "mdio", "mdio", "mdio"}, r.core.log())
	require.NoError(t, r.Close())
	r.core.log()
	_, err = bus.Read(3, 4)
	require.ErrorIs(t, err, ErrClosed)
	_, err = bus.Read45(3, 4, 5)
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorIs(t, bus.Write(3, 4, 5), ErrClosed)
	require.ErrorIs(t, bus.Write45(3, 4, 5, 6), ErrClosed)
	require.Empty(t, r.core.log(), "no register is touched any more")
	require.Nil(t, newRig(t, small()).MDIO(), "a core without")
}

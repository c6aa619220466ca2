package phy_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/mii"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/phy"
)

func TestPowerOn(t *testing.T) {
	p := phy.New(phy.Config{ID: 0x001cc916})
	for reg, want := range map[int]uint16{
		mii.BMCR: 0x1140, mii.BMSR: 0x7949, mii.PHYID1: 0x001c, mii.PHYID2: 0xc916, mii.ANAR: 0x01e1, mii.ANLPAR: 0,
		mii.GBCR: 0x0300, mii.GBSR: 0, mii.ESR: 0x3000,
	} {
		require.Equal(t, want, p.Read(reg), "register %d", reg)
	}
	fast := phy.New(phy.Config{Modes: phy.UpTo100, PoweredDown: true})
	require.EqualValues(t, 0x3900, fast.Read(mii.BMCR))
	require.EqualValues(t, 0x7849, fast.Read(mii.BMSR))
}

// A model of a MAC that knows its link tells it with SetLink.
func TestPartnerThatWantsOneThing(t *testing.T) {
	for _, c := range []struct {
		link             mac.Link
		partner, gigabit uint16
	}{
		{mac.Link{Up: true, Speed: 1000, FullDuplex: true, RXPause: true, TXPause: true}, 0x4401, 0x3800},
		{mac.Link{Up: true, Speed: 1000}, 0x4001, 0x3400},
		{mac.Link{Up: true, Speed: 100, FullDuplex: true, TXPause: true}, 0x4d01, 0},
		{mac.Link{Up: true, Speed: 10, RXPause: true}, 0x4821, 0},
	} {
		p := phy.New(phy.Config{})
		p.SetLink(c.link)
		require.Equal(t, []uint16{c.partner, c.gigabit}, []uint16{p.Read(mii.ANLPAR), p.Read(mii.GBSR)}, "%v", c.link)
		require.EqualValues(t, 0x796d, p.Read(mii.BMSR))
		got := p.Link()
		require.Equal(t, mac.Link{Up: true, Speed: c.link.Speed, FullDuplex: c.link.FullDuplex}, got, "no pause is offered in return")
		p.SetLink(mac.Link{})
		require.Equal(t, mac.Link{}, p.Link())
		require.EqualValues(t, 0x7949, p.Read(mii.BMSR))
	}
}

func TestLostLinkIsShownOnceInEachRegister(t *testing.T) {
	p := phy.New(phy.Config{})
	up := mac.Link{Up: true, Speed: 100, FullDuplex: true}
	p.SetLink(up)
	p.SetLink(mac.Link{})
	p.SetLink(up)
	require.Zero(t, p.Read(mii.BMSR)&mii.BMSRLink)
	require.NotZero(t, p.Read(mii.BMSR)&mii.BMSRLink)
	for _, dev := range []int{mii.DevPMA, mii.DevPCS, mii.DevAN} {
		require.Zero(t, p.Read45(dev, mii.Status1)&mii.Status1Link)
		require.NotZero(t, p.Read45(dev, mii.Status1)&mii.Status1Link)
	}
}

func TestControl(t *testing.T) {
	var heard []string
	p := phy.New(phy.Config{})
	p.OnLink(func(l mac.Link) { heard = append(heard, l.String()) })
	p.Plug(phy.Partner{Modes: phy.UpTo1000, Pause: true})
	p.Write(mii.BMCR, mii.BMCRANEnable|mii.BMCRPowerDown)
	p.Write(mii.BMCR, mii.BMCRANEnable|mii.BMCRIsolate)
	require.NotZero(t, p.Read(mii.BMSR)&mii.BMSRANDone, "an isolated PHY still negotiates")
	p.Write(mii.ANAR, mii.ANSelect802|mii.AN100Full|mii.ANPause)
	p.Write(mii.GBCR, 0)
	p.Write(mii.BMCR, mii.BMCRANEnable)
	p.Write(mii.BMCR, mii.BMCRANEnable|mii.BMCRANRestart)
	require.EqualValues(t, mii.BMCRANEnable, p.Read(mii.BMCR), "the restart bit clears itself")
	p.Write(mii.BMCR, mii.BMCRSpeed100)
	p.Write(mii.BMCR, mii.BMCRSpeed1000|mii.BMCRFull)
	p.Write(mii.BMCR, mii.BMCRFull)
	p.Plug(phy.Partner{Modes: phy.Mode100Full, Forced: true})
	p.Write(mii.BMCR, mii.BMCRReset)
	require.EqualValues(t, 0x1140, p.Read(mii.BMCR))
	require.EqualValues(t, 0x0300, p.Read(mii.GBCR))
	p.Unplug()
	require.Equal(t, []string{
		"up 1000 Mb/s full duplex", "down",
		"up 1000 Mb/s full duplex", "up 100 Mb/s full duplex pause rx/tx",
		"up 100 Mb/s half duplex", "down", "up 10 Mb/s full duplex",
		"down", "up 100 Mb/s half duplex", "down",
	}, heard)
}

func TestTimes(t *testing.T) {
	clock := sim.NewManualClock(time.Unix(0, 0))
	p := phy.New(phy.Config{Clock: clock, Negotiation: 3 * time.Second, Reset: 300 * time.Millisecond})
	p.Plug(phy.Partner{Modes: phy.UpTo1000})
	clock.Advance(2999 * time.Millisecond)
	require.False(t, p.Link().Up)
	p.Write(mii.BMCR, p.Read(mii.BMCR)|mii.BMCRANRestart)
	clock.Advance(2999 * time.Millisecond)
	require.False(t, p.Link().Up, "it began anew")
	clock.Advance(time.Millisecond)
	require.Equal(t, mac.Link{Up: true, Speed: 1000, FullDuplex: true}, p.Link())

	p.Write(mii.BMCR, mii.BMCRReset)
	require.False(t, p.Link().Up)
	require.NotZero(t, p.Read(mii.BMCR)&mii.BMCRReset)
	p.Write(mii.ANAR, 0x41)
	clock.Advance(300 * time.Millisecond)
	require.Zero(t, p.Read(mii.BMCR)&mii.BMCRReset)
	require.EqualValues(t, 0x1e1, p.Read(mii.ANAR), "what is written in a reset is lost")
	clock.Advance(3 * time.Second)
	require.True(t, p.Link().Up)

	p.BreakReset(true)
	p.Write(mii.BMCR, mii.BMCRReset)
	clock.Advance(time.Hour)
	require.NotZero(t, p.Read(mii.BMCR)&mii.BMCRReset)
	p.PowerCycle()
	require.Zero(t, p.Read(mii.BMCR)&mii.BMCRReset)
}

func TestClause45(t *testing.T) {
	p := phy.New(phy.Config{ID: 0x31c31c13, Modes: phy.UpTo1000 | phy.Mode2500 | phy.Mode10000, EEE: true})
	require.EqualValues(t, 0x8b, p.Read45(mii.DevPMA, mii.Devices1))
	require.EqualValues(t, 0x31c3, p.Read45(mii.DevAN, mii.ID1))
	require.EqualValues(t, 0x41a4, p.Read45(mii.DevPMA, mii.PMAExtAbility))
	require.EqualValues(t, 1, p.Read45(mii.DevPMA, mii.PMAMultiAbility))
	require.EqualValues(t, 6, p.Read45(mii.DevAN, mii.EEEAdvertise))
	require.EqualValues(t, 0xffff, p.Read45(2, 0), "a device that is not there")
	p.Plug(phy.Partner{Modes: phy.Mode5000 | phy.Mode2500 | phy.Mode1000Full, Pause: true})
	require.Equal(t, 2500, p.Link().Speed)
	require.EqualValues(t, mii.MGBTStatus2500|mii.MGBTStatus5000, p.Read45(mii.DevAN, mii.MGBTStatus))
	p.Write45(mii.DevAN, mii.MGBTControl, 0)
	p.Write45(mii.DevAN, mii.Control1, mii.ANControl1Enable|mii.ANControl1Again)
	require.Equal(t, 1000, p.Link().Speed)
	p.Write45(mii.DevPMA, mii.Control1, mii.Control1LowPower)
	require.False(t, p.Link().Up)
	require.EqualValues(t, 0x1940, p.Read(mii.BMCR))
	p.Write45(mii.DevPCS, mii.Control1, mii.Control1Reset)
	require.Equal(t, 2500, p.Link().Speed)

	// By way of clause 22.
	p.Write(mii.MMDC, mii.DevAN)
	p.Write(mii.MMDD, mii.EEEAdvertise)
	require.EqualValues(t, mii.EEEAdvertise, p.Read(mii.MMDD))
	p.Write(mii.MMDC, mii.MMDData|mii.DevAN)
	require.EqualValues(t, 6, p.Read(mii.MMDD))
	p.Write(mii.MMDD, 0)
	require.Zero(t, p.Read45(mii.DevAN, mii.EEEAdvertise))
}

func TestBus(t *testing.T) {
	b := phy.NewBus()
	p, only45, only22 := phy.New(phy.Config{}), phy.New(phy.Config{NoClause22: true}), phy.New(phy.Config{NoMMD: true})
	b.Attach(0, p)
	b.Attach(31, p)
	b.Attach(7, only45)
	b.Attach(8, only22)
	read := func(address, reg int) uint16 {
		v, err := b.Read(address, reg)
		require.NoError(t, err)
		return v
	}
	read45 := func(address int, reg uint16) uint16 {
		v, err := b.Read45(address, mii.DevPMA, reg)
		require.NoError(t, err)
		return v
	}
	require.EqualValues(t, 0x1234, read(0, mii.PHYID1))
	require.NoError(t, b.Write(0, mii.ANAR, 0x41))
	require.EqualValues(t, 0x41, read(31, mii.ANAR))
	for _, absent := range []struct {
		phy.Absent
		want uint16
	}{{phy.Ones, 0xffff}, {phy.Zeros, 0}, {phy.Stale, 0x1234}} {
		b.SetAbsent(absent.Absent)
		read(0, mii.PHYID1)
		for _, v := range []uint16{read(1, 2), read(7, 2), read45(8, 2), read45(9, 2)} {
			require.Equal(t, absent.want, v)
		}
	}
	require.EqualValues(t, 0x5670, read45(7, mii.ID2))
	b.Clause22Only()
	_, err := b.Read45(7, mii.DevPMA, 2)
	require.ErrorIs(t, err, mac.ErrUnsupported)
	broken := errors.New("busy")
	b.Break(broken)
	_, err = b.Read(0, 0)
	require.ErrorIs(t, err, broken)
	require.ErrorIs(t, b.Write(0, 0, 0), broken)
	b.Break(nil)
	require.EqualValues(t, 0x41, read(31, mii.ANAR))
	_, err = b.Read(32, 0)
	require.ErrorIs(t, err, mac.ErrConfig)
}

// FuzzRegisters: whatever is written, the PHY answers, and a link that is up has
// a speed that both ends can do.
func FuzzRegisters(f *testing.F) {
	f.Add([]byte{0, 0x90, 0, 4, 1, 0xe1}, uint16(0x3f))
	f.Fuzz(func(t *testing.T, script []byte, partner uint16) {
		p := phy.New(phy.Config{Modes: mii.AllModes})
		p.Plug(phy.Partner{Modes: phy.Modes(partner), Forced: partner&0x8000 != 0, Pause: partner&0x4000 != 0})
		for ; len(script) >= 3; script = script[3:] {
			p.Write(int(script[0]&31), uint16(script[1])<<8|uint16(script[2]))
			if script[0]&0x80 != 0 {
				p.Read(int(script[1] & 31))
			}
			if l := p.Link(); l.Up && (l.Speed == 0 || (l.RXPause || l.TXPause) && !l.FullDuplex) {
				t.Fatal(fmt.Sprint("link ", l))
			}
		}
	})
}

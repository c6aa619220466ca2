package mac

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"time"

	"github.com/barewire/barewire/ring"
)

// Config says how a device is set up. The zero value of every field, and a nil
// *Config, mean what the field's comment says.
type Config struct {
	// Name is the device's name in logs and statistics. Empty: the bus's name.
	Name string
	// Address is the station address. Zero: the one that the device tree assigns
	// (Wired), or else the one the core was left with, or a random locally
	// administered one when that is not usable.
	Address HardwareAddr
	// MTU is the largest packet in bytes without Ethernet header. 0: 1500.
	MTU int
	// MaxFrame is the longest frame accepted, in bytes with Ethernet header and VLAN
	// tags and without FCS. 0: what the MTU needs. More is for cores that receive longer
	// frames than they send (Info.MaxFrame).
	MaxFrame int
	// Queues is the number of receive and of transmit queues. 0: 1.
	Queues int
	// RXRing and TXRing are descriptors per queue. 0: 512, or what the core can
	// do.
	RXRing, TXRing int
	// PageSize is the size of a receive page in bytes. Frames longer than that
	// take several. 0: one page per frame of the configured MTU, 2048 bytes at
	// least.
	PageSize int
	// Pages is the number of receive pages per queue. 0: twice RXRing, so that as
	// many can be lent to the stack as are posted.
	Pages int
	// MaxLent bounds the pages lent to the stack per queue; beyond it frames are
	// copied. 0: as many as leave the ring full.
	MaxLent int
	// CopyBreak (rx-copybreak) is the frame length in bytes below which a frame
	// is copied instead of lent. 0: measured on the device's memory at open. See
	// pagepool.Config.
	CopyBreak int
	// Arena is the size of a transmit queue's arena in bytes. 0: room for TXRing
	// frames of 1536 bytes, 256 KiB at least.
	Arena int
	// Coalesce is how often queues interrupt. nil: ring.DefaultCoalesce, with the
	// rx-usecs that the core prefers (Info.RXUsecs).
	Coalesce *ring.Coalesce
	// NoRXChecksum and NoTXChecksum leave the core's checksum engines off.
	NoRXChecksum, NoTXChecksum bool
	// Link is a fixed link, for a MAC that is wired to a switch or to another
	// MAC. Zero: that of the device tree (Wired), or else PHY or the core's own
	// view of the link is followed.
	Link Link
	// PHY finds the PHY on the core's MDIO bus, sets it up and returns it; At of
	// package mac/phy makes such a function. wiring is what the bus says. The device
	// then follows the link of that PHY, unless Link is set. nil: no PHY is asked.
	PHY func(ctx context.Context, bus MDIO, wiring Wiring) (PHY, error)
	// PHYFallback has the PHY asked only where the device tree has no fixed link, and
	// names a PHY, or the core itself does not say what the link is.
	PHYFallback bool
	// NoPause leaves flow control off, whatever the partner offers.
	NoPause bool
	// Poison overwrites free pages, so that use after free shows in tests.
	Poison bool
	// CloseTimeout bounds how long Close waits for pages that the stack still
	// holds. 0: one second.
	CloseTimeout time.Duration
	// TXTimeout is how long a transmit ring may stand still with frames in it
	// before the device is reset. 0: five seconds.
	TXTimeout time.Duration
	// Logger gets one line per event, never per packet. nil: nothing is logged.
	Logger *slog.Logger
}

// Sizes that Config's defaults are made of, in bytes.
const (
	defaultMTU   = 1500
	defaultRing  = 512
	minPage      = 2048
	minArena     = 256 << 10
	arenaPerSlot = 1536

	// headerRoom is what a frame may be longer than the MTU: Ethernet header and
	// two VLAN tags; fcs is the frame check sequence after it.
	headerRoom = 14 + 2*4
	fcs        = 4
)

// withDefaults fills in c for the core and the bus at hand and checks it.
func (c Config) withDefaults(info Info, bus Bus) (Config, error) {
	wiring := wiringOf(bus)
	set := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	l := info.Ring
	if c.Name == "" {
		c.Name = bus.Name()
	}
	set(&c.MTU, defaultMTU)
	set(&c.Queues, 1)
	set(&c.RXRing, min(defaultRing, l.MaxSlots))
	set(&c.TXRing, min(defaultRing, l.MaxSlots))
	set(&c.PageSize, max(minPage, roundUp(l.Skip+c.MTU+headerRoom+fcs, max(l.BufferAlign, 64))))
	set(&c.Pages, 2*c.RXRing)
	set(&c.MaxLent, max(1, c.Pages-(c.RXRing-l.Reserve)))
	set(&c.Arena, max(minArena, c.TXRing*arenaPerSlot, 4*roundUp(c.MTU+headerRoom, 64)))
	if c.CloseTimeout == 0 {
		c.CloseTimeout = time.Second
	}
	if c.TXTimeout == 0 {
		c.TXTimeout = 5 * time.Second
	}
	if m := info.ChecksumMTU; m > 0 && c.MTU > m {
		c.NoTXChecksum = true
	}
	if c.Coalesce == nil {
		d := ring.DefaultCoalesce()
		if info.RXUsecs > 0 {
			d.RXUsecs = info.RXUsecs
		}
		c.Coalesce = &d
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Address == (HardwareAddr{}) {
		c.Address = RandomAddress()
		for _, a := range []HardwareAddr{info.Address, wiring.Address} {
			if a.Usable() {
				c.Address = a
			}
		}
	}
	if c.Link == (Link{}) && (c.PHY == nil || c.PHYFallback) {
		c.Link = wiring.Link
	}
	return c, c.check(info)
}

func (c *Config) check(info Info) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("mac: %s: %w", fmt.Sprintf(format, args...), ErrConfig)
	}
	l := info.Ring
	for _, v := range []struct {
		name          string
		value, lo, hi int
	}{
		{"MTU", c.MTU, minMTU, info.MaxMTU},
		{"longest frame", c.MaxFrame, 0, max(info.MaxFrame, info.MaxMTU+headerRoom)},
		{"queues", c.Queues, 1, min(info.RXQueues, info.TXQueues)},
		{"receive ring", c.RXRing, l.MinSlots, l.MaxSlots},
		{"transmit ring", c.TXRing, l.MinSlots, l.MaxSlots},
		{"page size", c.PageSize, 256, 64 << 10},
		{"pages", c.Pages, 1, 1 << 20},
		{"loan limit", c.MaxLent, 0, c.Pages},
		{"arena", c.Arena, roundUp(c.MTU+headerRoom, 64), 1 << 30},
	} {
		if v.value < v.lo || v.value > v.hi {
			return refuse("%s %d: %s takes %d to %d", v.name, v.value, info.Core, v.lo, v.hi)
		}
	}
	if c.CopyBreak < 0 {
		return refuse("copy break %d: 0 measures it, more is a length in bytes", c.CopyBreak)
	}
	if c.CloseTimeout < 0 || c.TXTimeout < 0 {
		return refuse("close timeout %v, transmit timeout %v: cannot be negative", c.CloseTimeout, c.TXTimeout)
	}
	if need := l.Skip + c.MTU + headerRoom + fcs; l.OneBuffer && c.PageSize < need {
		return refuse("page size %d: with an MTU of %d %s needs %d: a frame takes one page", c.PageSize, c.MTU, info.Core, need)
	}
	if c.PageSize%64 != 0 {
		return refuse("page size %d: must be a multiple of 64", c.PageSize)
	}
	if !c.Address.Usable() {
		return refuse("address %s: a station's own address is neither zero nor a group", c.Address)
	}
	return c.Coalesce.Validate()
}

// maxFrame is the longest frame accepted, in bytes without FCS.
func (c *Config) maxFrame() int { return max(c.MaxFrame, c.MTU+headerRoom) }

// minMTU is the smallest MTU that carries IPv4 (RFC 791).
const minMTU = 68

// RandomAddress makes a locally administered station address.
func RandomAddress() HardwareAddr {
	var a HardwareAddr
	rand.Read(a[:]) // never fails (crypto/rand)
	a[0] = a[0]&^1 | 2
	return a
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

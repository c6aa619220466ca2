package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/phy"
)

// linkFlag says who knows the link. The zero value is auto: the device tree, the
// core itself, or else the PHY.
type linkFlag struct {
	speed   int // Mb/s of a fixed link
	phy     bool
	address int // of the PHY, or phy.Scan
}

// String implements flag.Value.
func (f *linkFlag) String() string {
	switch {
	case f.speed > 0:
		return strconv.Itoa(f.speed)
	case f.phy && f.address == phy.Scan:
		return "phy"
	case f.phy:
		return "phy:" + strconv.Itoa(f.address)
	}
	return "auto"
}

// Set implements flag.Value.
func (f *linkFlag) Set(s string) error {
	switch s {
	case "auto":
		*f = linkFlag{}
		return nil
	case "phy":
		*f = linkFlag{phy: true, address: phy.Scan}
		return nil
	case "10", "100", "1000", "2500":
		n, err := strconv.Atoi(s)
		*f = linkFlag{speed: n}
		return err
	}
	if at, ok := strings.CutPrefix(s, "phy:"); ok {
		if n, err := strconv.Atoi(at); err == nil && n >= 0 && n <= 31 {
			*f = linkFlag{phy: true, address: n}
			return nil
		}
	}
	return errors.New("need auto, phy, phy:0 to phy:31, or a fixed 10, 100, 1000 or 2500")
}

// configure makes it the device's.
func (f *linkFlag) configure(c *mac.Config) {
	switch {
	case f.speed > 0:
		c.Link = mac.Link{Up: true, Speed: f.speed, FullDuplex: true}
	case f.phy:
		c.PHY = phy.At(phy.Options{Address: f.address})
	default:
		c.PHY, c.PHYFallback = anyPHY, true
	}
}

// anyPHY is a mac.Config.PHY, for a device whose link nobody else knows.
func anyPHY(ctx context.Context, bus mac.MDIO, w mac.Wiring) (mac.PHY, error) {
	p, err := phy.At(phy.Options{Address: phy.Scan})(ctx, bus, w)
	if err != nil {
		return nil, fmt.Errorf("%w; say where it is with -link, such as -link phy:1, or what the link is, such as -link 1000", err)
	}
	return p, nil
}

package phy_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/mii"
	"github.com/barewire/barewire/mac/phy"
	model "github.com/barewire/barewire/mac/sim/phy"
)

var errBus = errors.New("still busy")

func addressesOf(t *testing.T, bus mac.MDIO) []int {
	t.Helper()
	found, err := phy.ScanBus(bus)
	require.NoError(t, err)
	list := []int{}
	for _, f := range found {
		list = append(list, f.Address)
	}
	return list
}

// TestScanBelievesNoGhost: who is there, at which addresses each answers, and who
// is to be found, on buses that answer for nobody in every way there is.
func TestScanBelievesNoGhost(t *testing.T) {
	everywhere := make([]int, 32)
	for i := range everywhere {
		everywhere[i] = i
	}
	for name, c := range map[string]struct {
		phys [][]int // the addresses of each
		want []int
	}{
		"nobody":                            {nil, []int{}},
		"one":                               {[][]int{{5}}, []int{5}},
		"one at 0":                          {[][]int{{0}}, []int{0}},
		"0 is a broadcast":                  {[][]int{{0, 31}}, []int{31}},
		"four bits of the address count":    {[][]int{{1, 17}}, []int{1}},
		"no bit of the address counts":      {[][]int{everywhere}, []int{1}},
		"twins":                             {[][]int{{4}, {5}}, []int{4, 5}},
		"twins, the first of them by 0 too": {[][]int{{0, 4}, {5}}, []int{4, 5}},
		"twins, one of them at 0":           {[][]int{{0}, {1}}, []int{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, absent := range []model.Absent{model.Ones, model.Zeros, model.Stale} {
				bus, phys := model.NewBus(), []*model.PHY(nil)
				bus.SetAbsent(absent)
				for _, at := range c.phys {
					p := model.New(model.Config{ID: 0x001cc916})
					for _, a := range at {
						bus.Attach(a, p)
					}
					phys = append(phys, p)
				}
				require.Equal(t, c.want, addressesOf(t, bus), "absent: %d", absent)
				for _, p := range phys {
					require.EqualValues(t, 0x01e1, p.Read(mii.ANAR), "the advertisement is put back")
				}
				p, err := phy.Open(context.Background(), bus, phy.Options{Address: phy.Scan})
				switch len(c.want) {
				case 0:
					require.ErrorIs(t, err, mac.ErrNoDevice)
				case 1:
					require.NoError(t, err)
					require.Equal(t, c.want[0], p.Address())
					require.EqualValues(t, 0x001cc916, p.ID())
				default:
					require.ErrorIs(t, err, mac.ErrConfig)
					require.ErrorContains(t, err, "give the address of yours")
				}
			}
		})
	}
}

// Different PHYs, the same identifier, different advertisements; and a PHY of
// clause 45 that nobody sees while there are others.
func TestScanOfSeveral(t *testing.T) {
	bus := model.NewBus()
	a, b := model.New(model.Config{}), model.New(model.Config{Modes: phy.UpTo100})
	bus.Attach(2, a)
	bus.Attach(9, b)
	bus.Attach(12, model.New(model.Config{NoClause22: true}))
	require.Equal(t, []int{2, 9}, addressesOf(t, bus))
	a.Write(mii.ANAR, b.Read(mii.ANAR)^mii.ANPause)
	require.Equal(t, []int{2, 9}, addressesOf(t, bus), "the probe of the one is how the other is set")
	bus.Attach(2, nil)
	bus.Attach(9, nil)
	require.Equal(t, []int{12}, addressesOf(t, bus))
	bus.Attach(0, model.New(model.Config{NoClause22: true}))
	require.Equal(t, []int{0, 12}, addressesOf(t, bus))
}

// An identifier alone makes no PHY.
func TestScanLooksBehindTheIdentifier(t *testing.T) {
	good := registers{mii.BMCR: 0x1140, mii.BMSR: 0x7949, mii.PHYID1: 0x0044, mii.PHYID2: 0x1400}
	require.Equal(t, []int{0}, addressesOf(t, &good))
	for reg, values := range map[int][]uint16{mii.BMSR: {0, 0xffff, 0x002d}, mii.BMCR: {0xffff}, mii.PHYID1: {0xffff}} {
		for _, v := range values {
			bad := good
			bad[reg] = v
			require.Empty(t, addressesOf(t, &bad), "register %d is %#x", reg, v)
		}
	}
	for _, id := range []uint16{0x8201, 0xffff} {
		low := good
		low[mii.PHYID1], low[mii.PHYID2] = 0, id
		require.Equal(t, []int{0}, addressesOf(t, &low), "the upper half may be zero: RTL8201")
	}
}

// The MDIO of some MACs fails where nobody answers; on others, nothing works.
func TestScanOfBusThatFails(t *testing.T) {
	bus := model.NewBus()
	bus.Attach(7, model.New(model.Config{}))
	require.Equal(t, []int{7}, addressesOf(t, &onlyAt{Bus: bus, address: 7}))

	bus.Break(errBus)
	_, err := phy.ScanBus(bus)
	require.ErrorIs(t, err, errBus)
	require.ErrorContains(t, err, "is its clock on?")
	require.LessOrEqual(t, bus.Accesses(), uint64(2*32+4*32), "each address costs one time-out and no more")
	_, err = phy.Open(context.Background(), bus, phy.Options{Address: 7})
	require.ErrorIs(t, err, errBus)
	_, err = phy.ScanBus(nil)
	require.ErrorIs(t, err, mac.ErrUnsupported)
	_, err = phy.Open(context.Background(), nil, phy.Options{Address: 7})
	require.ErrorIs(t, err, mac.ErrUnsupported)
}

// onlyAt is a bus with an error wherever nobody answers.
type onlyAt struct {
	*model.Bus
	address int
}

func (b *onlyAt) Read(address, reg int) (uint16, error) {
	if address != b.address {
		return 0, errBus
	}
	return b.Bus.Read(address, reg)
}

func TestWrongAddressSaysWhichIsRight(t *testing.T) {
	bus := model.NewBus()
	bus.Attach(7, model.New(model.Config{ID: 0x00441400}))
	for _, absent := range []model.Absent{model.Ones, model.Zeros, model.Stale} {
		bus.SetAbsent(absent)
		_, err := phy.Open(context.Background(), bus, phy.Options{Address: 3})
		require.ErrorIs(t, err, mac.ErrNoDevice)
		require.ErrorContains(t, err, "no PHY at address 3: there is one at 7 (id 0x00441400)")
	}
	for _, bad := range []int{-2, 32} {
		_, err := phy.Open(context.Background(), bus, phy.Options{Address: bad})
		require.ErrorIs(t, err, mac.ErrConfig)
	}
	p, err := phy.At(phy.Options{Address: phy.Scan})(context.Background(), bus, mac.Wiring{PHYs: []int{7}})
	require.NoError(t, err)
	require.Equal(t, 7, p.(*phy.PHY).Address())
	_, err = phy.At(phy.Options{Address: phy.Scan})(context.Background(), bus, mac.Wiring{PHYs: []int{3}})
	require.ErrorContains(t, err, "no PHY at address 3", "the device tree is believed, and its mistakes said")
}

package devtree

import (
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
)

// props are the properties of nodes by path: cells, strings, bytes, or nil for a
// property without a value.
type props map[string]map[string]any

func build(t testing.TB, tree props) *Tree {
	root := t.TempDir()
	for path, p := range tree {
		dir := filepath.Join(root, base, path)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		for name, value := range p {
			var b []byte
			switch v := value.(type) {
			case []uint32:
				for _, c := range v {
					b = binary.BigEndian.AppendUint32(b, c)
				}
			case string:
				b = append([]byte(v), 0)
			case []byte:
				b = v
			}
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), b, 0o644))
		}
	}
	tr, err := Open(root)
	require.NoError(t, err)
	return tr
}

func node(t testing.TB, tr *Tree, path string) Node {
	n, err := tr.Node(path)
	require.NoError(t, err)
	return n
}

type c = []uint32

// board has a bus of 32-bit addresses that are shifted on their way up, as many SoCs
// have, and one below it that lets devices reach only a part of memory.
var board = props{
	"/":    {"#address-cells": c{2}, "#size-cells": c{2}, "compatible": "some,board"},
	"/soc": {"#address-cells": c{1}, "#size-cells": c{1}, "ranges": c{0x0, 0x0, 0xf0000000, 0x10000000}},
	"/soc/ahb": {
		"#address-cells": c{1}, "#size-cells": c{1}, "ranges": nil,
		"dma-ranges": c{0x40000000, 0x20000000, 0x10000000, 0xc0000000, 0x40000000, 0x10000000},
	},
	"/soc/ahb/ethernet@802000": {
		"compatible": "nuvoton,npcm750-gmac\x00snps,dwmac-3.50a", "reg": c{0x802000, 0x2000, 0x900000, 0x100},
		"phy-mode": "rgmii-id", "phy-handle": c{7}, "local-mac-address": []byte{2, 0, 0, 0, 0, 9},
		"memory-region": c{8, 9, 10}, "clocks": c{5, 3, 6}, "clock-names": "ptp\x00stmmaceth",
	},
	"/soc/ahb/ethernet@802000/mdio":       {"#address-cells": c{1}, "#size-cells": c{0}},
	"/soc/ahb/ethernet@802000/mdio/phy@4": {"reg": c{4}, "phandle": c{7}},
	"/soc/ahb/ethernet@804000": {
		"reg": c{0x804000, 0x2000}, "status": "disabled", "mac-address": []byte{3, 0, 0, 0, 0, 1}, "clocks": c{6},
		"phy-connection-type": "rmii", "phy-handle": c{99},
	},
	"/soc/ahb/ethernet@804000/fixed-link": {"speed": c{100}, "full-duplex": nil, "pause": nil},
	"/clocks/gate":                        {"phandle": c{5}, "#clock-cells": c{1}},
	"/clocks/osc":                         {"phandle": c{6}, "#clock-cells": c{0}, "clock-frequency": c{125000000}},
	"/reserved-memory":                    {"#address-cells": c{2}, "#size-cells": c{2}, "ranges": nil},
	"/reserved-memory/dma@10000000":       {"phandle": c{8}, "reg": c{0, 0x10000000, 0, 0x100000}, "no-map": nil},
	"/reserved-memory/cma":                {"phandle": c{9}, "size": c{0, 0x1000000}, "reusable": nil},
	"/reserved-memory/dma@20000000":       {"phandle": c{10}, "reg": c{0, 0x20000000, 0, 0x100000}},
}

func TestWindows(t *testing.T) {
	tr := build(t, board)
	e := node(t, tr, "/soc/ahb/ethernet@802000")
	w, err := e.Windows()
	require.NoError(t, err)
	require.Equal(t, []Window{{0xf0802000, 0x2000}, {0xf0900000, 0x100}}, w)
	require.Equal(t, "f0802000-f0803fff", w[0].String())
	require.Equal(t, []string{"nuvoton,npcm750-gmac", "snps,dwmac-3.50a"}, e.Compatible())
	require.True(t, e.Enabled())
	require.False(t, node(t, tr, "/soc/ahb/ethernet@804000").Enabled())
}

func TestDMARanges(t *testing.T) {
	tr := build(t, board)
	d, err := node(t, tr, "/soc/ahb/ethernet@802000").DMA()
	require.NoError(t, err)
	for _, c := range []struct {
		phys, size, device uint64
		ok                 bool
	}{
		{0x20000000, 0x1000, 0x40000000, true},
		{0x2fff0000, 0x10000, 0x4fff0000, true},
		{0x2fff0000, 0x10001, 0, false},
		{0x1ffff000, 0x2000, 0, false},
		{0x40000000, 0x10000000, 0xc0000000, true},
		{0x60000000, 1, 0, false},
	} {
		addr, ok := d.Device(c.phys, c.size)
		require.Equal(t, c.ok, ok, "%#x", c.phys)
		require.Equal(t, c.device, addr)
	}
	d, err = node(t, tr, "/soc/ahb").DMA()
	require.NoError(t, err)
	addr, ok := d.Device(1<<40, 1)
	require.True(t, ok, "nothing is said, so addresses are the same")
	require.EqualValues(t, uint64(1)<<40, addr)
}

func TestReserved(t *testing.T) {
	w, err := node(t, build(t, board), "/soc/ahb/ethernet@802000").Reserved()
	require.NoError(t, err)
	require.Equal(t, []Window{{0x10000000, 0x100000}}, w, "only what the kernel leaves alone and has a place")
}

func TestWiring(t *testing.T) {
	tr := build(t, board)
	require.Equal(t, mac.Wiring{Address: mac.HardwareAddr{2, 0, 0, 0, 0, 9}, PHYMode: "rgmii-id", PHYs: []int{4}},
		node(t, tr, "/soc/ahb/ethernet@802000").Wiring())
	require.Equal(t, mac.Wiring{Link: mac.Link{Up: true, Speed: 100, FullDuplex: true, RXPause: true, TXPause: true}, PHYMode: "rmii"},
		node(t, tr, "/soc/ahb/ethernet@804000").Wiring(), "a group address is nobody's own; a reference to nothing is none")

	for _, tc := range []struct {
		name string
		give map[string]any
		want mac.Wiring
	}{
		{"boot program's address first", map[string]any{"mac-address": []byte{2, 1, 1, 1, 1, 1}, "local-mac-address": []byte{2, 2, 2, 2, 2, 2}},
			mac.Wiring{Address: mac.HardwareAddr{2, 1, 1, 1, 1, 1}}},
		{"zeros are no address", map[string]any{"local-mac-address": make([]byte, 6), "address": []byte{2, 3, 3, 3, 3, 3}},
			mac.Wiring{Address: mac.HardwareAddr{2, 3, 3, 3, 3, 3}}},
		{"too short", map[string]any{"mac-address": []byte{2, 1, 1}}, mac.Wiring{}},
		{"fixed link of old", map[string]any{"fixed-link": c{1, 1, 1000, 0, 0}}, mac.Wiring{Link: mac.Link{Up: true, Speed: 1000, FullDuplex: true}}},
		{"fixed link cut short", map[string]any{"fixed-link": c{1, 1, 1000}}, mac.Wiring{}},
		{"a PHY that nobody asks", map[string]any{"managed": "in-band-status", "phy-handle": c{7}}, mac.Wiring{}},
		{"a PHY", map[string]any{"phy-handle": c{7}}, mac.Wiring{PHYs: []int{4}}},
	} {
		tree := props{"/e": tc.give, "/phy": {"reg": c{4}, "phandle": c{7}}}
		require.Equal(t, tc.want, node(t, build(t, tree), "/e").Wiring(), tc.name)
	}
}

func TestClock(t *testing.T) {
	tr := build(t, board)
	require.Equal(t, 125000000, node(t, tr, "/soc/ahb/ethernet@802000").ClockHz(), "the second, behind one with an argument")
	require.Equal(t, 125000000, node(t, tr, "/soc/ahb/ethernet@804000").ClockHz(), "the only one, without a name")
	clocks := props{
		"/a":    {"phandle": c{1}, "#clock-cells": c{0}, "clock-frequency": c{1000}},
		"/b":    {"phandle": c{2}, "#clock-cells": c{0}, "clock-frequency": c{2000}},
		"/gate": {"phandle": c{3}, "#clock-cells": c{1}},
	}
	for _, tc := range []struct {
		clocks c
		names  string
		want   int
	}{
		{c{1, 2}, "pclk\x00stmmaceth", 2000},
		{c{1, 2}, "pclk\x00ptp", 1000},
		{c{3, 7, 2}, "stmmaceth\x00ptp", 0},
		{c{1, 2}, "a\x00b", 0},
		{c{9, 2}, "pclk\x00stmmaceth", 0},
	} {
		clocks["/e"] = map[string]any{"clocks": tc.clocks, "clock-names": tc.names}
		require.Equal(t, tc.want, node(t, build(t, clocks), "/e").ClockHz(), "%v %q", tc.clocks, tc.names)
	}
}

func TestNodes(t *testing.T) {
	tr := build(t, board)
	_, err := tr.Node("/nothing")
	require.ErrorIs(t, err, fs.ErrNotExist)
	root := tr.Root()
	require.Empty(t, root.Name())
	_, ok := root.Parent()
	require.False(t, ok)
	_, err = root.Refer("nothing", 0)
	require.ErrorIs(t, err, fs.ErrNotExist)
	n := 0
	tr.Walk(func(Node) bool { n++; return true })
	require.Equal(t, len(board)+1, n, "and /clocks")

	link := filepath.Join(t.TempDir(), "of_node")
	require.NoError(t, os.Symlink(filepath.Join(tr.dir, "soc/ahb"), link))
	at, err := tr.At(link)
	require.NoError(t, err)
	require.Equal(t, "/soc/ahb", at.Path())
	require.Nil(t, Of("/", t.TempDir()))
	outside := filepath.Join(t.TempDir(), "of_node")
	require.NoError(t, os.Symlink(t.TempDir(), outside))
	_, err = tr.At(outside)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = Open(t.TempDir())
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestMalformed(t *testing.T) {
	for name, bus := range map[string]map[string]any{
		"half an entry":       {"#address-cells": c{2}, "#size-cells": c{2}, "ranges": nil},
		"addresses of a PCI":  {"#address-cells": c{3}, "#size-cells": c{2}, "ranges": nil},
		"invisible":           {"#address-cells": c{1}, "#size-cells": c{1}},
		"elsewhere":           {"#address-cells": c{1}, "#size-cells": c{1}, "ranges": c{0x1000, 0, 0x1000, 0x1000}},
		"too little":          {"#address-cells": c{1}, "#size-cells": c{1}, "ranges": c{0x8000, 0, 0x1000, 0x10}},
		"over the end":        {"#address-cells": c{1}, "#size-cells": c{1}, "ranges": c{0x8000, 0xffffffff, 0xffffffff, 0x1000}},
		"ranges half there":   {"#address-cells": c{1}, "#size-cells": c{1}, "ranges": c{0x8000}},
		"no size, no address": {"#address-cells": c{0}, "#size-cells": c{0}, "ranges": nil},
	} {
		tr := build(t, props{"/bus": bus, "/bus/e": {"reg": c{0x8000, 0x100}}})
		_, err := node(t, tr, "/bus/e").Windows()
		require.ErrorIs(t, err, ErrMalformed, name)
	}
	_, err := node(t, build(t, props{"/e": {"memory-region": c{1}}}), "/e").Reserved()
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// FuzzAddresses has properties of any bytes: nothing panics, and an address that comes
// out lies within what the bus above shows.
func FuzzAddresses(f *testing.F) {
	f.Add([]byte{0, 0, 0x80, 0, 0, 0, 1, 0}, []byte{}, byte(1), byte(1))
	f.Add([]byte{0, 0, 0x80, 0, 0, 0, 1, 0}, []byte{0, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0, 0, 0, 0, 1, 0, 0}, byte(1), byte(1))
	f.Fuzz(func(t *testing.T, reg, ranges []byte, at, size byte) {
		tr := build(t, props{
			"/":      {"#address-cells": c{2}, "#size-cells": c{1}},
			"/bus":   {"#address-cells": c{uint32(at)}, "#size-cells": c{uint32(size)}, "ranges": ranges, "dma-ranges": ranges},
			"/bus/e": {"reg": reg, "mac-address": reg, "clocks": reg, "phy-handle": reg, "fixed-link": reg, "memory-region": reg},
		})
		e := node(t, tr, "/bus/e")
		windows, err := e.Windows()
		d, derr := e.DMA()
		if err == nil && derr == nil && len(ranges) > 0 {
			for _, w := range windows {
				dev, ok := d.Device(w.Addr, w.Size)
				require.True(t, ok, "ranges and dma-ranges are the same here")
				require.True(t, dev+w.Size >= dev)
			}
		}
		e.Wiring()
		e.ClockHz()
		_, _ = e.Reserved()
	})
}

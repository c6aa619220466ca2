//go:build linux

package qemu

import (
	"context"
	"fmt"

	"github.com/barewire/barewire/integration/internal/guest"
)

// board is one that QEMU emulates.
type board struct {
	name  string // QEMU's
	core  string // of the MAC
	nic   string // QEMU's model, where the board takes several
	fetch func(context.Context) (*guest.Debian, error)
	tree  func(d *guest.Debian) ([]byte, error)
	ram   int      // MiB
	args  []string // of QEMU
	boot  string   // added to the kernel's command line
	dev   string   // the MAC
	addr  string   // station address that the server finds
	link  int      // speed that the PHY says, in Mb/s
	bound string   // a device that the kernel has a driver for
	// reserved is memory that the kernel leaves alone; flag says that no device tree
	// has it set aside, so that the server must be told.
	reserved memoryRange
	flag     bool
	// modules are for the interrupt as a key.
	modules []string
}

type memoryRange struct{ addr, size uint32 }

func (r memoryRange) String() string { return fmt.Sprintf("%#x+%#x", r.addr, r.size) }

func boards() []board {
	return []board{
		{
			name: "orangepi-pc", core: "sun8i", fetch: guest.FetchARM, tree: orangePi,
			ram: 1024, dev: "1c30000.ethernet", addr: "52:54:00:12:34:56", link: 100, bound: "1c28000.serial",
			reserved: orangePiMemory, modules: []string{"evdev"},
		},
		{
			name: "npcm750-evb", core: "dwmac1000", nic: "npcm-gmac", fetch: guest.FetchARM,
			tree: func(*guest.Debian) ([]byte, error) { return npcm750(), nil },
			// Linux refuses the global timer of a Cortex-A9 before r2p0, and QEMU's
			// is an r0p0 unless told otherwise.
			ram: 512, args: []string{"-global", "cortex-a9-arm-cpu.midr=0x413fc090"}, boot: "mem=448M",
			dev: "f0802000.ethernet", addr: stationText, link: 1000, bound: "f0001000.serial",
			reserved: memoryRange{0x1c00_0000, 16 << 20}, flag: true, modules: []string{"evdev"},
		},
		{
			name: "npcm845-evb", core: "dwmac1000", nic: "npcm-gmac", fetch: guest.FetchBoard,
			tree: func(*guest.Debian) ([]byte, error) { return npcm845(), nil },
			// QEMU's boot ROM would lie where it puts the jump to the kernel.
			ram: 1024, args: []string{"-bios", "none"}, dev: "f0802000.ethernet", addr: stationText, link: 1000, bound: "f0000000.serial",
			reserved: npcm845Memory, modules: []string{"evdev", "gpio_keys"},
		},
	}
}

// flags are those of the server for the board's bus.
func (b *board) flags() string {
	f := "-bus auto -dev " + b.dev + " -ip 10.0.2.15/24 -gw 10.0.2.2 -addr :80"
	if b.flag {
		f += " -reserved " + b.reserved.String()
	}
	return f
}

// Handles of device-tree nodes, which others refer to.
const (
	gicHandle = 0x7001 + iota
	clockHandle
	memoryHandle
	watchdogHandle
	phyHandle
)

// reservedMemory sets memory aside for the MAC. cells is how many an address takes.
func reservedMemory(r memoryRange, cells int) guest.Node {
	reg := []uint32{r.addr, r.size}
	if cells == 2 {
		reg = []uint32{0, r.addr, 0, r.size}
	}
	return guest.Node{
		Name:  "reserved-memory",
		Props: []guest.Prop{guest.Cells("#address-cells", uint32(cells)), guest.Cells("#size-cells", uint32(cells)), {Name: "ranges"}},
		Children: []guest.Node{{
			Name:  fmt.Sprintf("mac-dma@%x", r.addr),
			Props: []guest.Prop{guest.Cells("reg", reg...), {Name: "no-map"}, guest.Cells("phandle", memoryHandle)},
		}},
	}
}

// macLine has the kernel tell of a shared peripheral interrupt as a key, as package
// devmem says.
func macLine(spi uint32) guest.Node {
	return guest.Node{
		Name:  "mac-line",
		Props: []guest.Prop{guest.Strings("compatible", "gpio-keys"), guest.Strings("label", macLineName)},
		Children: []guest.Node{{
			Name: "mac",
			Props: []guest.Prop{
				guest.Strings("label", macLineName), guest.Cells("linux,code", 0x2f0), guest.Cells("debounce-interval", 0),
				guest.Cells("interrupts", 0, spi, 1),
			},
		}},
	}
}

const macLineName = "mac-line"

var orangePiMemory = memoryRange{0x7c00_0000, 16 << 20}

// orangePi is the kernel's tree with memory set aside for the MAC, and its interrupt
// as a key.
func orangePi(d *guest.Debian) ([]byte, error) {
	tree, err := d.BoardTree("sun8i-h3-orangepi-pc")
	if err != nil {
		return nil, err
	}
	mac := tree.At("soc/ethernet@1c30000")
	if mac == nil {
		return nil, fmt.Errorf("the kernel's device tree of the Orange Pi PC has no MAC")
	}
	mac.Set(guest.Cells("memory-region", memoryHandle))
	tree.Root.Children = append(tree.Root.Children, reservedMemory(orangePiMemory, 1), macLine(82))
	return tree.Bytes(), nil
}

// station is the address that the trees of the NPCM boards assign.
var station = []byte{0x02, 0, 0, 0, 0x84, 0x50}

const stationText = "02:00:00:00:84:50"

// npcm750 describes the board with parts that Debian's kernel drives: it has no
// support for Nuvoton's SoCs.
func npcm750() []byte {
	reg := func(addr, size uint32) guest.Prop { return guest.Cells("reg", addr, size) }
	tree := guest.Tree{Root: guest.Node{
		Props: []guest.Prop{
			guest.Cells("#address-cells", 1), guest.Cells("#size-cells", 1), guest.Cells("interrupt-parent", gicHandle),
			guest.Strings("model", "NPCM750 evaluation board"), guest.Strings("compatible", "nuvoton,npcm750-evb", "nuvoton,npcm750"),
		},
		Children: []guest.Node{
			{Name: "chosen", Props: []guest.Prop{guest.Strings("stdout-path", "/serial@f0001000:115200n8")}},
			{Name: "memory@0", Props: []guest.Prop{guest.Strings("device_type", "memory"), reg(0, 512<<20)}},
			{Name: "cpus", Props: []guest.Prop{guest.Cells("#address-cells", 1), guest.Cells("#size-cells", 0)}, Children: []guest.Node{
				{Name: "cpu@0", Props: []guest.Prop{guest.Strings("device_type", "cpu"), guest.Strings("compatible", "arm,cortex-a9"), guest.Cells("reg", 0)}},
			}},
			clock(),
			{Name: "interrupt-controller@f03ff000", Props: []guest.Prop{
				guest.Strings("compatible", "arm,cortex-a9-gic"), {Name: "interrupt-controller"}, guest.Cells("#interrupt-cells", 3),
				guest.Cells("reg", 0xf03f_f000, 0x1000, 0xf03f_e100, 0x100), guest.Cells("phandle", gicHandle),
			}},
			{Name: "timer@f03fe200", Props: []guest.Prop{
				guest.Strings("compatible", "arm,cortex-a9-global-timer"), reg(0xf03f_e200, 0x20),
				guest.Cells("interrupts", 1, 11, 0x101), guest.Cells("clocks", clockHandle),
			}},
			{Name: "timer@f03fe600", Props: []guest.Prop{
				guest.Strings("compatible", "arm,cortex-a9-twd-timer"), reg(0xf03f_e600, 0x20),
				guest.Cells("interrupts", 1, 13, 0x101), guest.Cells("clocks", clockHandle),
			}},
			{Name: "serial@f0001000", Props: append(serial(2), reg(0xf000_1000, 0x1000))},
			{Name: "watchdog@f0008000", Props: []guest.Prop{guest.Strings("compatible", "syscon"), reg(0xf000_8000, 0x1000), guest.Cells("phandle", watchdogHandle)}},
			{Name: "ethernet@f0802000", Props: append(gmac(), reg(0xf080_2000, 0x2000)), Children: phy()},
			powerOff(), macLine(14),
		},
	}}
	return tree.Bytes()
}

var npcm845Memory = memoryRange{0x3c00_0000, 16 << 20}

// npcm845 is as npcm750.
func npcm845() []byte {
	reg := func(addr, size uint32) guest.Prop { return guest.Cells("reg", 0, addr, 0, size) }
	tree := guest.Tree{Root: guest.Node{
		Props: []guest.Prop{
			guest.Cells("#address-cells", 2), guest.Cells("#size-cells", 2), guest.Cells("interrupt-parent", gicHandle),
			guest.Strings("model", "NPCM845 evaluation board"), guest.Strings("compatible", "nuvoton,npcm845-evb", "nuvoton,npcm845"),
		},
		Children: []guest.Node{
			{Name: "chosen", Props: []guest.Prop{guest.Strings("stdout-path", "/serial@f0000000:115200n8")}},
			{Name: "memory@0", Props: []guest.Prop{guest.Strings("device_type", "memory"), reg(0, 1024<<20)}},
			{Name: "cpus", Props: []guest.Prop{guest.Cells("#address-cells", 1), guest.Cells("#size-cells", 0)}, Children: []guest.Node{
				{Name: "cpu@0", Props: []guest.Prop{guest.Strings("device_type", "cpu"), guest.Strings("compatible", "arm,cortex-a35"), guest.Cells("reg", 0)}},
			}},
			clock(),
			{Name: "interrupt-controller@dfff9000", Props: []guest.Prop{
				guest.Strings("compatible", "arm,gic-400"), {Name: "interrupt-controller"}, guest.Cells("#interrupt-cells", 3),
				guest.Cells("reg", 0, 0xdfff_9000, 0, 0x1000, 0, 0xdfff_a000, 0, 0x2000), guest.Cells("phandle", gicHandle),
			}},
			{Name: "timer", Props: []guest.Prop{
				guest.Strings("compatible", "arm,armv8-timer"),
				guest.Cells("interrupts", 1, 13, 0xf08, 1, 14, 0xf08, 1, 11, 0xf08, 1, 10, 0xf08),
			}},
			{Name: "serial@f0000000", Props: append(serial(192), reg(0xf000_0000, 0x1000))},
			{Name: "watchdog@f0008000", Props: []guest.Prop{guest.Strings("compatible", "syscon"), reg(0xf000_8000, 0x1000), guest.Cells("phandle", watchdogHandle)}},
			{
				Name: "ethernet@f0802000", Children: phy(),
				Props: append(gmac(), reg(0xf080_2000, 0x2000), guest.Cells("memory-region", memoryHandle)),
			},
			powerOff(), macLine(14), reservedMemory(npcm845Memory, 2),
		},
	}}
	return tree.Bytes()
}

func clock() guest.Node {
	return guest.Node{Name: "clock", Props: []guest.Prop{
		guest.Strings("compatible", "fixed-clock"), guest.Cells("#clock-cells", 0), guest.Cells("clock-frequency", 100_000_000), guest.Cells("phandle", clockHandle),
	}}
}

func serial(spi uint32) []guest.Prop {
	return []guest.Prop{
		guest.Strings("compatible", "ns16550a"), guest.Cells("reg-shift", 2), guest.Cells("interrupts", 0, spi, 4),
		guest.Cells("clock-frequency", 24_000_000), guest.Cells("current-speed", 115_200),
	}
}

// gmac describes the MAC but for the place of its registers.
func gmac() []guest.Prop {
	return []guest.Prop{
		guest.Strings("compatible", "snps,dwmac"), guest.Cells("interrupts", 0, 14, 4), guest.Strings("interrupt-names", "macirq"),
		guest.Cells("clocks", clockHandle), guest.Strings("clock-names", "stmmaceth"),
		guest.Strings("phy-mode", "rgmii-id"), guest.Cells("phy-handle", phyHandle), {Name: "local-mac-address", Value: station},
	}
}

// phy describes the PHY, whose model is at address 0.
func phy() []guest.Node {
	return []guest.Node{{
		Name:  "mdio",
		Props: []guest.Prop{guest.Strings("compatible", "snps,dwmac-mdio"), guest.Cells("#address-cells", 1), guest.Cells("#size-cells", 0)},
		Children: []guest.Node{{
			Name:  "ethernet-phy@0",
			Props: []guest.Prop{guest.Cells("reg", 0), guest.Cells("phandle", phyHandle)},
		}},
	}}
}

// powerOff has the kernel end QEMU by a reset of the watchdog (WTCR: enable, reset
// enable, counter reset, shortest interval): the boards have nothing that switches
// them off.
func powerOff() guest.Node {
	return guest.Node{Name: "poweroff", Props: []guest.Prop{
		guest.Strings("compatible", "syscon-poweroff"), guest.Cells("regmap", watchdogHandle),
		guest.Cells("offset", 0x1c), guest.Cells("value", 1<<7|1<<1|1<<0),
	}}
}

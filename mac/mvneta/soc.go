package mvneta

import (
	"slices"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/neta"
)

// soc is what differs between the families.
type soc struct {
	compatible string
	// checksumLimit is the longest frame with checksums inserted, in bytes without
	// FCS. The 38x has the 370's name; its first port can do more (Options).
	checksumLimit int
	// window is the word of a window over everything, passThrough that there is
	// one; otherwise a window is needed for each bank of memory.
	window      uint32
	passThrough bool
	// bppiWindow: the port reaches the buffer manager through a window.
	bppiWindow bool
}

// socs is never written.
var socs = []soc{
	{compatible: "marvell,armada-370-neta", checksumLimit: 1600, bppiWindow: true},
	{compatible: "marvell,armada-xp-neta", checksumLimit: 9800, bppiWindow: true},
	{compatible: "marvell,armada-3700-neta", checksumLimit: 9800, passThrough: true},
	{compatible: "marvell,armada-ac5-neta", checksumLimit: 9800, passThrough: true, window: 0x0B02},
}

// socOf finds the SoC by what the bus says; what nobody knows is taken for the
// first and least able one.
func socOf(bus mac.Bus) soc {
	names := bus.Compatible()
	for _, s := range socs {
		if slices.Contains(names, s.compatible) {
			return s
		}
	}
	return socs[0]
}

// Window is a part of the port's address space that leads to memory, or to the
// buffer manager. Target and Attr are those of the SoC's MBUS.
type Window struct {
	// Base and Size are in bytes, Size a power of two of 64 KiB at least.
	Base         uint32
	Size         uint64
	Target, Attr uint8
}

func (w Window) end() uint64 { return uint64(w.Base) + w.Size }

// base is the register value.
func (w Window) base() uint32 {
	return w.Base&neta.WindowBaseAddr | field.Put(neta.WindowAttr, uint32(w.Attr)) | field.Put(neta.WindowTarget, uint32(w.Target))
}

// windowOf decodes the registers of a window.
func windowOf(base, span uint32) Window {
	return Window{
		Base: base & neta.WindowBaseAddr, Size: uint64(span|^neta.WindowSizeMask) + 1,
		Target: uint8(field.Get(neta.WindowTarget, base)), Attr: uint8(field.Get(neta.WindowAttr, base)),
	}
}

// findWindows decides on the windows: those of the options, one over everything
// where there is such a thing, or those that somebody has set up.
func (c *Core) findWindows() {
	switch {
	case len(c.opts.Windows) > 0:
		c.windows = slices.Clone(c.opts.Windows)
	case c.soc.passThrough:
		c.windows = []Window{windowOf(c.soc.window, neta.WindowSizeMask)}
	default:
		off := c.regs.Read32(neta.WindowEnable)
		for w := range neta.MaxWindows {
			if off>>w&1 == 0 {
				c.windows = append(c.windows, windowOf(c.regs.Read32(neta.WindowBase(w)), c.regs.Read32(neta.WindowSpan(w))))
			}
		}
	}
	if c.opts.BufferManager && c.soc.bppiWindow && !c.reaches(uint64(c.bppiAddr), uint64(neta.BPPISize)) {
		c.windows = append(c.windows, Window{Base: c.bppiAddr, Size: uint64(neta.BPPISize), Target: neta.BPPITarget, Attr: neta.BPPIAttr})
	}
}

// writeWindows programs them, those not used off.
func (c *Core) writeWindows() {
	enable, protect := neta.WindowsOff, uint32(0)
	c.regs.Write32(neta.WindowEnable, neta.WindowsOff)
	for w := range neta.MaxWindows {
		var base, span uint32
		if w < len(c.windows) {
			base, span = c.windows[w].base(), uint32(c.windows[w].Size-1)&neta.WindowSizeMask
			enable &^= 1 << w
			protect |= neta.WindowRW << (2 * w)
		}
		c.regs.Write32(neta.WindowBase(w), base)
		c.regs.Write32(neta.WindowSpan(w), span)
		if w < neta.RemapWindows {
			c.regs.Write32(neta.WindowRemap(w), 0)
		}
	}
	c.regs.Write32(neta.WindowEnable, enable)
	c.regs.Write32(neta.WindowProtect, protect)
}

// window finds the window with all of size bytes at addr.
func (c *Core) window(addr, size uint64) (Window, bool) {
	i := slices.IndexFunc(c.windows, func(w Window) bool { return addr >= uint64(w.Base) && addr+size <= w.end() })
	if i < 0 {
		return Window{}, false
	}
	return c.windows[i], true
}

func (c *Core) reaches(addr, size uint64) bool {
	_, ok := c.window(addr, size)
	return ok
}

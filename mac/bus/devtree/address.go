package devtree

import (
	"fmt"
	"math"
)

// Window is a range of physical addresses as the CPU sees them.
type Window struct{ Addr, Size uint64 }

// String is the window in the form of /proc/iomem.
func (w Window) String() string { return fmt.Sprintf("%08x-%08x", w.Addr, w.Addr+w.Size-1) }

// Windows are the register windows of a device, or the ranges of a memory node: its
// reg property, translated to what the CPU sees by the ranges of the buses above.
func (n Node) Windows() ([]Window, error) {
	parent, ok := n.Parent()
	if !ok {
		return nil, nil
	}
	at, size := parent.cellSizes()
	entries, err := n.entries("reg", at, size)
	if err != nil {
		return nil, err
	}
	var all []Window
	for _, e := range entries {
		w := Window{Addr: e[0], Size: e[1]}
		for bus := parent; bus.path != "/"; {
			if w, err = bus.up(w); err != nil {
				return nil, fmt.Errorf("devtree: %s: register window %#x: %w", n.path, e[0], err)
			}
			bus, _ = bus.Parent()
		}
		all = append(all, w)
	}
	return all, nil
}

// up translates a window from the addresses of a bus to those of the bus above.
func (n Node) up(w Window) (Window, error) {
	value, ok := n.Property("ranges")
	if !ok {
		return w, fmt.Errorf("bus %s has no ranges: the CPU does not see it: %w", n.path, ErrMalformed)
	}
	if len(value) == 0 {
		return w, nil // the same addresses
	}
	ranges, err := n.spans("ranges")
	if err != nil {
		return w, err
	}
	for _, r := range ranges {
		if off := w.Addr - r.child; w.Addr >= r.child && off < r.size && w.Size <= r.size-off {
			return Window{Addr: r.parent + off, Size: w.Size}, nil
		}
	}
	return w, fmt.Errorf("bus %s does not show it to the CPU: %w", n.path, ErrMalformed)
}

// DMA translates between what the CPU and what a device calls an address of memory.
type DMA struct{ levels [][]span } // those of the outermost bus first

// span is size addresses, from child on one side and from parent on the other.
type span struct{ child, parent, size uint64 }

// DMA is how the device sees memory: the dma-ranges of the buses above it. A bus
// without them passes addresses on as they are, as Linux has it.
func (n Node) DMA() (DMA, error) {
	var d DMA
	for bus, ok := n.Parent(); ok && bus.path != "/"; bus, ok = bus.Parent() {
		value, has := bus.Property("dma-ranges")
		if !has || len(value) == 0 {
			continue
		}
		spans, err := bus.spans("dma-ranges")
		if err != nil {
			return d, err
		}
		d.levels = append([][]span{spans}, d.levels...)
	}
	return d, nil
}

// Device is what the device calls the size bytes at physical address phys. ok is
// false when it does not reach all of them in one piece.
func (d DMA) Device(phys, size uint64) (addr uint64, ok bool) {
	addr = phys
	for _, spans := range d.levels {
		found := false
		for _, s := range spans {
			if off := addr - s.parent; addr >= s.parent && off < s.size && size <= s.size-off {
				addr, found = s.child+off, true
				break
			}
		}
		if !found {
			return 0, false
		}
	}
	return addr, true
}

// String says what of memory the device reaches.
func (d DMA) String() string {
	if len(d.levels) == 0 {
		return "all of memory"
	}
	s := ""
	for _, r := range d.levels[0] {
		s += fmt.Sprintf("%s ", Window{r.parent, r.size})
	}
	return s[:len(s)-1]
}

// spans is ranges or dma-ranges of a bus.
func (n Node) spans(name string) ([]span, error) {
	parent, _ := n.Parent()
	at, size := n.cellSizes()
	above, _ := parent.cellSizes()
	entries, err := n.entries(name, at, above, size)
	if err != nil {
		return nil, err
	}
	var all []span
	for _, e := range entries {
		s := span{child: e[0], parent: e[1], size: e[2]}
		if s.child > math.MaxUint64-s.size || s.parent > math.MaxUint64-s.size {
			return nil, fmt.Errorf("devtree: %s: %s: %d bytes at %#x and %#x: %w", n.path, name, s.size, s.child, s.parent, ErrMalformed)
		}
		all = append(all, s)
	}
	return all, nil
}

// cellSizes are how many cells an address and a size take in the node's children.
func (n Node) cellSizes() (address, size uint32) {
	address, size = 2, 1 // Devicetree Specification, 2.3.5
	if v, ok := n.Cell("#address-cells"); ok {
		address = v
	}
	if v, ok := n.Cell("#size-cells"); ok {
		size = v
	}
	return address, size
}

// entries cuts a property into entries of numbers that take so many cells each.
func (n Node) entries(name string, sizes ...uint32) ([][]uint64, error) {
	total := 0
	for _, s := range sizes {
		// More than two cells do not fit; PCI buses have three, and no memory map.
		if s > 2 {
			return nil, fmt.Errorf("devtree: %s: %s has numbers of %d cells: at most 2 can be used here: %w", n.path, name, s, ErrMalformed)
		}
		total += int(s)
	}
	cells := n.Cells(name)
	if total == 0 || len(cells)%total != 0 {
		return nil, fmt.Errorf("devtree: %s: %s has %d cells, want a multiple of %d: %w", n.path, name, len(cells), total, ErrMalformed)
	}
	var all [][]uint64
	for len(cells) > 0 {
		var e []uint64
		for _, s := range sizes {
			v := uint64(0)
			for _, c := range cells[:s] {
				v = v<<32 | uint64(c)
			}
			e, cells = append(e, v), cells[s:]
		}
		all = append(all, e)
	}
	return all, nil
}

// Reserved are the ranges of memory set aside for the device, which the kernel does
// not touch: what memory-region refers to, as far as it is no-map and at a fixed
// address.
func (n Node) Reserved() ([]Window, error) {
	var all []Window
	for i := range n.Cells("memory-region") {
		region, err := n.Refer("memory-region", i)
		if err != nil {
			return nil, err
		}
		if !region.Has("no-map") || !region.Has("reg") || !region.Enabled() {
			continue
		}
		w, err := region.Windows()
		if err != nil {
			return nil, err
		}
		all = append(all, w...)
	}
	return all, nil
}

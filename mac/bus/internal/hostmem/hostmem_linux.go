package hostmem

import (
	"errors"
	"fmt"
	"strings"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/bus/devtree"
	"github.com/barewire/barewire/mac/bus/internal/cache"
	"github.com/barewire/barewire/mac/bus/internal/dma"
	"github.com/barewire/barewire/mac/bus/internal/sysfs"
	"github.com/barewire/barewire/mac/bus/memory"
	"github.com/barewire/barewire/pagepool"
)

// Config says for which device memory is made.
type Config struct {
	// Name begins errors ("uio: uio0").
	Name string
	Root sysfs.Root
	// Arch is the CPU's architecture, as GOARCH.
	Arch string
	// Device is the device's directory in sysfs, "" when it has none.
	Device string
	// Node is its device-tree node, nil when it has none.
	Node *devtree.Node
	// Options is what the user wants.
	Options memory.Options
	// Window maps memory of the device that the bus itself has, uncached. nil: none.
	Window *Window
	// Hooks are for tests.
	Hooks Hooks
}

// Window is physical memory that can be mapped from a file.
type Window struct {
	// What says in a few words what it is.
	What   string
	Range  memory.Range
	File   func() (fd int, err error) // the caller closes it
	Offset int64                      // of Range.Addr in the file
}

// Memory is the DMA memory of one device. Its methods may be called from any goroutine.
type Memory struct {
	name        string
	buffers     *dma.Pool // nil: there is none
	descriptors *dma.Pool // may be the same
	refuse      error     // why Alloc fails
	says        string
}

// New chooses. It takes no memory yet; when there is none to take, Alloc says why.
// The error is about options that cannot be.
func New(c Config) (*Memory, error) {
	m := &Memory{name: c.Name}
	if err := check(c.Options); err != nil {
		return nil, err
	}
	s, err := c.survey()
	if err != nil {
		m.refuse, m.says = err, "no DMA memory"
		return m, nil
	}
	m.choose(c, s)
	return m, nil
}

func check(o memory.Options) error {
	n := 0
	for _, given := range []bool{o.UDMABuf != "", o.UnsafeDMAHeap != "", o.UnsafeHugePages} {
		if given {
			n++
		}
	}
	if n > 1 {
		return fmt.Errorf("memory from u-dma-buf, a DMA heap and huge pages: choose one: %w", mac.ErrConfig)
	}
	if o.HugePageSize < 0 || o.HugePageSize&(o.HugePageSize-1) != 0 {
		return fmt.Errorf("huge page size %d: want a power of two: %w", o.HugePageSize, mac.ErrConfig)
	}
	for _, name := range []string{o.UDMABuf, o.UnsafeDMAHeap} {
		if strings.ContainsAny(name, "/\x00") || name == "." || name == ".." {
			return fmt.Errorf("memory device %q: want a name without directories: %w", name, mac.ErrConfig)
		}
	}
	return nil
}

// situation is what matters for the choice.
type situation struct {
	coherent bool
	why      string
	reach    reach
	window   *Window // memory set aside; nil: none
}

// reach says where the device finds physical memory.
type reach struct{ dma devtree.DMA }

// device translates size bytes at phys. ok is false when the device does not see them.
func (r reach) device(phys, size uint64) (addr uint64, ok bool) { return r.dma.Device(phys, size) }

func (c *Config) survey() (situation, error) {
	s := situation{window: c.Window}
	s.coherent, s.why = c.Root.Coherent(c.Device, c.Arch)
	if !s.coherent && c.Options.AssumeCoherent {
		s.coherent, s.why = true, "Options.AssumeCoherent"
	}
	if kind, _ := c.Root.Text(c.Device, "iommu_group/type"); c.Device != "" && strings.HasPrefix(kind, "DMA") {
		return s, fmt.Errorf("an IOMMU stands between the device and memory (%s), which knows nothing of addresses taken here: use package vfio, or turn translation off: iommu.passthrough=1 on the kernel command line: %w",
			c.Root.Path(c.Device, "iommu_group/type"), mac.ErrUnsupported)
	}
	reserved := c.Options.Reserved
	what := "reserved memory"
	if c.Node != nil {
		d, err := c.Node.DMA()
		if err != nil {
			return s, err
		}
		s.reach = reach{d}
		if reserved == (memory.Range{}) && s.window == nil {
			windows, err := c.Node.Reserved()
			if err != nil {
				return s, err
			}
			if len(windows) > 0 {
				reserved, what = memory.Range(windows[0]), "memory-region of the device tree"
			}
		}
	}
	if reserved != (memory.Range{}) {
		s.window = devMem(c, reserved, what)
	}
	return s, nil
}

// choose sets up the pools.
func (m *Memory) choose(c Config, s situation) {
	pool := func(source dma.Source) *dma.Pool { return dma.NewPool(m.name, source) }
	coherence := "coherent since " + s.why
	sync, how := maintenance(c)
	if !s.coherent {
		coherence = "not coherent since " + s.why + ", maintained by " + how
	}
	var uncached dma.Source
	if s.window != nil {
		uncached = &reserved{window: *s.window, reach: s.reach, root: c.Root}
	}
	switch o := c.Options; {
	case o.UDMABuf != "":
		u, err := newUDMABuf(c, s, sync)
		if err != nil {
			m.refuse, m.says = err, "no DMA memory"
			return
		}
		m.buffers = pool(u)
		m.descriptors = m.buffers
		m.says = fmt.Sprintf("DMA memory from u-dma-buf %s (%d KiB at %#x), %s", o.UDMABuf, u.size>>10, u.phys, u.coherence(how))
	case o.UnsafeDMAHeap != "" || o.UnsafeHugePages:
		if !s.coherent && sync == nil {
			m.refuse, m.says = fmt.Errorf("DMA is not coherent, since %s, and on %s a program cannot maintain the cache: use u-dma-buf or reserved memory: %w", s.why, c.Arch, mac.ErrUnsupported), "no DMA memory"
			return
		}
		if !s.coherent && uncached == nil {
			m.refuse, m.says = fmt.Errorf("DMA is not coherent, since %s, and descriptors need memory that is not cached: set Options.Reserved besides, or use u-dma-buf: %w", s.why, mac.ErrUnsupported), "no DMA memory"
			return
		}
		name := "huge pages"
		from := pages{kind: dma.Coherent, reach: s.reach}
		if !s.coherent {
			from.kind, from.maintain = dma.Cached, sync
		}
		if o.UnsafeHugePages {
			m.buffers = pool(newHugePages(c, from))
		} else {
			name = "DMA heap " + o.UnsafeDMAHeap
			m.buffers = pool(&heap{name: o.UnsafeDMAHeap, root: c.Root, pages: from, hooks: c.Hooks})
		}
		m.descriptors = m.buffers
		m.says = fmt.Sprintf("DMA memory from %s without IOMMU (unsafe), %s", name, coherence)
		if !s.coherent {
			m.descriptors = pool(uncached)
			m.says += ", descriptors uncached in " + s.window.What + " at " + s.window.Range.String()
		}
	case uncached != nil:
		m.buffers = pool(uncached)
		m.descriptors = m.buffers
		m.says = fmt.Sprintf("DMA memory from %s at %s, uncached: frames are copied in aligned words", s.window.What, s.window.Range)
	default:
		m.refuse = fmt.Errorf("there is no DMA memory. Choose: package vfio, where there is an IOMMU; memory set aside for the device (memory-region in the device tree, or mem= and Options.Reserved); Options.UDMABuf; or Options.UnsafeHugePages, as root, knowing that a device that is not stopped writes to memory of others: %w", mac.ErrConfig)
		m.says = "no DMA memory (none is set aside, and no option names any)"
	}
}

// Err is why Alloc fails, nil when nothing is known to stand in its way.
func (m *Memory) Err() error { return m.refuse }

// Alloc implements mac.Bus.Alloc.
func (m *Memory) Alloc(a mac.Alloc) (pagepool.Memory, error) {
	if m.refuse != nil {
		return nil, fmt.Errorf("%s: %w", m.name, m.refuse)
	}
	if a.Use == mac.Descriptors {
		return m.descriptors.Alloc(a)
	}
	return m.buffers.Alloc(a)
}

// Close ends allocation. Memory that is still out stays as it is until it is released.
func (m *Memory) Close() {
	if m.buffers != nil {
		m.buffers.Close()
		m.descriptors.Close()
	}
}

// String says in half a line what the memory is and why.
func (m *Memory) String() string { return m.says }

// InUse counts the pieces that are out and the bytes mapped.
func (m *Memory) InUse() (pieces, mapped int) {
	if m.buffers == nil {
		return 0, 0
	}
	pieces, mapped = m.buffers.InUse()
	if m.descriptors != m.buffers {
		p, n := m.descriptors.InUse()
		pieces, mapped = pieces+p, mapped+n
	}
	return pieces, mapped
}

// maintenance is how a program keeps caches right here: nil when it cannot.
func maintenance(c Config) (func(bytes []byte) dma.Syncer, string) {
	line, clean, invalidate := cache.LineSize(), cache.Clean, cache.CleanInvalidate
	if c.Hooks.Cache != nil {
		line, clean, invalidate = c.Hooks.Cache()
	}
	// Pages may lie 64 bytes apart (mac.Config.PageSize).
	const most = 64
	if line == 0 || line > most {
		return nil, ""
	}
	return func(b []byte) dma.Syncer { return &instructions{b, clean, invalidate} },
		fmt.Sprintf("DC CVAC and DC CIVAC on lines of %d bytes", line)
}

// instructions keeps one region right by instructions of the CPU.
type instructions struct {
	bytes             []byte
	clean, invalidate func([]byte)
}

// ForDevice implements dma.Syncer. Lines of buffers that the device will write to
// must not stay: one that is still dirty would be written over its frame.
func (i *instructions) ForDevice(use mac.Use, off, n int) {
	if use == mac.TXBuffers {
		i.clean(i.bytes[off : off+n])
		return
	}
	i.invalidate(i.bytes[off : off+n])
}

// ForCPU implements dma.Syncer. The CPU may have read lines ahead while the device
// wrote them.
func (i *instructions) ForCPU(use mac.Use, off, n int) {
	if use != mac.TXBuffers {
		i.invalidate(i.bytes[off : off+n])
	}
}

// pages is what kinds of plain pages have in common.
type pages struct {
	kind     dma.Kind
	reach    reach
	maintain func([]byte) dma.Syncer
}

func (p *pages) region(b []byte, device uint64) dma.Region {
	r := dma.Region{Bytes: b, Device: device, Kind: p.kind}
	if p.kind == dma.Cached {
		r.Sync = p.maintain(b)
	}
	return r
}

// errFull is why a source has no more to give.
var errFull = errors.New("used up")

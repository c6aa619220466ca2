//go:build linux

package hostmem

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/bus/internal/dma"
	"github.com/barewire/barewire/mac/bus/internal/fakeroot"
	"github.com/barewire/barewire/mac/bus/internal/sysfs"
	"github.com/barewire/barewire/mac/bus/memory"
)

const mib = 1 << 20

func TestNeighbours(t *testing.T) {
	const page = 2 * mib
	for _, c := range []struct {
		name  string
		pages []uint64 // addresses in units of a page
		need  int
		limit uint64
		want  []int // indexes into pages; nil: none
	}{
		{"one", []uint64{7}, 1, 1 << 40, []int{0}},
		{"the lowest", []uint64{9, 7}, 1, 1 << 40, []int{1}},
		{"two in order", []uint64{7, 8}, 2, 1 << 40, []int{0, 1}},
		{"two the other way round", []uint64{8, 7}, 2, 1 << 40, []int{1, 0}},
		{"two with a hole", []uint64{7, 9}, 2, 1 << 40, nil},
		{"three of six", []uint64{20, 3, 5, 21, 4, 9}, 3, 1 << 40, []int{1, 4, 2}},
		{"too few", []uint64{1, 2}, 3, 1 << 40, nil},
		{"below the limit", []uint64{2047}, 1, 1 << 32, []int{0}},
		{"above the limit", []uint64{2048}, 1, 1 << 32, nil},
		{"half above the limit", []uint64{2047, 2048}, 2, 1 << 32, nil},
		{"across 4 GiB", []uint64{2047, 2048}, 2, 1 << 40, nil},
		{"behind 4 GiB", []uint64{2047, 2048, 2049}, 2, 1 << 40, []int{1, 2}},
		{"before 4 GiB", []uint64{2048, 2047, 2046}, 2, 1 << 40, []int{2, 1}},
	} {
		var pages []hugePage
		for i, a := range c.pages {
			pages = append(pages, hugePage{i, a * page})
		}
		var got []int
		for _, p := range neighbours(pages, c.need, page, c.limit) {
			got = append(got, p.index)
		}
		require.Equal(t, c.want, got, c.name)
	}
}

func TestHugePages(t *testing.T) {
	const base = 0x4000_0000
	page := uint64(os.Getpagesize())
	for _, c := range []struct {
		name  string
		huge  []uint64 // in units of a huge page from base
		entry func(i int, e uint64) uint64
		size  int
		bits  int
		addr  uint64 // in the same units
		err   error
		text  string
	}{
		{name: "one page", huge: []uint64{3}, size: 100, bits: 32, addr: 3},
		{name: "two pages in the wrong order", huge: []uint64{4, 3}, size: hugeSize + 1, bits: 32, addr: 3},
		{name: "neighbours among more", huge: []uint64{9, 3, 7, 5, 8, 11, 2, 1}, size: 3 * hugeSize, bits: 32, addr: 1},
		{name: "no neighbours", huge: []uint64{9, 3, 7, 5, 8, 11, 2, 0}, size: 3*hugeSize + 1, bits: 32, err: mac.ErrUnsupported, text: "need 4 of 65536 bytes side by side below 0x100000000 and not across 4 GiB, looked at 64"},
		{name: "found at the second try", huge: []uint64{9, 3, 11, 5, 7, 1, 8, 20}, size: 2 * hugeSize, bits: 32, addr: 7},
		{name: "first page is too high", huge: []uint64{0x10_0000, 0x11_0000, 0x12_0000, 6}, size: 100, bits: 32, addr: 6},
		{name: "high page for a wide device", huge: []uint64{0x10_0000}, size: 100, bits: 40, addr: 0x10_0000},
		{name: "hidden frame numbers", huge: []uint64{3}, size: 100, bits: 32,
			entry: func(_ int, e uint64) uint64 { return e &^ frameMask }, err: os.ErrPermission, text: "pagemap hides physical addresses: run as root (CAP_SYS_ADMIN)"},
		{name: "not present", huge: []uint64{3}, size: 100, bits: 32,
			entry: func(i int, e uint64) uint64 {
				if i == 2 {
					return 0
				}
				return e
			}, err: mac.ErrUnsupported, text: "page 2 of DMA memory is not present"},
		{name: "swapped", huge: []uint64{3}, size: 100, bits: 32,
			entry: func(i int, e uint64) uint64 { return e | pageSwapped }, err: mac.ErrUnsupported, text: "page 0 of DMA memory is swapped out: it is not locked"},
		{name: "not contiguous", huge: []uint64{3}, size: 100, bits: 32,
			entry: func(i int, e uint64) uint64 {
				if i == 3 {
					return e + 1
				}
				return e
			}, err: mac.ErrUnsupported, text: "not in one piece: page 3"},
		{name: "not a huge page", huge: []uint64{3}, size: 100, bits: 32,
			entry: func(i int, e uint64) uint64 { return e + 1 }, err: mac.ErrUnsupported, text: "it is no huge page"},
		{name: "size of the pool", huge: []uint64{3}, size: 0, bits: 32, err: mac.ErrConfig},
	} {
		t.Run(c.name, func(t *testing.T) {
			pm := &pagemap{T: t, entry: c.entry}
			for _, h := range c.huge {
				pm.huge = append(pm.huge, base+h*hugeSize)
			}
			for i := range 64 { // more than are looked at, far apart, too high
				pm.huge = append(pm.huge, uint64(i)<<33+1<<40)
			}
			fake := &fakeHuge{}
			pool := dma.NewPool("test", newHugePages(hugeConfig(pm, fake), pages{}))
			m, err := pool.Alloc(mac.Alloc{Size: c.size, Align: int(page), AddressBits: c.bits})
			if c.err != nil {
				require.ErrorIs(t, err, c.err)
				require.ErrorContains(t, err, c.text)
				require.Zero(t, mappings(t), "nothing stays mapped")
				return
			}
			require.NoError(t, err)
			require.Equal(t, base+c.addr*hugeSize, m.DeviceAddr())
			// Each byte is where the device finds it.
			for off := 0; off < len(m.Bytes()); off += int(page) {
				b := m.Bytes()[off:]
				b[0] = 0x5a
				pos := filePosition(t, dma.Address(b))
				require.Equal(t, m.DeviceAddr()+uint64(off), pm.huge[pos/hugeSize]+pos%hugeSize)
			}
			require.NoError(t, m.Release())
			require.Zero(t, mappings(t), "the last piece gives the pages back")
		})
	}
}

func TestSmallPiecesShareAHugePage(t *testing.T) {
	fake := &fakeHuge{}
	pm := &pagemap{T: t, huge: []uint64{0x4000_0000}}
	pool := dma.NewPool("test", newHugePages(hugeConfig(pm, fake), pages{}))
	a, err := pool.Alloc(mac.Alloc{Use: mac.Descriptors, Size: 512 * 16, Align: 64, AddressBits: 32})
	require.NoError(t, err)
	b, err := pool.Alloc(mac.Alloc{Use: mac.Buffers, Size: 16 << 10, Align: 4096, AddressBits: 32})
	require.NoError(t, err)
	require.Len(t, fake.sizes, 1)
	require.Equal(t, uint64(0x4000_0000), a.DeviceAddr())
	require.Equal(t, uint64(0x4000_2000), b.DeviceAddr())

	// The kernel moves the page under the next allocation.
	pm.huge[0] += hugeSize
	_, err = pool.Alloc(mac.Alloc{Size: 64, AddressBits: 32})
	require.ErrorIs(t, err, mac.ErrUnsupported)
	require.ErrorContains(t, err, "DMA memory has moved from 0x40000000 to 0x40010000")
	pm.huge[0] -= hugeSize

	pool.Close()
	copy(a.Bytes(), "still there")
	require.NoError(t, a.Release())
	require.Equal(t, 1, mappings(t))
	require.NoError(t, b.Release())
	require.Zero(t, mappings(t))
}

// TestPagesComeApart has pages that move between the first look and the last.
func TestPagesComeApart(t *testing.T) {
	fake := &fakeHuge{}
	looks := 0
	pm := &pagemap{T: t, huge: []uint64{0x4000_0000}}
	pm.entry = func(i int, e uint64) uint64 {
		if i == 0 {
			looks++
		}
		if looks > 1 {
			return e + hugeSize/uint64(os.Getpagesize())
		}
		return e
	}
	pool := dma.NewPool("test", newHugePages(hugeConfig(pm, fake), pages{}))
	_, err := pool.Alloc(mac.Alloc{Size: 64, AddressBits: 32})
	require.ErrorContains(t, err, "has moved")
	require.Equal(t, 2, looks)
	require.Zero(t, mappings(t))
}

func TestDefaultSize(t *testing.T) {
	tr := fakeroot.New(t)
	h := newHugePages(Config{Root: sysfs.Root(tr.Dir)}, pages{})
	_, err := h.size()
	require.ErrorIs(t, err, os.ErrNotExist)
	tr.Write("/proc/meminfo", "MemTotal: 1000 kB\nHugePages_Total: 0\n")
	_, err = h.size()
	require.ErrorIs(t, err, mac.ErrUnsupported)
	require.ErrorContains(t, err, "CONFIG_HUGETLBFS")
	tr.Write("/proc/meminfo", "MemTotal: 1000 kB\nHugepagesize:       2047 kB\n")
	_, err = h.size()
	require.ErrorContains(t, err, "Hugepagesize 2047 kB")
	tr.Write("/proc/meminfo", "MemTotal: 1000 kB\nHugepagesize:       2048 kB\n")
	size, err := h.size()
	require.NoError(t, err)
	require.Equal(t, 2*mib, size)
	_, err = h.Map(mac.Buffers, 1, 4*mib, 1<<32)
	require.ErrorIs(t, err, mac.ErrConfig)
}

func TestNoFreeHugePages(t *testing.T) {
	tr := fakeroot.New(t)
	tr.Write("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "3\n")
	h := newHugePages(Config{Root: sysfs.Root(tr.Dir)}, pages{})
	err := h.short(unix.ENOMEM, 5, 2*mib)
	require.EqualError(t, err, "need 5 huge pages of 2048 kB, free: 3. As root: echo 10 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages: cannot allocate memory")
	require.ErrorIs(t, err, unix.ENOMEM)
}

// TestRealHugePages runs where there are free huge pages and pagemap shows them.
func TestRealHugePages(t *testing.T) {
	pool := dma.NewPool("test", newHugePages(Config{}, pages{}))
	small, err := pool.Alloc(mac.Alloc{Size: 8192, Align: 4096, AddressBits: 64})
	if err != nil {
		t.Skipf("no huge pages here: %v", err)
	}
	require.NotZero(t, small.DeviceAddr())
	require.NoError(t, small.Release())
	big, err := pool.Alloc(mac.Alloc{Size: 3 * mib, Align: 4096, AddressBits: 64})
	if err != nil {
		require.ErrorContains(t, err, "huge pages")
		t.Skipf("no two that are neighbours: %v", err)
	}
	b := big.Bytes()
	b[0], b[len(b)-1] = 1, 2
	require.NoError(t, big.Release())
	_, mapped := pool.InUse()
	require.Zero(t, mapped)
}

// The device counts as dma-ranges has it, and pages that it does not reach are passed
// over.
func TestHugePagesWithinReach(t *testing.T) {
	r := machine(t)
	r.Cells(treeBase+"/#address-cells", 1)
	r.Cells(treeBase+"/soc/dma-ranges", 0x80000000, 0x40000000, 0x100000)
	r.Write(treeNode+"/dma-coherent", "")
	c := config(r, memory.Options{UnsafeHugePages: true, HugePageSize: hugeSize})
	fake, pm := &fakeHuge{}, &pagemap{T: t, huge: []uint64{0x30000000, 0x40030000, 0x40020000, 0x40100000, 0x50000000, 0x60000000, 0x70000000, 0x20000000}}
	c.Hooks.Pagemap, c.Hooks.Memfd = pm, fake.create
	m, err := New(c)
	require.NoError(t, err)
	d, err := ask(m, mac.RXBuffers, 2*hugeSize)
	require.NoError(t, err)
	require.Equal(t, uint64(0x80020000), d.DeviceAddr())
	require.Equal(t, uint64(2*hugeSize), filePosition(t, dma.Address(d.Bytes())), "the third page is the lower one")
	require.NoError(t, d.Release())
	require.Zero(t, mappings(t))
}

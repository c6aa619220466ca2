package hostmem

import (
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/bus/internal/dma"
	"github.com/barewire/barewire/mac/bus/internal/sysfs"
)

const (
	fourGiB = 1 << 32
	// maxGather bounds what is taken for a moment to find neighbours in, in bytes.
	maxGather = 1 << 30
)

// hugePages is a dma.Source. Its memory is huge pages of files that never had a
// name: the kernel frees them with the last mapping, however the process ends.
// The mappings are shared, so that a fork does not move pages.
//
// Huge pages are locked, never swapped and in one piece each. What needs more
// than one is put together of pages that happen to be neighbours.
type hugePages struct {
	pages
	root     sysfs.Root
	pageSize int // 0: the system's default
	pagemap  io.ReaderAt
	memfd    func(size int64) (int, error)
}

func newHugePages(c Config, from pages) *hugePages {
	h := &hugePages{pages: from, root: c.Root, pageSize: c.Options.HugePageSize, pagemap: c.Hooks.Pagemap, memfd: c.Hooks.Memfd}
	if h.memfd == nil {
		h.memfd = h.create
	}
	return h
}

// Map implements dma.Source.
func (h *hugePages) Map(_ mac.Use, size, align int, limit uint64) (dma.Region, error) {
	page, err := h.size()
	if err != nil {
		return dma.Region{}, err
	}
	if align > page {
		return dma.Region{}, fmt.Errorf("alignment %d is more than a huge page of %d bytes: %w", align, page, mac.ErrConfig)
	}
	need := (size + page - 1) / page
	// The first pages may lie too high or apart. More of them make it likely that
	// some do not; the rest go back.
	r, err := h.gather(need, need, page, limit)
	for _, factor := range []int{4, 16} {
		if !errors.Is(err, errScattered) || need > maxGather/page/factor {
			break
		}
		more, merr := h.gather(factor*need, need, page, limit)
		if merr != nil && !errors.Is(merr, errScattered) {
			return dma.Region{}, fmt.Errorf("%w; to look at more: %w", err, merr)
		}
		r, err = more, merr
	}
	return r, err
}

// errScattered says that other pages might do.
var errScattered = errors.New("no neighbouring huge pages")

// gather takes count huge pages and keeps need of them that are neighbours below
// limit.
func (h *hugePages) gather(count, need, page int, limit uint64) (dma.Region, error) {
	fd, err := h.memfd(int64(count) * int64(page))
	if err != nil {
		return dma.Region{}, err
	}
	defer unix.Close(fd)
	all, err := unix.Mmap(fd, 0, count*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return dma.Region{}, h.short(err, count, page)
	}
	var pages []hugePage // those that the device reaches
	for i := range count {
		phys, err := h.locate(all[i*page : (i+1)*page])
		if err != nil {
			return dma.Region{}, errors.Join(err, unix.Munmap(all))
		}
		if addr, ok := h.reach.device(phys, uint64(page)); ok {
			pages = append(pages, hugePage{index: i, addr: addr})
		}
	}
	if err := unix.Munmap(all); err != nil {
		return dma.Region{}, err
	}
	run := neighbours(pages, need, uint64(page), limit)
	if run == nil {
		return dma.Region{}, fmt.Errorf("%w: need %d of %d bytes side by side below %#x and not across 4 GiB, looked at %d. Reserve them at boot (hugepages=%d on the kernel command line), take larger ones (Options.HugePageSize) or ask for less memory (mac.Config.Pages): %w",
			errScattered, need, page, limit, count, count, mac.ErrUnsupported)
	}
	b, err := mapPages(fd, run, page)
	if err != nil {
		return dma.Region{}, h.short(err, need, page)
	}
	for i := range count {
		if slices.ContainsFunc(run, func(p hugePage) bool { return p.index == i }) {
			continue
		}
		if err := unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, int64(i)*int64(page), int64(page)); err != nil {
			return dma.Region{}, errors.Join(fmt.Errorf("give huge pages back: %w", err), unmapPages(b, page))
		}
	}
	r := h.region(b, run[0].addr)
	if err := unix.Mlock(b); err != nil {
		return dma.Region{}, errors.Join(fmt.Errorf("lock %d bytes of DMA memory: %w (raise the limit: ulimit -l unlimited)", len(b), err), unmapPages(b, page))
	}
	if err := h.Check(r); err != nil {
		return dma.Region{}, errors.Join(err, unmapPages(b, page))
	}
	return r, nil
}

// hugePage is one page of the file.
type hugePage struct {
	index int
	addr  uint64 // as the device counts
}

// neighbours returns need pages in the order of their addresses, nil when there
// are none that will do.
func neighbours(pages []hugePage, need int, page, limit uint64) []hugePage {
	byAddr := slices.SortedFunc(slices.Values(pages), func(a, b hugePage) int {
		if a.addr < b.addr {
			return -1
		}
		return 1
	})
	from := 0
	for i, p := range byAddr {
		if i > 0 && p.addr != byAddr[i-1].addr+page {
			from = i
		}
		last := p.addr + page - 1
		if last >= limit {
			return nil
		}
		if i-from+1 < need {
			continue
		}
		if first := byAddr[i-need+1].addr; first/fourGiB == last/fourGiB {
			return byAddr[i-need+1 : i+1]
		}
	}
	return nil
}

// locate returns the physical address of one huge page.
func (h *hugePages) locate(b []byte) (uint64, error) {
	pagemap := h.pagemap
	if pagemap == nil {
		f, err := openPagemap()
		if err != nil {
			return 0, err
		}
		defer f.Close()
		pagemap = f
	}
	addr, err := physical(pagemap, b)
	if err == nil && addr%uint64(len(b)) != 0 {
		return 0, fmt.Errorf("huge page of %d bytes at %#x: not aligned: it is no huge page: %w", len(b), addr, mac.ErrUnsupported)
	}
	return addr, err
}

// Check implements dma.Source. Huge pages can still be moved by hand, as memory
// hot-remove does.
func (h *hugePages) Check(r dma.Region) error {
	page, err := h.size()
	if err != nil {
		return err
	}
	for off := 0; off < len(r.Bytes); off += page {
		phys, err := h.locate(r.Bytes[off : off+page])
		if err != nil {
			return err
		}
		if addr, want := h.deviceOr(phys, page), r.Device+uint64(off); addr != want {
			return fmt.Errorf("DMA memory has moved from %#x to %#x: stop the device, turn memory hot-remove off: %w", want, addr, mac.ErrUnsupported)
		}
	}
	return nil
}

// deviceOr is what the device calls a page, or its physical address when it does not
// see it.
func (h *hugePages) deviceOr(phys uint64, page int) uint64 {
	if addr, ok := h.reach.device(phys, uint64(page)); ok {
		return addr
	}
	return phys
}

// Unmap implements dma.Source.
func (h *hugePages) Unmap(r dma.Region) error {
	page, err := h.size()
	if err != nil {
		return err
	}
	return unmapPages(r.Bytes, page)
}

// size is the size of a huge page in bytes.
func (h *hugePages) size() (int, error) {
	if h.pageSize != 0 {
		return h.pageSize, nil
	}
	kB, err := h.meminfo("Hugepagesize")
	if err != nil {
		return 0, err
	}
	if kB <= 0 || kB > 1<<20 || bits.OnesCount(uint(kB)) != 1 {
		return 0, fmt.Errorf("/proc/meminfo: Hugepagesize %d kB: give Options.HugePageSize: %w", kB, mac.ErrUnsupported)
	}
	h.pageSize = kB << 10 // for Unmap, whatever becomes of /proc
	return h.pageSize, nil
}

func (h *hugePages) meminfo(name string) (int, error) {
	text, err := h.root.Text("/proc/meminfo")
	if err != nil {
		return 0, fmt.Errorf("find huge pages: %w", err)
	}
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == name+":" {
			return strconv.Atoi(f[1])
		}
	}
	return 0, fmt.Errorf("/proc/meminfo has no %s: the kernel has no huge pages (CONFIG_HUGETLBFS): %w", name, mac.ErrUnsupported)
}

// create makes a file of huge pages without a name.
func (h *hugePages) create(size int64) (int, error) {
	page, err := h.size()
	if err != nil {
		return -1, err
	}
	log2 := bits.TrailingZeros(uint(page))
	fd, err := unix.MemfdCreate("barewire-dma", unix.MFD_CLOEXEC|unix.MFD_HUGETLB|log2<<unix.MAP_HUGE_SHIFT)
	if err != nil {
		return -1, fmt.Errorf("huge pages of %d bytes: %w (sizes this kernel has: ls /sys/kernel/mm/hugepages)", page, err)
	}
	if err := unix.Ftruncate(fd, size); err != nil {
		return -1, errors.Join(fmt.Errorf("size huge page file to %d bytes: %w", size, err), unix.Close(fd))
	}
	return fd, nil
}

// short explains why huge pages cannot be had.
func (h *hugePages) short(err error, count, page int) error {
	if !errors.Is(err, unix.ENOMEM) {
		return fmt.Errorf("map %d huge pages of %d bytes: %w", count, page, err)
	}
	file := fmt.Sprintf("/sys/kernel/mm/hugepages/hugepages-%dkB/", page>>10)
	free := "unknown"
	if n, err := h.root.Text(file, "free_hugepages"); err == nil {
		free = n
	}
	return fmt.Errorf("need %d huge pages of %d kB, free: %s. As root: echo %d > %snr_hugepages: %w", count, page>>10, free, max(8, 2*count), file, err)
}

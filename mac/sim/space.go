package sim

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/barewire/barewire/mac"
)

// SpaceOptions says what a Space is like. The zero value is coherent memory on
// the Go heap, where the race detector sees it.
type SpaceOptions struct {
	// Trace counts what happens to the memory. nil makes a new one.
	Trace *Trace
	// Base is the device address of the first allocation. 0 chooses one with the
	// highest address bit set, so that a lost high word shows.
	Base uint64
	// NonCoherent puts a simulated cache between the CPU and buffers: what either
	// side writes reaches the other only through the Sync methods.
	NonCoherent bool
	// EvictPermille is how many of 1000 cache lines that the CPU left dirty in a
	// buffer given to the device are written back over what the device wrote.
	// 0 means all of them, less than 0 none.
	EvictPermille int
	// Seed seeds the choice of evicted lines.
	Seed uint64
	// Mmap takes page-aligned memory from the system instead of the Go heap.
	Mmap bool
	// Unwatched leaves the driver's descriptor accesses uncounted, for
	// benchmarks.
	Unwatched bool
}

// Addresses of a Space.
const (
	lowBase   = 0x4000_0000
	guardSize = 0x1_0000
	maxSize   = 1 << 30
)

// Space is the memory that devices reach by DMA. Device addresses are unlike
// CPU addresses, and there is unmapped space between allocations. A device
// that reaches for anything else gets an error, and the access is kept as a
// violation.
//
// Its methods may be called from any goroutine.
type Space struct {
	opts  SpaceOptions
	trace *Trace
	bad   Violations

	// live is sorted by address and replaced as a whole, so that Slice needs no
	// lock.
	live atomic.Pointer[[]*Memory]

	mu       sync.Mutex
	next     uint64
	released []span
	unmap    []func() error
	seed     uint64
}

type span struct{ from, to uint64 }

var _ DMA = (*Space)(nil)

// NewSpace returns an empty Space. opts may be nil.
func NewSpace(opts *SpaceOptions) *Space {
	s := &Space{}
	if opts != nil {
		s.opts = *opts
	}
	s.trace = s.opts.Trace
	if s.trace == nil {
		s.trace = NewTrace()
	}
	s.seed = s.opts.Seed
	s.live.Store(&[]*Memory{})
	return s
}

// Trace is where the Space counts.
func (s *Space) Trace() *Trace { return s.trace }

// Violations are the device's accesses outside of its memory.
func (s *Space) Violations() *Violations { return &s.bad }

// Live is the number of allocations that have not been released.
func (s *Space) Live() int { return len(*s.live.Load()) }

// Alloc returns zeroed memory. It fails with an error that wraps mac.ErrConfig
// when the request makes no sense or does not fit below the address limit.
func (s *Space) Alloc(a mac.Alloc) (*Memory, error) {
	align := max(a.Align, lineSize)
	if a.Size <= 0 || a.Size > maxSize || a.Align < 0 || bits.OnesCount(uint(a.Align)) > 1 || a.AddressBits < 16 || a.AddressBits > 64 {
		return nil, fmt.Errorf("sim: allocate %d bytes, alignment %d, %d address bits: %w", a.Size, a.Align, a.AddressBits, mac.ErrConfig)
	}
	size := (a.Size + lineSize - 1) &^ (lineSize - 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	addr, err := s.place(uint64(size), uint64(align), a.AddressBits)
	if err != nil {
		return nil, err
	}
	m := &Memory{space: s, addr: addr, size: a.Size, watched: a.Use == mac.Descriptors && !s.opts.Unwatched}
	if m.cpu, m.unmap, err = s.bytes(size, align); err != nil {
		return nil, err
	}
	m.dram = m.cpu
	if a.Use != mac.Descriptors && s.opts.NonCoherent {
		m.dram, m.clean = make([]byte, size), make([]byte, size)
		m.toCPU = a.Use == mac.RXBuffers
		s.seed++
		m.evict.seed(s.seed)
	}
	live := slices.Clone(*s.live.Load())
	i, _ := slices.BinarySearchFunc(live, addr, byAddr)
	live = slices.Insert(live, i, m)
	s.live.Store(&live)
	s.released = slices.DeleteFunc(s.released, func(r span) bool { return r.from < addr+uint64(size) && addr < r.to })
	return m, nil
}

func byAddr(m *Memory, addr uint64) int { return cmp.Compare(m.addr, addr) }

// place finds a device address. Addresses go up and are reused only after all
// others, so that a stale address is an unmapped one.
func (s *Space) place(size, align uint64, addressBits int) (uint64, error) {
	limit := uint64(1)<<min(addressBits, 63) - 1
	base := s.opts.Base
	if base == 0 {
		base = min(lowBase, limit/2+1)
		if addressBits > 32 {
			base += 1 << (min(addressBits, 40) - 1)
		}
	}
	at := max(base, s.next)
	if at > limit {
		at = base
	}
	for wrapped := false; ; {
		at = (at + align - 1) &^ (align - 1)
		if at>>32 != (at+size-1)>>32 {
			at = (at>>32 + 1) << 32
			continue
		}
		if at+size-1 > limit {
			if wrapped {
				return 0, fmt.Errorf("sim: allocate %d bytes: no room below %d address bits: %w", size, addressBits, mac.ErrConfig)
			}
			wrapped, at = true, base
			continue
		}
		i := slices.IndexFunc(*s.live.Load(), func(m *Memory) bool {
			return m.addr < at+size+guardSize && at < m.addr+uint64(len(m.cpu))+guardSize
		})
		if i < 0 {
			s.next = at + size + guardSize
			return at, nil
		}
		m := (*s.live.Load())[i]
		at = m.addr + uint64(len(m.cpu)) + guardSize
	}
}

// bytes returns size bytes aligned to align.
func (s *Space) bytes(size, align int) ([]byte, func() error, error) {
	if s.opts.Mmap {
		b, unmap, err := mapMemory(size + align)
		if err != nil {
			return nil, nil, fmt.Errorf("sim: map %d bytes: %w", size, err)
		}
		return alignBytes(b, size, align), unmap, nil
	}
	return alignBytes(make([]byte, size+align), size, align), nil, nil
}

// Slice implements DMA. A failed access is recorded as a violation.
func (s *Space) Slice(addr uint64, n int, write bool) ([]byte, error) {
	live := *s.live.Load()
	lo, hi := 0, len(live)
	for lo < hi {
		if mid := (lo + hi) / 2; live[mid].addr <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo > 0 && n >= 0 {
		m := live[lo-1]
		if off := addr - m.addr; off <= uint64(m.size) && uint64(n) <= uint64(m.size)-off {
			return m.dram[off : off+uint64(n) : off+uint64(n)], nil
		}
	}
	return nil, s.fault(addr, n, write)
}

func (s *Space) fault(addr uint64, n int, write bool) error {
	verb := "read"
	if write {
		verb = "write"
	}
	what := "unmapped"
	s.mu.Lock()
	for _, r := range s.released {
		if addr < r.to && r.from < addr+uint64(max(n, 1)) {
			what = "released"
		}
	}
	s.mu.Unlock()
	s.bad.Record("device %s of %d bytes at %#x: %s memory", verb, n, addr, what)
	return fmt.Errorf("sim: device %s of %d bytes at %#x: %s memory", verb, n, addr, what)
}

func (s *Space) release(m *Memory) {
	s.mu.Lock()
	defer s.mu.Unlock()
	live := slices.Clone(*s.live.Load())
	live = slices.DeleteFunc(live, func(o *Memory) bool { return o == m })
	s.live.Store(&live)
	s.released = append(s.released, span{m.addr, m.addr + uint64(len(m.cpu))})
	if m.unmap != nil {
		s.unmap = append(s.unmap, m.unmap)
	}
}

// Close returns released memory to the system. Memory that has not been
// released stays: somebody may still use it.
func (s *Space) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for _, f := range s.unmap {
		if e := f(); e != nil && err == nil {
			err = fmt.Errorf("sim: unmap: %w", e)
		}
	}
	s.unmap = nil
	return err
}

// Violations is a list of things that a driver or a device must never do.
type Violations struct {
	mu    sync.Mutex
	count int
	first []string
}

// maxViolations bounds the list; the count goes on.
const maxViolations = 64

// Record adds one.
func (v *Violations) Record(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.count++
	if len(v.first) < maxViolations {
		v.first = append(v.first, fmt.Sprintf(format, args...))
	}
}

// Count is how many have been recorded.
func (v *Violations) Count() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.count
}

// List is the first of them, 64 at most.
func (v *Violations) List() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.first)
}

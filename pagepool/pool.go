package pagepool

import (
	"fmt"
	"math"

	"gvisor.dev/gvisor/pkg/buffer"
)

// Page is the index of a page in its pool, from 0 to Pages-1.
type Page uint32

// Values of Config.CopyBreak.
const (
	// CopyBreakAuto measures the break-even on the pool's own memory in New.
	CopyBreakAuto = 0
	// LendAlways lends whatever the length.
	LendAlways = 1
	// CopyAlways copies whatever the length.
	CopyAlways = math.MaxInt32
)

// lineSize is the alignment that descriptors and cache maintenance need.
const lineSize = 64

// poisonByte fills free pages when Config.Poison is set.
const poisonByte = 0xdb

// Config describes a pool.
type Config struct {
	// PageSize is the size of a page in bytes: a multiple of 64, at most
	// 65536. On memory that is not coherent it must be a multiple of the cache
	// line too, or maintenance of one page would touch its neighbour.
	PageSize int
	// Pages is the number of pages; 0 takes as many as fit in the memory.
	Pages int
	// MaxLent is the loan limit: how many pages may be lent at one time. 0 means
	// half of the pages. Take at most Pages minus the slots of the ring, then a
	// slow reader cannot starve the ring.
	MaxLent int
	// CopyBreak is the length in bytes from which a payload is lent; shorter ones
	// are copied. The zero value measures it (CopyBreakAuto); tests that count
	// loans want a fixed one. The pool only keeps the figure: its user compares.
	CopyBreak int
	// Poison fills pages with 0xdb when they become free, so that a read of
	// freed data shows. Check then also finds writes to free pages. For tests.
	Poison bool
}

// Pool is a set of DMA pages of one size. It has one owner, the poll goroutine
// of its queue, which alone calls its methods; handing the pool to another
// goroutine takes a happens-before edge. Methods that are safe elsewhere say so.
type Pool struct {
	mem      []byte // nil once released
	memory   Memory
	addr     uint64
	pageSize int
	coherent bool
	poison   bool

	// state has one entry per page. free and lent list the pages of these
	// states, posted and held count the others.
	state  []state
	free   []Page // stack: the page that was used last is the warmest
	lent   []Page // in no order
	posted int
	held   int

	lender    *lender // nil when lending is off
	lendErr   error
	maxLent   int // 0 when lending is off
	copyBreak int

	scan   scan
	stats  counters
	closed bool
}

// state is who owns a page.
type state uint8

const (
	free state = iota
	posted
	held
	lent
)

func (s state) String() string {
	return [...]string{"free", "posted", "held", "lent"}[s]
}

// New makes a pool of pages at the start of mem, all of them free, and takes
// over mem: Close releases it. When New fails, mem stays with the caller.
//
// New reads the memory for about a millisecond when the copy break is measured.
// A gVisor whose buffers cannot be lent is no error: see CanLend.
func New(mem Memory, cfg Config) (*Pool, error) {
	return newPool(mem, cfg, findLayout)
}

// newPool is New with the layout search as a parameter.
func newPool(mem Memory, cfg Config, find func() (layout, error)) (*Pool, error) {
	cfg, err := cfg.check(mem)
	if err != nil {
		return nil, err
	}
	size := cfg.Pages * cfg.PageSize
	p := &Pool{
		mem:      mem.Bytes()[:size:size],
		memory:   mem,
		addr:     mem.DeviceAddr(),
		pageSize: cfg.PageSize,
		coherent: mem.Coherent(),
		poison:   cfg.Poison,
		state:    make([]state, cfg.Pages),
		free:     make([]Page, cfg.Pages),
		lent:     make([]Page, 0, cfg.MaxLent),
	}
	for i := range p.free {
		p.free[i] = Page(cfg.Pages - 1 - i) // page 0 goes first
	}
	if p.poison {
		fill(p.mem, poisonByte)
	}
	p.lender, p.lendErr = newLender(find, p.mem, cfg.PageSize)
	p.copyBreak = cfg.CopyBreak
	switch {
	case p.lendErr != nil:
		p.copyBreak = CopyAlways
	case cfg.CopyBreak == CopyBreakAuto:
		p.copyBreak = p.lender.breakEven(p.mem)
	}
	if p.lendErr == nil {
		p.maxLent = cfg.MaxLent
	}
	return p, nil
}

// check validates cfg against mem and fills in the defaults.
func (cfg Config) check(mem Memory) (Config, error) {
	if mem == nil {
		return cfg, fmt.Errorf("pagepool: new: no memory")
	}
	have := len(mem.Bytes())
	if cfg.PageSize <= 0 || cfg.PageSize%lineSize != 0 || cfg.PageSize > buffer.MaxChunkSize {
		return cfg, fmt.Errorf("pagepool: new: page size %d: need a multiple of %d up to %d",
			cfg.PageSize, lineSize, buffer.MaxChunkSize)
	}
	fit := min(have/cfg.PageSize, math.MaxInt32)
	if cfg.Pages == 0 {
		cfg.Pages = fit
	}
	if cfg.Pages < 1 || cfg.Pages > fit {
		return cfg, fmt.Errorf("pagepool: new: %d pages of %d bytes: memory of %d bytes holds %d, need at least 1",
			cfg.Pages, cfg.PageSize, have, fit)
	}
	if addr := mem.DeviceAddr(); addr%lineSize != 0 || addr+uint64(have) < addr {
		return cfg, fmt.Errorf("pagepool: new: device address %#x of %d bytes: need a multiple of %d and no wrap-around",
			addr, have, lineSize)
	}
	if cfg.MaxLent < 0 || cfg.MaxLent > cfg.Pages {
		return cfg, fmt.Errorf("pagepool: new: loan limit %d: need 0 (half) to %d, the number of pages",
			cfg.MaxLent, cfg.Pages)
	}
	if cfg.MaxLent == 0 {
		cfg.MaxLent = max(cfg.Pages/2, 1)
	}
	if cfg.CopyBreak < 0 {
		return cfg, fmt.Errorf("pagepool: new: copy break %d: need CopyBreakAuto, CopyAlways or a length in bytes",
			cfg.CopyBreak)
	}
	return cfg, nil
}

// PageSize is the size of every page in bytes.
func (p *Pool) PageSize() int { return p.pageSize }

// Pages is the number of pages, whatever their state.
func (p *Pool) Pages() int { return len(p.state) }

// CopyBreak is the copy break in force, in bytes: payloads shorter than this are
// copied. It may exceed the page size, which means that all are, and is
// CopyAlways when lending is off. It never changes.
func (p *Pool) CopyBreak() int { return p.copyBreak }

// CanLend is nil, or why this gVisor cannot be lent pages. Then Lend always
// refuses. It never changes.
func (p *Pool) CanLend() error { return p.lendErr }

// Alloc takes a free page to post to the device. When there is none it looks for
// lent pages that have come home, within the bounds of Reclaim. It answers false
// when there is no page now, and always once the pool is closed.
func (p *Pool) Alloc() (Page, bool) {
	n := len(p.free)
	if n == 0 || p.closed {
		return p.allocSlow()
	}
	pg := p.free[n-1]
	p.free = p.free[:n-1]
	p.state[pg] = posted
	p.posted++
	p.stats.allocFast++
	return pg, true
}

func (p *Pool) allocSlow() (Page, bool) {
	if !p.closed {
		p.Reclaim()
	}
	n := len(p.free)
	if n == 0 || p.closed {
		p.stats.allocEmpty++
		return 0, false
	}
	pg := p.free[n-1]
	p.free = p.free[:n-1]
	p.state[pg] = posted
	p.posted++
	p.stats.allocSlow++
	return pg, true
}

// Claim takes a posted page back after the device has: it is held now, as part
// of a frame in assembly.
func (p *Pool) Claim(pg Page) {
	p.want("Claim", pg, posted)
	p.state[pg] = held
	p.posted--
	p.held++
}

// Repost posts a held page again: the frame in it was dropped, and its slot is
// armed with the same page.
func (p *Pool) Repost(pg Page) {
	p.want("Repost", pg, held)
	p.state[pg] = posted
	p.held--
	p.posted++
}

// Recycle frees a held page: its bytes were copied, or dropped.
func (p *Pool) Recycle(pg Page) {
	p.want("Recycle", pg, held)
	p.held--
	p.stats.recycleCached++
	p.toFree(pg)
}

// Posted finds the posted page whose first byte has the device address addr. It
// is for devices that say by address which buffer they have filled, and are not
// to be trusted: ok is false for every other address, one inside a page included.
func (p *Pool) Posted(addr uint64) (pg Page, ok bool) {
	off := addr - p.addr // wraps to something huge below
	if off >= uint64(len(p.mem)) || uint(off)%uint(p.pageSize) != 0 {
		return 0, false
	}
	pg = Page(uint(off) / uint(p.pageSize))
	return pg, p.state[pg] == posted
}

// Unpost frees every posted page: the device has been stopped, and its owner
// does not know which ones it had.
func (p *Pool) Unpost() {
	for pg := range p.state {
		if p.state[pg] == posted {
			p.posted--
			p.stats.recycleCached++
			p.toFree(Page(pg))
		}
	}
}

// Lend lends the bytes off to off+n of a held page and returns a view of them,
// which the caller owns. The page is free again some time after the view and all
// clones of it were released. Nobody may write to a lent page; writes through
// views copy first.
//
// Lend answers false beyond the loan limit and when lending is off. The page is
// then still held, and the caller copies and calls Recycle. Bytes of a lent page
// may be read until the next call of Alloc or Reclaim.
func (p *Pool) Lend(pg Page, off, n int) (*buffer.View, bool) {
	p.want("Lend", pg, held)
	p.inside("Lend", pg, off, n)
	if len(p.lent) >= p.maxLent {
		p.stats.copiedLimit++
		return nil, false
	}
	p.state[pg] = lent
	p.held--
	p.lent = append(p.lent, pg)
	p.stats.lentHighWater = max(p.stats.lentHighWater, len(p.lent))
	return p.lender.view(pg, off, n), true
}

// CountCopy counts a payload that was copied because it is shorter than
// CopyBreak.
func (p *Pool) CountCopy() { p.stats.copiedShort++ }

// Bytes is the whole page: length and capacity are the page size. What may be
// done with it depends on the page's state: a posted page belongs to the device.
func (p *Pool) Bytes(pg Page) []byte {
	p.inside("Bytes", pg, 0, p.pageSize)
	o := int(pg) * p.pageSize
	return p.mem[o : o+p.pageSize : o+p.pageSize]
}

// Addr is the device address of the page's first byte.
func (p *Pool) Addr(pg Page) uint64 {
	return p.addr + uint64(pg)*uint64(p.pageSize)
}

// SyncForCPU makes what the device wrote to the bytes off to off+n of a page
// visible: after Claim, before the first read. It costs nothing on coherent
// memory.
func (p *Pool) SyncForCPU(pg Page, off, n int) {
	if p.coherent {
		return
	}
	p.inside("SyncForCPU", pg, off, n)
	p.memory.SyncForCPU(int(pg)*p.pageSize+off, n)
}

// SyncForDevice gives the bytes off to off+n of a page to the device: after
// Alloc or Repost, before its descriptor is. It must cover all that the device
// may write to, since a line still cached could be written back over it. It
// costs nothing on coherent memory.
func (p *Pool) SyncForDevice(pg Page, off, n int) {
	if p.coherent {
		return
	}
	p.inside("SyncForDevice", pg, off, n)
	p.memory.SyncForDevice(int(pg)*p.pageSize+off, n)
}

// toFree ends every way back: the page may be posted again from here on.
func (p *Pool) toFree(pg Page) {
	p.state[pg] = free
	if p.poison {
		fill(p.Bytes(pg), poisonByte)
	}
	p.free = append(p.free, pg)
}

// want panics unless the page is in the state that op needs.
func (p *Pool) want(op string, pg Page, s state) {
	if pg >= Page(len(p.state)) || p.state[pg] != s {
		p.badState(op, pg, s)
	}
}

func (p *Pool) badState(op string, pg Page, s state) {
	if pg >= Page(len(p.state)) {
		panic(fmt.Sprintf("pagepool: %s of page %d: the pool has %d pages", op, pg, len(p.state)))
	}
	panic(fmt.Sprintf("pagepool: %s of page %d: is %v, want %v", op, pg, p.state[pg], s))
}

// inside panics unless off to off+n lies in the page.
func (p *Pool) inside(op string, pg Page, off, n int) {
	if off < 0 || n < 0 || off > p.pageSize || n > p.pageSize-off || pg >= Page(len(p.state)) {
		p.badRange(op, pg, off, n)
	}
}

func (p *Pool) badRange(op string, pg Page, off, n int) {
	panic(fmt.Sprintf("pagepool: %s of page %d: %d bytes at %d: the pool has %d pages of %d bytes",
		op, pg, n, off, len(p.state), p.pageSize))
}

func fill(b []byte, v byte) {
	for i := range b {
		b[i] = v
	}
}

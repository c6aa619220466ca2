// Package dma cuts DMA memory into the pieces a driver asks for. Where the
// memory comes from, and which address the device has for it, is the bus's
// business.
package dma

import (
	"errors"
	"fmt"
	"math/bits"
	"os"
	"slices"
	"sync"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/pagepool"
)

const (
	// line is the unit of pieces: no two of them share a cache line of any CPU
	// this runs on (64 bytes; 128 on some arm64), nor a word.
	line = 128
	// maxPiece bounds a piece, so that sizes fit an int of 32 bits.
	maxPiece = 1 << 30
)

// Region is memory that the device sees contiguously from Device on. Its first
// byte has the same remainder by the page size it was made of on both sides.
type Region struct {
	Bytes  []byte
	Device uint64
	Kind   Kind
	Sync   Syncer // of Cached memory
}

// Kind says how the CPU may use memory.
type Kind uint8

const (
	// Coherent memory is plain memory: the device sees what the CPU writes, and the
	// other way round.
	Coherent Kind = iota
	// Cached memory is plain memory that the device reads and writes behind the
	// CPU's cache. It is for buffers, not for descriptors.
	Cached
	// Words memory is not cached, so both sides see the same, and is accessed in
	// aligned words only: on Arm it may be Device memory, where anything else
	// faults. Descriptors lie in it as they are; buffers have a copy in plain
	// memory, which the Sync methods bring up to date, so that nobody above
	// needs to know, and pages may be lent.
	Words
)

// holds reports whether memory of this kind can be had for a use.
func (k Kind) holds(use mac.Use) bool { return k != Cached || use != mac.Descriptors }

// Syncer does what the Sync methods of pagepool.Memory do, for the bytes off to
// off+n of a region, which are used as use says. It is called from any goroutine.
type Syncer interface {
	ForDevice(use mac.Use, off, n int)
	ForCPU(use mac.Use, off, n int)
}

// Source makes memory that the device can reach. Pool serialises the calls.
type Source interface {
	// Map returns at least size bytes, aligned to align on both sides, all below
	// limit as the device counts, and not across a multiple of 4 GiB.
	Map(use mac.Use, size, align int, limit uint64) (Region, error)
	// Check fails when the region is no longer where Map left it.
	Check(Region) error
	// Unmap takes back what Map made. Nothing uses it any more.
	Unmap(Region) error
}

// Pool hands out DMA memory. Its methods, and those of the memory, may be called
// from any goroutine.
type Pool struct {
	name   string
	source Source

	mu      sync.Mutex // guards what follows and serialises source
	regions []*region
	closed  bool
}

// region belongs to the pool and is guarded by its lock.
type region struct {
	Region
	free   Ranges // as the device counts
	pieces int
}

// NewPool returns an empty pool. name begins its errors.
func NewPool(name string, source Source) *Pool {
	return &Pool{name: name, source: source}
}

// Alloc implements mac.Bus.Alloc. Small pieces share a region.
func (p *Pool) Alloc(a mac.Alloc) (pagepool.Memory, error) {
	if a.Size <= 0 || a.Size > maxPiece || a.Align < 0 || a.Align > maxPiece || bits.OnesCount(uint(a.Align)) > 1 || a.AddressBits < 16 || a.AddressBits > 64 {
		return nil, fmt.Errorf("%s: allocate %d bytes, alignment %d, %d address bits: %w", p.name, a.Size, a.Align, a.AddressBits, mac.ErrConfig)
	}
	size := (a.Size + line - 1) / line * line
	align := max(a.Align, line)
	limit := uint64(1) << min(a.AddressBits, 63)

	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, fmt.Errorf("%s: allocate %d bytes: %w", p.name, a.Size, os.ErrClosed)
	}
	for _, r := range p.regions {
		if m := p.cut(r, a, size, align, limit); m != nil {
			if err := p.source.Check(r.Region); err != nil {
				p.put(m)
				return nil, fmt.Errorf("%s: allocate %d bytes: %w", p.name, a.Size, err)
			}
			return m.dress(a.Use), nil
		}
	}
	made, err := p.source.Map(a.Use, size, align, limit)
	if err != nil {
		return nil, fmt.Errorf("%s: allocate %d bytes below %#x: %w", p.name, a.Size, limit, err)
	}
	r := &region{Region: made}
	r.free.Add(made.Device, uint64(len(made.Bytes)))
	p.regions = append(p.regions, r)
	m := p.cut(r, a, size, align, limit)
	if m == nil {
		return nil, errors.Join(fmt.Errorf("%s: allocate %d bytes: %d bytes at %#x do not hold them with alignment %d below %#x: %w",
			p.name, a.Size, len(made.Bytes), made.Device, align, limit, mac.ErrConfig), p.drop(r))
	}
	return m.dress(a.Use), nil
}

// cut returns nil when the region has no room. mu is held.
func (p *Pool) cut(r *region, a mac.Alloc, size, align int, limit uint64) *memory {
	if !r.Kind.holds(a.Use) || !congruent(r.Region, align) {
		return nil
	}
	addr, ok := r.free.Take(uint64(size), uint64(align), limit)
	if !ok {
		return nil
	}
	r.pieces++
	off := int(addr - r.Device)
	m := &memory{pool: p, region: r, bytes: r.Bytes[off : off+a.Size : off+a.Size], addr: addr, off: off, size: size}
	if r.Kind == Words {
		clearWords(r.Bytes[off : off+size])
	} else {
		clear(r.Bytes[off : off+size])
	}
	return m
}

// put takes a piece back and the region with its last. mu is held.
func (p *Pool) put(m *memory) error {
	m.region.free.Add(m.addr, uint64(m.size))
	if m.region.pieces--; m.region.pieces > 0 {
		return nil
	}
	return p.drop(m.region)
}

func (p *Pool) drop(r *region) error {
	p.regions = slices.DeleteFunc(p.regions, func(o *region) bool { return o == r })
	return p.source.Unmap(r.Region)
}

// Close ends allocation. Memory that is still out stays as it is until it is
// released.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
}

// InUse counts the pieces that are out and the bytes of all regions.
func (p *Pool) InUse() (pieces, mapped int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.regions {
		pieces += r.pieces
		mapped += len(r.Bytes)
	}
	return pieces, mapped
}

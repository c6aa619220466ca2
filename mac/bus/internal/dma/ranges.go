package dma

import "slices"

// fourGiB is what no piece of DMA memory lies across (mac.Alloc).
const fourGiB = 1 << 32

// Ranges is a set of free addresses. The zero value is empty. It is not safe for
// concurrent use.
type Ranges struct {
	free []span // by address; never empty, never touching
}

// span is from..to-1.
type span struct{ from, to uint64 }

// Add puts size addresses from addr into the set. They must not be in it.
func (r *Ranges) Add(addr, size uint64) {
	if size == 0 {
		return
	}
	s := span{addr, addr + size}
	i, _ := slices.BinarySearchFunc(r.free, s, func(a, b span) int {
		if a.from < b.from {
			return -1
		}
		return 1
	})
	if i > 0 && r.free[i-1].to == s.from {
		i--
		s.from = r.free[i].from
		r.free = slices.Delete(r.free, i, i+1)
	}
	if i < len(r.free) && r.free[i].from == s.to {
		s.to = r.free[i].to
		r.free = slices.Delete(r.free, i, i+1)
	}
	r.free = slices.Insert(r.free, i, s)
}

// Take removes size addresses: the lowest that begin at a multiple of align (a
// power of two of at most 4 GiB), end at limit or below and do not lie across a
// multiple of 4 GiB. ok is false when there are none.
func (r *Ranges) Take(size, align, limit uint64) (addr uint64, ok bool) {
	if size == 0 || size > fourGiB {
		return 0, false
	}
	for i, s := range r.free {
		end := min(s.to, limit)
		at := alignUp(s.from, align)
		if at/fourGiB != (at+size-1)/fourGiB {
			at = alignUp(at, fourGiB)
		}
		if at < s.from || at >= end || size > end-at {
			continue
		}
		r.free = slices.Delete(r.free, i, i+1)
		if rest := s.to - (at + size); rest > 0 {
			r.free = slices.Insert(r.free, i, span{at + size, s.to})
		}
		if at > s.from {
			r.free = slices.Insert(r.free, i, span{s.from, at})
		}
		return at, true
	}
	return 0, false
}

// alignUp wraps to a small number near the end of the address space, which
// callers see as a result below n.
func alignUp(n, align uint64) uint64 { return (n + align - 1) &^ (align - 1) }

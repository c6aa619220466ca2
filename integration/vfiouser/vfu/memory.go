//go:build linux

package vfu

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// memory is the guest memory that the device may reach. The session's goroutine
// changes it, any goroutine looks into it.
type memory struct {
	opts Options

	mu      sync.RWMutex
	windows []window // sorted by address, disjoint

	files  []file // session's goroutine only
	total  uint64 // bytes of all files
	faults atomic.Uint64
	nfiles atomic.Int64
}

// window is one DMA mapping.
type window struct {
	addr, size  uint64
	read, write bool
	// mem is the mapping's bytes from off to the end of the file. It is nil when
	// the client gave no descriptor.
	mem  []byte
	file int
	off  uint64
}

// file is one file of guest memory, mapped as a whole. A file that has grown is
// another one.
type file struct {
	dev, ino, size uint64
	writable       bool
	mem            []byte
}

// add makes a mapping. fd is -1 when the client keeps the memory to itself; it
// stays the caller's.
func (m *memory) add(addr, size, off uint64, flags uint32, fd int) unix.Errno {
	w := window{addr: addr, size: size, read: flags&dmaRead != 0, write: flags&dmaWrite != 0, off: off}
	switch {
	case flags&^(dmaRead|dmaWrite) != 0 || size == 0 || (addr|size|off)%pageSize != 0:
		return unix.EINVAL
	case addr > math.MaxUint64-(size-1) || off > math.MaxInt64-size || size > math.MaxInt64:
		return unix.EOVERFLOW
	case len(m.windows) >= m.opts.MaxMaps:
		return unix.ENOSPC
	}
	i := m.search(addr)
	if i < len(m.windows) && m.windows[i].addr <= w.last() {
		return unix.EEXIST
	}
	if fd >= 0 {
		f, errno := m.open(fd)
		switch {
		case errno != 0:
			return errno
		case w.write && !m.files[f].writable:
			return unix.EACCES
		case off+size > m.files[f].size:
			return unix.EINVAL
		}
		w.file, w.mem = f, m.files[f].mem[off:]
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.windows = slices.Insert(m.windows, i, w)
	return 0
}

// last is the address of the last byte: the end itself may not fit.
func (w *window) last() uint64 { return w.addr + (w.size - 1) }

// search is the index of the first window that ends at or above addr.
func (m *memory) search(addr uint64) int {
	return sort.Search(len(m.windows), func(i int) bool { return m.windows[i].last() >= addr })
}

// open finds the file of fd among those that are mapped, or maps it.
func (m *memory) open(fd int) (int, unix.Errno) {
	mode, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return 0, errnoOf(err)
	}
	if !m.opts.AllowUnsealed && !sealed(fd) {
		return 0, unix.EPERM
	}
	// The size is looked at after the seal: it cannot get smaller any more.
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, errnoOf(err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size <= 0 {
		return 0, unix.EINVAL
	}
	f := file{dev: uint64(st.Dev), ino: st.Ino, size: uint64(st.Size), writable: mode&unix.O_ACCMODE == unix.O_RDWR}
	if i := slices.IndexFunc(m.files, func(o file) bool {
		return o.dev == f.dev && o.ino == f.ino && o.size == f.size && o.writable == f.writable
	}); i >= 0 {
		return i, 0
	}
	if len(m.files) >= m.opts.MaxFiles || f.size > m.opts.MaxMemory-m.total || f.size > math.MaxInt {
		return 0, unix.ENOSPC
	}
	prot := unix.PROT_READ
	if f.writable {
		prot |= unix.PROT_WRITE
	}
	if f.mem, err = unix.Mmap(fd, 0, int(f.size), prot, unix.MAP_SHARED); err != nil {
		return 0, errnoOf(err)
	}
	m.files = append(m.files, f)
	m.nfiles.Add(1)
	m.total += f.size
	return len(m.files) - 1, 0
}

// sealed reports whether fd's file cannot shrink, and sees to it if it can.
func sealed(fd int) bool {
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return false
	}
	if seals&unix.F_SEAL_SHRINK != 0 {
		return true
	}
	_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK)
	return err == nil
}

// remove takes away the mappings within a range. It fails, and takes none away,
// when the range cuts one in two. A range without mappings is no error: clients
// with an IOMMU invalidate more than they have mapped.
func (m *memory) remove(addr, size uint64) unix.Errno {
	if size == 0 || addr > math.MaxUint64-(size-1) {
		return unix.EINVAL
	}
	last := addr + (size - 1)
	i := m.search(addr)
	j := i
	for ; j < len(m.windows) && m.windows[j].addr <= last; j++ {
		if m.windows[j].addr < addr || m.windows[j].last() > last {
			return unix.EINVAL
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.windows = slices.Delete(m.windows, i, j)
	return 0
}

func (m *memory) removeAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.windows = nil
}

func (m *memory) slice(addr uint64, n int, write bool) ([]byte, error) {
	m.mu.RLock()
	b, why := m.find(addr, n, write)
	m.mu.RUnlock()
	if why != "" {
		m.faults.Add(1)
		verb := "read"
		if write {
			verb = "write"
		}
		return nil, fmt.Errorf("vfu: device %s of %d bytes at %#x: %s", verb, n, addr, why)
	}
	return b, nil
}

// find is slice, or says why not. mu is held.
func (m *memory) find(addr uint64, n int, write bool) ([]byte, string) {
	if n < 0 || uint64(n) > math.MaxUint64-addr {
		return nil, "no such range"
	}
	i := m.search(addr)
	if i == len(m.windows) || m.windows[i].addr > addr {
		return nil, "not mapped"
	}
	first := &m.windows[i]
	skip := addr - first.addr
	have := uint64(0)
	for w := first; ; w = &m.windows[i] {
		switch {
		case w.mem == nil:
			return nil, "memory not shared by the client"
		case write && !w.write || !write && !w.read:
			return nil, "not allowed"
		}
		if have += w.size; have-skip >= uint64(n) {
			return first.mem[skip : skip+uint64(n) : skip+uint64(n)], ""
		}
		if i++; i == len(m.windows) || m.windows[i].addr != w.last()+1 {
			return nil, "not mapped to its end"
		}
		if next := &m.windows[i]; next.mem != nil && (next.file != w.file || next.off != w.off+w.size) {
			return nil, "not contiguous in guest memory"
		}
	}
}

// release unmaps everything. No slice is in use any more.
func (m *memory) release() error {
	m.removeAll()
	var first error
	for _, f := range m.files {
		if err := unix.Munmap(f.mem); err != nil && first == nil {
			first = fmt.Errorf("vfu: unmap %d bytes of guest memory: %w", f.size, err)
		}
	}
	m.files, m.total = nil, 0
	m.nfiles.Store(0)
	return first
}

func (m *memory) count() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.windows)
}

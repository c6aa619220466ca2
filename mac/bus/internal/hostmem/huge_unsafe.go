//go:build linux

package hostmem

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapPages maps pages of a file one after the other, aligned to page. Addresses
// are reserved first and then covered, so nothing else is ever mapped over.
func mapPages(fd int, pages []hugePage, page int) ([]byte, error) {
	size := uintptr(len(pages) * page)
	reserved, err := unix.MmapPtr(-1, 0, nil, size+uintptr(page), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, err
	}
	head := -uintptr(reserved) & uintptr(page-1)
	base := unsafe.Add(reserved, head)
	if err := errors.Join(unmap(reserved, head), unmap(unsafe.Add(base, size), uintptr(page)-head)); err != nil {
		return nil, err
	}
	for i, p := range pages {
		at := unsafe.Add(base, i*page)
		if _, err := unix.MmapPtr(fd, int64(p.index)*int64(page), at, uintptr(page), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_FIXED|unix.MAP_POPULATE); err != nil {
			return nil, errors.Join(err, unmap(base, size))
		}
	}
	return unsafe.Slice((*byte)(base), int(size)), nil
}

// unmapPages undoes mapPages. Each page may be a mapping of its own.
func unmapPages(b []byte, page int) error {
	var errs []error
	for off := 0; off < len(b); off += page {
		errs = append(errs, unmap(unsafe.Pointer(&b[off]), uintptr(page)))
	}
	return errors.Join(errs...)
}

func unmap(p unsafe.Pointer, size uintptr) error {
	if size == 0 {
		return nil
	}
	return unix.MunmapPtr(p, size)
}

//go:build linux

package main

import (
	"sync/atomic"
	"unsafe"
)

// copyWords copies in aligned words of 32 bits. Both begin at a page or at an
// allocation of that size, and are as long.
func copyWords(to, from []byte) {
	for i := 0; i+4 <= len(from); i += 4 {
		v := atomic.LoadUint32((*uint32)(unsafe.Pointer(&from[i])))
		atomic.StoreUint32((*uint32)(unsafe.Pointer(&to[i])), v)
	}
}

// load is one load of 32 bits at an offset that need not be a multiple of four.
func load(b []byte, at int) uint32 { return *(*uint32)(unsafe.Pointer(&b[at])) }

package dma

import "unsafe"

// Address is where b lies for the CPU.
func Address(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// congruent reports whether a multiple of align on the device's side is one on
// the CPU's.
func congruent(r Region, align int) bool {
	return (Address(r.Bytes)-r.Device)%uint64(align) == 0
}

package dma

import "unsafe"

// wordSize is the unit of access to memory of kind Words, in bytes. A 32-bit CPU
// makes two aligned accesses of it.
const wordSize = 8

// words views b, which begins and ends at a multiple of wordSize.
func words(b []byte) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/wordSize)
}

// copyWords copies in aligned words: not by copy, which uses whatever accesses are
// the fastest, and on Device memory those fault that are not aligned.
func copyWords(to, from []byte) {
	t, f := words(to), words(from)
	for i, n := 0, len(f); i < n; i++ {
		t[i] = f[i]
	}
}

// clearWords is clear in aligned words. The loop is not one that the compiler knows
// and makes a clear of.
func clearWords(b []byte) {
	w := words(b)
	for i := len(w) - 1; i >= 0; i-- {
		w[i] = 0
	}
}

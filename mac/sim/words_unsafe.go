package sim

import "unsafe"

// Words views the bytes of DMA memory as 32-bit words, in the byte order of the
// CPU, which is little-endian as every device modelled here. ok is false when b
// is not aligned to 4 bytes. Words that the driver uses at the same time are
// read and written with sync/atomic.
func Words(b []byte) (w []uint32, ok bool) {
	p := unsafe.Pointer(unsafe.SliceData(b))
	if len(b) < 4 || uintptr(p)%4 != 0 {
		return nil, false
	}
	return unsafe.Slice((*uint32)(p), len(b)/4), true
}

// alignBytes returns size bytes of b from the first multiple of align.
func alignBytes(b []byte, size, align int) []byte {
	p := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	off := int(-p & uintptr(align-1))
	return b[off : off+size : off+size]
}

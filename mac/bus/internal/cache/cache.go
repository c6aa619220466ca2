// Package cache keeps the CPU's data cache right for a device that does not look
// into it, from user space.
//
// Of the architectures here only arm64 lets a program do that: Linux allows DC CVAC
// and DC CIVAC at EL0 (SCTLR_EL1.UCI) and a read of CTR_EL0, by trap where a core has
// to hide something. DC IVAC stays the kernel's, so what is dropped is cleaned first.
// Elsewhere LineSize is 0 and nobody calls the rest.
package cache

// Clean writes the lines of b that the CPU has changed to memory, and has finished
// when it returns. The lines stay cached.
func Clean(b []byte) {
	if len(b) > 0 {
		clean(&b[0], uintptr(len(b)), uintptr(LineSize()))
	}
}

// CleanInvalidate does what Clean does and drops the lines, so that the next read
// comes from memory. Lines that the CPU has not changed are not written.
func CleanInvalidate(b []byte) {
	if len(b) > 0 {
		cleanInvalidate(&b[0], uintptr(len(b)), uintptr(LineSize()))
	}
}

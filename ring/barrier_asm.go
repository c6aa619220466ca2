//go:build arm64 || arm || riscv64

package ring

// Go's atomics order CPUs with each other (inner-shareable domain); a DMA
// engine is outside of it. These barriers cover the outer-shareable domain.

// writeBarrier orders earlier stores ahead of later stores.
//
//go:noescape
func writeBarrier()

// readBarrier orders earlier loads ahead of later accesses.
//
//go:noescape
func readBarrier()

// fullBarrier completes earlier accesses before later ones, registers included.
//
//go:noescape
func fullBarrier()

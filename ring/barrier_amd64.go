package ring

// x86 keeps stores in order with stores and loads with loads for the write-back
// and uncached memory that descriptors and registers live in (Intel SDM volume
// 3, "Memory Ordering"). The Go compiler keeps the order of memory operations
// around a call that is not inlined, so an empty function is the barrier.

//go:noinline
func writeBarrier() {}

//go:noinline
func readBarrier() {}

// fullBarrier orders stores to memory ahead of a register write even where the
// register window is write-combining: SFENCE.
//
//go:noescape
func fullBarrier()

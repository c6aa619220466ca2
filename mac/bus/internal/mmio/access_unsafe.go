package mmio

import "unsafe"

// load32 and store32 are each one 32-bit load or store: nothing can be merged
// with it, split or left out across a call that is not inlined. sync/atomic
// would be wrong here. Its stores are a locked exchange on amd64 and an atomic
// memory operation on riscv64, which read the register too and which device
// memory need not support.
//
// What the CPU keeps in order for registers, which the kernel maps uncached:
//   - amd64: everything.
//   - arm64, arm: accesses to one device's registers among each other (Device
//     memory), nothing between registers and memory.
//   - riscv64: accesses to one device's registers among each other (I/O
//     memory), nothing between registers and memory.
//
// So a store that hands memory to the device needs ring.Words.DoorbellBarrier
// before it, and what a device reports in a register says nothing about memory
// until the descriptor has been read with the ring's own barrier.
//
// The race detector is kept away because the other side is a device, not a
// goroutine.

//go:noinline
//go:norace
func load32(p *byte) uint32 { return *(*uint32)(unsafe.Pointer(p)) }

//go:noinline
//go:norace
func store32(p *byte, v uint32) { *(*uint32)(unsafe.Pointer(p)) = v }

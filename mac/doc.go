// Package mac is the Ethernet MAC as Barewire sees it: a Device with queues,
// filter, link, counters and recovery, on top of a Core (one per IP core, in the
// folders below) that is reached over a Bus (registers, DMA memory, interrupts).
//
// A core's package has a function Open that makes a running pair of the two.
//
// # Who does what
//
// Each queue is polled by one goroutine of the endpoint above, which owns the
// receive side (Queue.Own). Senders share the transmit side under a lock.
// Between them the device has two goroutines of its own from Start to Close: one
// turns interrupts into wake-ups, the other follows the link, collects hardware
// counters and repairs what breaks. A repair takes the receive sides from their
// owners at a Checkpoint, resets and reprograms the core in place, and gives them
// back: filter, address, counters and the stack's connections survive.
package mac

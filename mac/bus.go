package mac

import (
	"errors"

	"github.com/barewire/barewire/pagepool"
)

// Registers is a window of 32-bit device registers. off is in bytes from the
// start of the window and a multiple of 4.
//
// Each call is exactly one load or one store of the device, in program order
// with the other calls of the same goroutine. Stores to memory that must be
// visible first need a barrier of their own (ring.Words.DoorbellBarrier).
// Concurrent calls are allowed; who may write which register is the core's
// business.
type Registers interface {
	Read32(off uint32) uint32
	Write32(off uint32, v uint32)
}

// Bus is how one device's registers, DMA memory and interrupts are reached. Its
// methods may be called from any goroutine.
type Bus interface {
	// Name names the device for logs and errors ("sim0", "0000:01:00.0").
	Name() string

	// Compatible lists what the device says it is, most specific first, in
	// device-tree form ("snps,dwmac-4.20a").
	Compatible() []string

	// Registers maps register window i. Window 0 is the core itself. It fails
	// with an error that wraps ErrNoDevice when there is none.
	Registers(i int) (Registers, error)

	// Alloc returns zeroed DMA memory for one use.
	Alloc(Alloc) (pagepool.Memory, error)

	// Interrupt opens interrupt line i.
	Interrupt(i int) (Interrupt, error)

	// ClockHz is the rate in hertz of the clock that drives the core's
	// application and register side (CSR clock), 0 when unknown.
	ClockHz() int

	// Close releases the bus. Interrupts have been released before, and so has
	// memory, except what pages on loan or a device that does not stop may still
	// use: that stays mapped.
	Close() error
}

// Alloc asks a bus for DMA memory.
type Alloc struct {
	// Use decides the kind of memory where a bus has several.
	Use Use
	// Size is in bytes. Align is a power of two in bytes and holds on the CPU's
	// side and on the device's.
	Size, Align int
	// AddressBits is the width of a device address: all of the memory lies below
	// 1<<AddressBits, and never across a multiple of 4 GiB, since tail pointers
	// and list addresses are often 32 bits wide.
	AddressBits int
}

// Use is what DMA memory is for.
type Use uint8

const (
	// Descriptors are read and written a word at a time by both sides at once:
	// the memory is coherent, uncached if need be.
	Descriptors Use = iota
	// Buffers hold frames and belong to one side at a time: the memory is cached
	// where possible and kept right by the Sync methods.
	Buffers
	// RXBuffers are Buffers that the CPU never writes for the device to read:
	// SyncForDevice may leave the CPU's bytes behind, which is cheaper.
	RXBuffers
	// TXBuffers are Buffers that the device never writes.
	TXBuffers
)

// Interrupt is one interrupt line of a device. One goroutine calls Wait and
// Rearm; Close may be called from any.
type Interrupt interface {
	// Wait blocks until the line has fired since the last Rearm. It returns an
	// error that wraps os.ErrClosed after Close.
	Wait() error

	// Rearm lets the line fire again. When the level is still high it fires at
	// once.
	Rearm() error

	// Close unblocks Wait and releases the line.
	Close() error
}

// Errors that callers branch on. They are wrapped with the step and the value.
var (
	// ErrNoDevice means that nothing answers where a device was expected.
	ErrNoDevice = errors.New("no device")
	// ErrUnsupported means that the device or core cannot do what was asked.
	ErrUnsupported = errors.New("not supported")
	// ErrReset means that the core did not leave reset in time.
	ErrReset = errors.New("reset did not complete")
	// ErrNotIdle means that DMA could not be proved idle; the memory it may
	// still touch is kept for ever.
	ErrNotIdle = errors.New("DMA not idle")
	// ErrClosed means that the device is closed.
	ErrClosed = errors.New("device closed")
	// ErrConfig means that an option has a value that cannot be used.
	ErrConfig = errors.New("invalid configuration")
)

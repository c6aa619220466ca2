//go:build linux

package vfu

import (
	"errors"
	"fmt"
	"math/bits"
	"sync/atomic"
	"time"
)

// Device is what stands behind the PCI function. ReadBAR, WriteBAR, Reset and
// Quiesce are called by one goroutine, one at a time, and while they run the
// client waits: they must return within its patience (QEMU: 5 seconds).
type Device interface {
	// Config describes the PCI function. It is called once.
	Config() Config

	// Attach gives the device its memory and interrupts, before any other call.
	Attach(h *Host)

	// ReadBAR fills p, 1 to 4096 bytes, from off on. The range lies within the
	// BAR.
	ReadBAR(bar int, off uint64, p []byte)

	// WriteBAR takes p, 1 to 4096 bytes, which must not be kept.
	WriteBAR(bar int, off uint64, p []byte)

	// Reset is a function-level reset.
	Reset()

	// Quiesce returns when every memory access that began before the call has
	// ended. It is called after memory or bus mastering has been taken away and
	// before the client is told so.
	Quiesce()

	// Detach ends all use of the Host and of memory that came from it: both are
	// gone when it has returned. It is called once.
	Detach()
}

// Config describes a PCI function.
type Config struct {
	Vendor, Device, SubsystemVendor, Subsystem uint16
	// Class is the class code, subclass and interface: 0x020000 is an Ethernet
	// controller.
	Class    uint32
	Revision uint8
	// BARs are the sizes of the 32-bit memory BARs in bytes: powers of two from
	// 16 to 1 GiB, or 0 for none.
	BARs [numBARs]uint64
	// InterruptPin is 1 to 4 for INTA to INTD, 0 for none.
	InterruptPin uint8
	// MSIVectors is 0, or a power of two up to 32.
	MSIVectors int
}

// ErrConfig is wrapped by errors about a Config that no PCI function can have.
var ErrConfig = errors.New("invalid PCI function")

func (c *Config) check() error {
	for i, n := range c.BARs {
		if n != 0 && (n < 16 || n > 1<<30 || bits.OnesCount64(n) != 1) {
			return fmt.Errorf("vfu: BAR %d of %#x bytes: want a power of two from 16 to 1 GiB: %w", i, n, ErrConfig)
		}
	}
	if c.Class>>24 != 0 {
		return fmt.Errorf("vfu: class %#x: want 24 bits: %w", c.Class, ErrConfig)
	}
	if c.InterruptPin > 4 {
		return fmt.Errorf("vfu: interrupt pin %d: want 0 to 4: %w", c.InterruptPin, ErrConfig)
	}
	if n := c.MSIVectors; n < 0 || n > 32 || bits.OnesCount(uint(n)) > 1 {
		return fmt.Errorf("vfu: %d MSI vectors: want 0 or a power of two up to 32: %w", n, ErrConfig)
	}
	return nil
}

// Options are the options of New. The zero value is good for QEMU with
// memory-backend-memfd.
type Options struct {
	// MaxMaps is how many DMA mappings may exist at a time. 0 means 65535, which
	// is also the most.
	MaxMaps int
	// MaxFiles is how many different files a client may map in a session. 0 means
	// 64.
	MaxFiles int
	// MaxMemory is the size in bytes of all these files together. 0 means 256 GiB.
	MaxMemory uint64
	// Timeout is how long the rest of a message may take to arrive, and a reply
	// to be taken. 0 means 5 seconds.
	Timeout time.Duration
	// AllowUnsealed takes memory from files that the client may shrink. A client
	// that does so ends this process by SIGBUS.
	AllowUnsealed bool
}

func (o Options) withDefaults() Options {
	if o.MaxMaps <= 0 || o.MaxMaps > 65535 {
		o.MaxMaps = 65535
	}
	if o.MaxFiles <= 0 {
		o.MaxFiles = 64
	}
	if o.MaxMemory == 0 {
		o.MaxMemory = 256 << 30
	}
	if o.Timeout <= 0 {
		o.Timeout = 5 * time.Second
	}
	return o
}

// Host is the client as the device sees it. Its methods may be called from any
// goroutine between Attach and the return of Detach. They take no lock that is
// held while a Device's method runs.
type Host struct {
	mem    memory
	irq    interrupts
	master atomic.Bool
}

// Slice returns the n bytes of guest memory at device address addr, for reading
// or, with write set, for writing too. All of them must be mapped, with the
// right, and be neighbours in one file. The bytes are the guest's: it may change
// them at any time.
//
// The slice is good for one access: see Device.Quiesce. One that is kept longer
// never faults before Detach, but is no longer the guest's memory as it sees it.
func (h *Host) Slice(addr uint64, n int, write bool) ([]byte, error) {
	return h.mem.slice(addr, n, write)
}

// BusMaster reports whether the client has made the function a bus master. Slice
// does not ask. When it ends, Device.Quiesce is called before the client goes on.
func (h *Host) BusMaster() bool { return h.master.Load() }

// SetINTx sets the level of the function's interrupt pin.
func (h *Host) SetINTx(level bool) { h.irq.setINTx(level) }

// SendMSI sends message vector. It reports whether the client listens to it.
func (h *Host) SendMSI(vector int) bool { return h.irq.sendMSI(vector) }

// Stats are the counts of a session.
type Stats struct {
	Messages uint64 `json:"messages"`
	// Errors were answered with an errno, or would have been had they wanted an
	// answer.
	Errors uint64 `json:"errors"`
	Reads  uint64 `json:"reads"`
	Writes uint64 `json:"writes"`
	Resets uint64 `json:"resets"`

	// Maps are DMA mappings that exist, Files files that are mapped.
	Maps  int `json:"maps"`
	Files int `json:"files"`
	// DMAFaults are accesses of the device outside of its mappings.
	DMAFaults uint64 `json:"dma_faults"`

	// INTxRaised counts rising edges, INTxSent events sent for them, of which
	// there is one more for each unmask while the level is high.
	INTxRaised  uint64 `json:"intx_raised"`
	INTxSent    uint64 `json:"intx_sent"`
	INTxUnmasks uint64 `json:"intx_unmasks"`
	MSISent     uint64 `json:"msi_sent"`
}

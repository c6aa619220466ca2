package dwmac

import (
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/ring"
)

// descriptor is one descriptor as the device reads it; w3 holds OWN. A struct
// rather than an array stays in registers.
type descriptor struct{ w0, w1, w2, w3 uint32 }

// txPiece is a descriptor for n bytes at addr that are not the first of their
// frame.
func txPiece(addr uint64, n uint32, last, interrupt bool) descriptor {
	d := descriptor{
		w0: uint32(addr),
		w1: uint32(addr >> 32),
		w2: field.Put(dwregs.TDES2B1L, n),
		w3: dwregs.TDES3OWN,
	}
	if last {
		d.w3 |= dwregs.TDES3LD
		if interrupt {
			d.w2 |= dwregs.TDES2IOC
		}
	}
	return d
}

// txFirst is the first descriptor of a frame that is not segmented, for its
// first n bytes.
func txFirst(f *ring.TXFrame, n uint32) descriptor {
	d := txPiece(f.Addr, n, n == f.Len, f.Interrupt)
	d.w3 |= dwregs.TDES3FD | field.Put(dwregs.TDES3FL, f.Len)
	if f.Checksum == ring.ChecksumFull {
		d.w3 |= field.Put(dwregs.TDES3CIC, dwregs.CICFull)
	}
	return d
}

// txHeader is the first descriptor of a frame to be segmented: its headers
// alone. It never carries LD, which would hang the DMA; a frame without payload
// is not segmented.
func txHeader(f *ring.TXFrame) descriptor {
	d := txPiece(f.Addr, 0, false, false)
	d.w2 |= field.Put(dwregs.TDES2HL, uint32(f.HeaderLen))
	d.w3 |= dwregs.TDES3FD | dwregs.TDES3TSE |
		field.Put(dwregs.TDES3THL, uint32(f.L4HeaderLen)/4) |
		field.Put(dwregs.TDES3TPL, f.Len-uint32(f.HeaderLen))
	return d
}

// txContext is the context descriptor that sets the MSS of the frames after it.
func txContext(mss uint16) descriptor {
	return descriptor{
		w2: field.Put(dwregs.TDES2CtxMSS, uint32(mss)),
		w3: dwregs.TDES3OWN | dwregs.TDES3CTXT | dwregs.TDES3CtxTCMSSV,
	}
}

// segmented reports whether f is sent as a header with payload to be cut into
// segments. A frame of one segment or less is sent as it is, with its checksums
// inserted.
func segmented(f *ring.TXFrame) bool {
	return f.MSS != 0 && f.Len > uint32(f.HeaderLen)
}

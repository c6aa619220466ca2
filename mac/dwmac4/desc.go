package dwmac4

import (
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/ring"
)

// descriptor is one descriptor as the device reads it; w3 holds OWN. A struct
// rather than an array stays in registers.
type descriptor struct{ w0, w1, w2, w3 uint32 }

// fcsLen is the length of the frame check sequence. It is never stripped, so
// that every frame ends in it: CST and ACS would strip it from some kinds only.
const fcsLen = 4

// rxOwn is RDES3 of a posted receive descriptor.
func rxOwn(interrupt bool) uint32 {
	w := gmac4.RDES3OWN | gmac4.RDES3BUF1V
	if interrupt {
		w |= gmac4.RDES3IOC
	}
	return w
}

const (
	rxErrors = gmac4.RDES3ES | gmac4.RDES3CE | gmac4.RDES3GP | gmac4.RDES3RWT |
		gmac4.RDES3OE | gmac4.RDES3RE | gmac4.RDES3DE

	// needVerdict marks, inside one Harvest, a completion whose checksum verdict
	// in RDES1 is still to be read. No flag of package ring.
	needVerdict ring.Flags = 1 << 31
)

// decodeRX decodes RDES3 of a completed receive descriptor. Length and errors
// are valid with LD only (manual: RDES3 write-back format).
func decodeRX(w3 uint32) ring.Completion {
	if w3&gmac4.RDES3CTXT != 0 {
		return ring.Completion{Flags: ring.NoData}
	}
	var c ring.Completion
	if w3&gmac4.RDES3FD != 0 {
		c.Flags = ring.First
	}
	if w3&gmac4.RDES3LD == 0 {
		return c
	}
	c.Flags |= ring.Last
	c.Len = w3 & gmac4.RDES3PL
	c.Trim = fcsLen
	switch {
	case w3&rxErrors != 0:
		c.Flags |= rxErrorFlags(w3)
	case w3&gmac4.RDES3RS1V != 0 && field.Get(gmac4.RDES3LT, w3) != gmac4.LTDoubleVLAN:
		// The engine looks behind one VLAN tag, not two.
		c.Flags |= needVerdict
	}
	return c
}

func rxErrorFlags(w3 uint32) ring.Flags {
	var f ring.Flags
	if w3&gmac4.RDES3CE != 0 {
		f |= ring.ErrCRC
	}
	if w3&(gmac4.RDES3GP|gmac4.RDES3RWT) != 0 {
		f |= ring.ErrLength
	}
	if w3&gmac4.RDES3OE != 0 {
		f |= ring.ErrOverflow
	}
	if w3&gmac4.RDES3DE != 0 {
		f |= ring.ErrFrame
	}
	if w3&gmac4.RDES3RE != 0 || f == 0 {
		f |= ring.ErrReceive
	}
	return f
}

// decodeVerdict decodes the checksum part of RDES1. Good means that the engine
// knew the IP version and the payload and found no error; a fragment, an unknown
// extension header or a bypass leaves the question open.
func decodeVerdict(w1 uint32) ring.Flags {
	const ip = gmac4.RDES1IPV4 | gmac4.RDES1IPV6
	pt := field.Get(gmac4.RDES1PT, w1)
	switch {
	case w1&gmac4.RDES1IPHE != 0:
		return ring.ChecksumBad
	case w1&gmac4.RDES1IPCB != 0:
		return 0
	case w1&gmac4.RDES1IPCE != 0:
		return ring.ChecksumBad
	case w1&ip != 0 && pt >= gmac4.PTUDP && pt <= gmac4.PTICMP:
		return ring.ChecksumGood
	}
	return 0
}

// txPiece is a descriptor for n bytes at addr that are not the first of their
// frame.
func txPiece(addr uint64, n uint32, last, interrupt bool) descriptor {
	d := descriptor{
		w0: uint32(addr),
		w1: uint32(addr >> 32),
		w2: field.Put(gmac4.TDES2B1L, n),
		w3: gmac4.TDES3OWN,
	}
	if last {
		d.w3 |= gmac4.TDES3LD
		if interrupt {
			d.w2 |= gmac4.TDES2IOC
		}
	}
	return d
}

// txFirst is the first descriptor of a frame that is not segmented, for its
// first n bytes.
func txFirst(f *ring.TXFrame, n uint32) descriptor {
	d := txPiece(f.Addr, n, n == f.Len, f.Interrupt)
	d.w3 |= gmac4.TDES3FD | field.Put(gmac4.TDES3FL, f.Len)
	if f.Checksum == ring.ChecksumFull {
		d.w3 |= field.Put(gmac4.TDES3CIC, gmac4.CICFull)
	}
	return d
}

// txHeader is the first descriptor of a frame to be segmented: its headers
// alone. It never carries LD, which would hang the DMA; a frame without payload
// is not segmented.
func txHeader(f *ring.TXFrame) descriptor {
	d := txPiece(f.Addr, 0, false, false)
	d.w2 |= field.Put(gmac4.TDES2HL, uint32(f.HeaderLen))
	d.w3 |= gmac4.TDES3FD | gmac4.TDES3TSE |
		field.Put(gmac4.TDES3THL, uint32(f.L4HeaderLen)/4) |
		field.Put(gmac4.TDES3TPL, f.Len-uint32(f.HeaderLen))
	return d
}

// txContext is the context descriptor that sets the MSS of the frames after it.
func txContext(mss uint16) descriptor {
	return descriptor{
		w2: field.Put(gmac4.TDES2CtxMSS, uint32(mss)),
		w3: gmac4.TDES3OWN | gmac4.TDES3CTXT | gmac4.TDES3CtxTCMSSV,
	}
}

// segmented reports whether f is sent as a header with payload to be cut into
// segments. A frame of one segment or less is sent as it is, with its checksums
// inserted.
func segmented(f *ring.TXFrame) bool {
	return f.MSS != 0 && f.Len > uint32(f.HeaderLen)
}

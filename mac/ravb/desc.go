package ravb

import (
	"github.com/barewire/barewire/mac/internal/etheravb"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/ring"
)

// rxEmpty is the control word of a posted receive descriptor.
func rxEmpty(size int) uint32 {
	return etheravb.Type(etheravb.DTFEmpty) | field.Put(etheravb.DescDS, uint32(size))
}

// posted reports whether the device still has a receive descriptor.
func posted(w uint32) bool { return field.Get(etheravb.DescDT, w) == etheravb.DTFEmpty }

// sent reports whether the device is done with a transmit descriptor.
func sent(w uint32) bool { return field.Get(etheravb.DescDT, w) == etheravb.DTFEmpty }

// decodeRX decodes the control word of a completed receive descriptor. trailer is
// how many bytes the device appends to a frame. A type that cannot be there becomes
// a frame without length, which is dropped: its slot is passed over.
func decodeRX(w uint32, trailer uint8) ring.Completion {
	c := ring.Completion{Len: w & etheravb.DescDS}
	switch field.Get(etheravb.DescDT, w) {
	case etheravb.DTFSingle:
		c.Flags = ring.First | ring.Last
	case etheravb.DTFStart:
		c.Flags = ring.First
	case etheravb.DTFMid:
	case etheravb.DTFEnd:
		c.Flags = ring.Last
	default:
		return ring.Completion{Flags: ring.First | ring.Last}
	}
	if w&(etheravb.MSCErrors|etheravb.DescTR) != 0 {
		c.Flags |= rxErrorFlags(w)
		return c
	}
	if c.Flags&ring.Last != 0 && trailer > 0 {
		c.Trim = trailer
		c.Flags |= ring.Trailer
	}
	return c
}

// rxErrorFlags says what is wrong with a frame. Residual bits and a lost carrier
// are no errors of their own, as in Linux; nor is the EI bit, which only sums up.
func rxErrorFlags(w uint32) (f ring.Flags) {
	if w&etheravb.MSCCRC != 0 {
		f |= ring.ErrCRC
	}
	if w&(etheravb.MSCRTSF|etheravb.MSCRTLF) != 0 {
		f |= ring.ErrLength
	}
	if w&etheravb.DescTR != 0 {
		f |= ring.ErrOverflow
	}
	if w&(etheravb.MSCRFE|etheravb.MSCCEEF) != 0 {
		f |= ring.ErrReceive
	}
	return f
}

// txType is the type of a transmit descriptor for a part of a frame.
func txType(first, last bool) uint32 {
	switch {
	case first && last:
		return etheravb.DTFSingle
	case first:
		return etheravb.DTFStart
	case last:
		return etheravb.DTFEnd
	}
	return etheravb.DTFMid
}

// txControl is the control word for n bytes of a frame, 1 to 4095: a descriptor
// without bytes would end the queue.
func txControl(n uint32, first, last bool) uint32 {
	return etheravb.Type(txType(first, last)) | field.Put(etheravb.DescDS, n)
}

// link is a descriptor that leads to addr for ever.
func link(addr uint64) (control, pointer uint32) {
	return etheravb.Type(etheravb.DTLinkFix), uint32(addr)
}

package dwmac1000

import (
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac3"
	"github.com/barewire/barewire/ring"
)

// format is a layout of descriptors. There are three: normal, enhanced, and
// enhanced with four more words (extended); the first two may be chained.
type format struct {
	words    int
	enhanced bool
	chained  bool
	extended bool
	// maxBuffer and maxPiece bound the buffer of a descriptor, in bytes.
	maxBuffer, maxPiece int
	// rx is the control in word 1 of a receive descriptor.
	rx struct{ size, chained, end uint32 }
	// tx is the control of a transmit descriptor, in word 0 of enhanced ones and in
	// word 1 of normal ones.
	tx struct{ size, chained, end, first, last, interrupt, cic uint32 }
}

// maxPiece is the largest transmit buffer given to one enhanced descriptor: half
// of what the field holds, and as much as is ever done.
const maxPiece = 4096

// formatFor is the layout on a core with enhanced descriptors or without, whose
// descriptors can be extended.
func formatFor(enhanced, extendable, chained bool) format {
	f := format{words: gmac3.DescriptorSize / 4, enhanced: enhanced, chained: chained}
	if !enhanced {
		f.maxBuffer = gmac3.MaxBuffer &^ (busWidth - 1)
		f.maxPiece = f.maxBuffer
		f.rx.size, f.rx.chained, f.rx.end = gmac3.RDES1RBS1, gmac3.RDES1RCH, gmac3.RDES1RER
		t := &f.tx
		t.size, t.chained, t.end = gmac3.TDES1TBS1, gmac3.TDES1TCH, gmac3.TDES1TER
		t.first, t.last, t.interrupt, t.cic = gmac3.TDES1FS, gmac3.TDES1LS, gmac3.TDES1IC, gmac3.TDES1CIC
		return f
	}
	if extendable && !chained {
		f.extended, f.words = true, gmac3.ExtendedSize/4
	}
	f.maxBuffer = gmac3.MaxEnhancedBuffer &^ (busWidth - 1)
	f.maxPiece = maxPiece
	f.rx.size, f.rx.chained, f.rx.end = gmac3.ERDES1RBS1, gmac3.ERDES1RCH, gmac3.ERDES1RER
	t := &f.tx
	t.size, t.chained, t.end = gmac3.ETDES1TBS1, gmac3.ETDES0TCH, gmac3.ETDES0TER
	t.first, t.last, t.interrupt, t.cic = gmac3.ETDES0FS, gmac3.ETDES0LS, gmac3.ETDES0IC, gmac3.ETDES0CIC
	return f
}

// size is the size of a descriptor in bytes.
func (f *format) size() int { return 4 * f.words }

// rxControl is word 1 of a posted receive descriptor with a buffer of size bytes.
// end says that it is in the last slot.
func (f *format) rxControl(size int, interrupt, end bool) uint32 {
	w := field.Put(f.rx.size, uint32(size))
	if !interrupt {
		w |= gmac3.RDES1DIC // at the same place in all formats
	}
	switch {
	case f.chained:
		w |= f.rx.chained
	case end:
		w |= f.rx.end
	}
	return w
}

// txWords are words 0 and 1 of a transmit descriptor: its control, a combination
// of first, last, interrupt and cic of f.tx, and n bytes in its buffer. Word 0 has
// OWN. end says that it is in the last slot.
func (f *format) txWords(control, n uint32, end bool) (w0, w1 uint32) {
	switch {
	case f.chained:
		control |= f.tx.chained
	case end:
		control |= f.tx.end
	}
	size := field.Put(f.tx.size, n)
	if f.enhanced {
		return gmac3.TDES0OWN | control, size
	}
	return gmac3.TDES0OWN, control | size
}

// fcsLen is the length of the frame check sequence. It is never stripped, so that
// every frame ends in it: CST and ACS would strip it from some kinds only.
const fcsLen = 4

const (
	rxErrors = gmac3.RDES0CE | gmac3.RDES0RE | gmac3.RDES0RWT | gmac3.RDES0LC | gmac3.RDES0OE | gmac3.RDES0DE

	// needVerdict marks, inside one Harvest, a completion whose checksum verdict
	// in word 4 is still to be read. No flag of package ring.
	needVerdict ring.Flags = 1 << 31
)

// decodeRX decodes word 0 of a completed receive descriptor. Length and errors are
// valid with LS only. checksum says that the checksum engine is on.
//
// The error summary is no error by itself: some cores set it for checksums too.
func (f *format) decodeRX(w0 uint32, checksum bool) ring.Completion {
	var c ring.Completion
	if w0&gmac3.RDES0FS != 0 {
		c.Flags = ring.First
	}
	if w0&gmac3.RDES0LS == 0 {
		return c
	}
	c.Flags |= ring.Last
	c.Len = field.Get(gmac3.RDES0FL, w0)
	c.Trim = fcsLen
	sums := gmac3.RDES0Header | gmac3.RDES0Payload
	switch {
	case w0&rxErrors != 0:
		c.Flags |= rxErrorFlags(w0)
	case w0&gmac3.RDES0ES != 0 && (!checksum || w0&sums == 0):
		c.Flags |= ring.ErrReceive
		if w0&gmac3.RDES0Header != 0 { // a giant, with the engine off
			c.Flags ^= ring.ErrReceive | ring.ErrLength
		}
	case !checksum:
	case f.extended:
		if w0&gmac3.RDES0Payload != 0 { // word 4 is valid
			c.Flags |= needVerdict
		}
	default:
		c.Flags |= decodeShort(w0)
	}
	return c
}

func rxErrorFlags(w0 uint32) ring.Flags {
	var f ring.Flags
	if w0&gmac3.RDES0CE != 0 {
		f |= ring.ErrCRC
	}
	if w0&(gmac3.RDES0RWT|gmac3.RDES0DE) != 0 {
		f |= ring.ErrLength
	}
	if w0&gmac3.RDES0OE != 0 {
		f |= ring.ErrOverflow
	}
	if w0&gmac3.RDES0DBE != 0 && w0&gmac3.RDES0CE != 0 {
		f |= ring.ErrFrame
	}
	if w0&(gmac3.RDES0RE|gmac3.RDES0LC) != 0 {
		f |= ring.ErrReceive
	}
	return f
}

// decodeShort decodes the checksum part of word 0 where there is no word 4
// (manual: "Receive descriptor 0, bits 5, 7 and 0"): a type frame without errors is
// an IP packet whose checksums are right. Without FT the engine has not looked at
// the payload.
func decodeShort(w0 uint32) ring.Flags {
	switch w0 & (gmac3.RDES0FT | gmac3.RDES0Header | gmac3.RDES0Payload) {
	case gmac3.RDES0FT:
		return ring.ChecksumGood
	case gmac3.RDES0FT | gmac3.RDES0Payload, gmac3.RDES0FT | gmac3.RDES0Header,
		gmac3.RDES0FT | gmac3.RDES0Header | gmac3.RDES0Payload:
		return ring.ChecksumBad
	}
	return 0
}

// decodeExtended decodes the checksum part of word 4. Good means that the engine
// knew the IP version and the payload and found no error; a fragment, an unknown
// extension header or a bypass leaves the question open.
func decodeExtended(w4 uint32) ring.Flags {
	pt := field.Get(gmac3.RDES4PT, w4)
	switch {
	case w4&gmac3.RDES4IPHE != 0:
		return ring.ChecksumBad
	case w4&gmac3.RDES4IPCB != 0:
		return 0
	case w4&gmac3.RDES4IPPE != 0:
		return ring.ChecksumBad
	case w4&(gmac3.RDES4IPV4|gmac3.RDES4IPV6) != 0 && pt >= gmac3.PTUDP && pt <= gmac3.PTICMP:
		return ring.ChecksumGood
	}
	return 0
}

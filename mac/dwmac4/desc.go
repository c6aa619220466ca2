package dwmac4

import (
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/ring"
)

// fcsLen is the length of the frame check sequence. It is never stripped, so
// that every frame ends in it: CST and ACS would strip it from some kinds only.
const fcsLen = 4

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

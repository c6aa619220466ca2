package dwxgmac2

import (
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/xgmac2"
	"github.com/barewire/barewire/ring"
)

// fcsLen is the length of the frame check sequence. It is never stripped, so
// that every frame ends in it: CST and ACS would strip it from some kinds only.
const fcsLen = 4

// decodeRX decodes RDES3 of a completed receive descriptor. Length, errors and
// protocol are valid with LD only. With RDES3CDA a context is in the next slot, which
// may still be the device's when the frame is not: the ring meets it there when it
// has come.
//
// Unlike GMAC4's, a wrong checksum is an error (ES), and there is no bit that says
// whether the engine has looked: a frame without error whose protocol is TCP, UDP or
// ICMP has been checked when the engine is on. It looks behind one VLAN tag, not two.
func decodeRX(w3 uint32, checksum bool) ring.Completion {
	if w3&xgmac2.RDES3CTXT != 0 {
		return ring.Completion{Flags: ring.NoData}
	}
	var c ring.Completion
	if w3&xgmac2.RDES3FD != 0 {
		c.Flags = ring.First
	}
	if w3&xgmac2.RDES3LD == 0 {
		return c
	}
	c.Flags |= ring.Last
	c.Len = w3 & xgmac2.RDES3PL
	c.Trim = fcsLen
	kind := field.Get(xgmac2.RDES3ET, w3)
	switch {
	case w3&xgmac2.RDES3ES != 0:
		c.Flags |= rxError(kind)
	case checksum && checked(field.Get(xgmac2.RDES3L34T, w3)) && (kind < xgmac2.TypeDoubleLow || kind > xgmac2.TypeDoubleHigh):
		c.Flags |= ring.ChecksumGood
	}
	return c
}

// checked reports whether the checksum engine knows a protocol (RDES3.L34T).
func checked(protocol uint32) bool {
	t := protocol &^ xgmac2.L34IPv6
	return t >= xgmac2.L34TCP && t <= xgmac2.L34ICMP
}

// rxError is what a code of RDES3.ET means. A wrong checksum alone is left to software
// to judge, like one that was not checked.
func rxError(kind uint32) ring.Flags {
	switch kind {
	case xgmac2.ErrIPHeader, xgmac2.ErrL4:
		return ring.ChecksumBad
	case xgmac2.ErrCRC:
		return ring.ErrCRC
	case xgmac2.ErrWatchdog, xgmac2.ErrGiant:
		return ring.ErrLength
	case xgmac2.ErrOverflow:
		return ring.ErrOverflow
	}
	return ring.ErrReceive
}

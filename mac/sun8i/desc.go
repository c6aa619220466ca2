package sun8i

import (
	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/ring"
)

// rxDescControl is DescCtl of a posted receive descriptor.
//
// It never has RxIntOff: with no receive watchdog nothing would tell of a frame
// that does not interrupt.
func rxDescControl(size int) uint32 {
	return emac.CtlChain | field.Put(emac.CtlSize, uint32(size))
}

// txDescControl is DescCtl of a descriptor for n bytes of f, whose first or last
// it may be.
func txDescControl(f *ring.TXFrame, n uint32, first, last bool) uint32 {
	w := emac.CtlChain | field.Put(emac.CtlSize, n)
	if first {
		w |= emac.TxFirst
		if f.Checksum == ring.ChecksumFull {
			w |= field.Put(emac.TxCIC, emac.CICFull)
		}
	}
	if last {
		w |= emac.TxLast
		if f.Interrupt {
			w |= emac.TxInt
		}
	}
	return w
}

// rxErrors are the bits of a receive status that spoil a frame. A failed address
// filter spoils none: it shows where everything is to pass. Nor does a dribble of
// bits behind a right FCS.
const rxErrors = emac.RxCRC | emac.RxPHYErr | emac.RxWatchdog | emac.RxLate | emac.RxOverflow | emac.RxLengthErr | emac.RxNoBuf

// decodeRX decodes the status of a completed receive descriptor. Length, errors
// and verdict are valid in a frame's last one only. checksum says that the engine
// is on.
func decodeRX(status uint32, checksum bool) (c ring.Completion) {
	if status&emac.RxFirst != 0 {
		c.Flags = ring.First
	}
	if status&emac.RxLast == 0 {
		return c
	}
	c.Flags |= ring.Last
	c.Len = field.Get(emac.RxLen, status)
	c.Trim = fcsLen
	switch {
	case status&rxErrors != 0:
		c.Flags |= rxErrorFlags(status)
	case checksum:
		c.Flags |= verdict(status)
	}
	return c
}

func rxErrorFlags(status uint32) (f ring.Flags) {
	if status&emac.RxCRC != 0 {
		f |= ring.ErrCRC
	}
	if status&(emac.RxWatchdog|emac.RxLengthErr) != 0 {
		f |= ring.ErrLength
	}
	if status&(emac.RxOverflow|emac.RxNoBuf) != 0 {
		f |= ring.ErrOverflow
	}
	if status&(emac.RxPHYErr|emac.RxLate) != 0 {
		f |= ring.ErrReceive
	}
	return f
}

// verdict decodes what the checksum engine found. As in Synopsys's cores of that
// generation (full checksum offload, "type 2") three bits tell together: with
// RxType the packet was IP and each error bit means what its name says; without it
// they say why nothing was checked: no IP, a payload that the engine does not
// know, a fragment. FreeBSD goes by RxType, too.
func verdict(status uint32) ring.Flags {
	switch {
	case status&emac.RxType == 0:
		return 0
	case status&(emac.RxHeaderErr|emac.RxPayloadErr) != 0:
		return ring.ChecksumBad
	}
	return ring.ChecksumGood
}

package dwxgmac2

import (
	"sync/atomic"

	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/xgmac2"
)

// mmc is the block of management counters. Most are 64 bits wide, in two registers,
// which are read and cleared one by one.
type mmc struct {
	// absent has every register read 0 and nothing counted.
	absent bool
	// changed is called when an interrupt of a counter has come or gone, with no lock
	// held.
	changed func()

	// values are the counters by their offset; other registers are in regs.
	values [xgmac2.MMCSize / 4]atomic.Uint64
	regs   [xgmac2.MMCSize / 4]atomic.Uint32
}

// place is where a counter lies, given the name that it has in GMAC4.
func place(counter uint32) (off uint32, ok bool) {
	const bins = 6
	switch {
	case counter >= dwregs.MMCTx64 && counter < dwregs.MMCTx64+4*bins:
		return xgmac2.MMCTx64 + 2*(counter-dwregs.MMCTx64), true
	case counter >= dwregs.MMCRx64 && counter < dwregs.MMCRx64+4*bins:
		return xgmac2.MMCRx64 + 2*(counter-dwregs.MMCRx64), true
	case counter >= dwregs.MMCRxIPv4Good && counter <= dwregs.MMCRxICMPErr:
		return xgmac2.MMCRxIPv4Good + 2*(counter-dwregs.MMCRxIPv4Good), true
	case counter >= dwregs.MMCRxIPv4Good+dwregs.MMCIPCOctets && counter <= dwregs.MMCRxICMPErr+dwregs.MMCIPCOctets:
		return xgmac2.MMCRxIPv4Good + xgmac2.MMCIPCOctets + 2*(counter-dwregs.MMCRxIPv4Good-dwregs.MMCIPCOctets), true
	}
	switch counter {
	case dwregs.MMCTxOctets:
		off = xgmac2.MMCTxOctets
	case dwregs.MMCTxPackets:
		off = xgmac2.MMCTxPackets
	case dwregs.MMCTxBcastG:
		off = xgmac2.MMCTxBcastG
	case dwregs.MMCTxMcastG:
		off = xgmac2.MMCTxMcastG
	case dwregs.MMCTxUcast:
		off = xgmac2.MMCTxUcast
	case dwregs.MMCTxMcast:
		off = xgmac2.MMCTxMcast
	case dwregs.MMCTxBcast:
		off = xgmac2.MMCTxBcast
	case dwregs.MMCTxUnderflow:
		off = xgmac2.MMCTxUnderflow
	case dwregs.MMCTxOctetsG:
		off = xgmac2.MMCTxOctetsG
	case dwregs.MMCTxPacketsG:
		off = xgmac2.MMCTxPacketsG
	case dwregs.MMCTxPause:
		off = xgmac2.MMCTxPause
	case dwregs.MMCTxVLAN:
		off = xgmac2.MMCTxVLAN
	case dwregs.MMCRxPackets:
		off = xgmac2.MMCRxPackets
	case dwregs.MMCRxOctets:
		off = xgmac2.MMCRxOctets
	case dwregs.MMCRxOctetsG:
		off = xgmac2.MMCRxOctetsG
	case dwregs.MMCRxBcastG:
		off = xgmac2.MMCRxBcastG
	case dwregs.MMCRxMcastG:
		off = xgmac2.MMCRxMcastG
	case dwregs.MMCRxCRC:
		off = xgmac2.MMCRxCRC
	case dwregs.MMCRxRunt:
		off = xgmac2.MMCRxRunt
	case dwregs.MMCRxJabber:
		off = xgmac2.MMCRxJabber
	case dwregs.MMCRxUndersize:
		off = xgmac2.MMCRxUndersize
	case dwregs.MMCRxOversize:
		off = xgmac2.MMCRxOversize
	case dwregs.MMCRxUcastG:
		off = xgmac2.MMCRxUcastG
	case dwregs.MMCRxLength:
		off = xgmac2.MMCRxLength
	case dwregs.MMCRxPause:
		off = xgmac2.MMCRxPause
	case dwregs.MMCRxOverflow:
		off = xgmac2.MMCRxOverflow
	case dwregs.MMCRxVLAN:
		off = xgmac2.MMCRxVLAN
	case dwregs.MMCRxWatchdog:
		off = xgmac2.MMCRxWatchdog
	}
	return off, off != 0 // this core has no others
}

// narrow reports whether the counter at off has 32 bits.
func narrow(off uint32) bool {
	return off >= xgmac2.MMCRxRunt && off <= xgmac2.MMCRxOversize || off >= xgmac2.MMCRxWatchdog && off <= xgmac2.MMCRxLPITran ||
		off == xgmac2.MMCTxLPIUsec || off == xgmac2.MMCTxLPITran
}

// counter finds the counter of a register, and whether it is the upper half.
func counter(off uint32) (at uint32, high, ok bool) {
	var base uint32
	switch {
	case off >= xgmac2.MMCTxOctets && off <= xgmac2.MMCTxLPITran:
		base = xgmac2.MMCTxOctets
	case off >= xgmac2.MMCRxPackets && off < xgmac2.MMCRxRunt:
		base = xgmac2.MMCRxPackets
	case off >= xgmac2.MMCRx64 && off < xgmac2.MMCRxWatchdog:
		base = xgmac2.MMCRx64
	case off >= xgmac2.MMCRxDiscard && off <= xgmac2.MMCRxAlign+4:
		base = xgmac2.MMCRxDiscard
	case off >= xgmac2.MMCRxIPv4Good && off <= xgmac2.MMCRxICMPErrOcts+4:
		base = xgmac2.MMCRxIPv4Good
	default:
		return off, false, narrow(off)
	}
	if narrow(off) {
		return off, false, true
	}
	high = (off-base)%8 != 0
	if high {
		off -= 4
	}
	return off, high, true
}

// count adds to a counter. One that passes half of 32 bits, or all of them, raises
// its interrupt.
func (c *mmc) count(name uint32, n int) {
	off, ok := place(name)
	if ctl := c.regs[0].Load(); !ok || ctl&dwregs.MMCFreeze != 0 || c.absent {
		return
	}
	now := c.values[off/4].Add(uint64(n))
	if narrow(off) {
		c.values[off/4].And(1<<32 - 1)
	}
	if (now^(now-uint64(n)))>>31 == 0 {
		return
	}
	reg := xgmac2.MMCTxInt
	if off >= xgmac2.MMCRxPackets {
		reg = xgmac2.MMCRxInt
	}
	if off < xgmac2.MMCRxIPv4Good { // those of the checksum engine have a status of their own
		c.regs[reg/4].Or(1 << (off / 8 % 32))
		c.changed()
	}
}

// read reads a register. Reading a counter ends its interrupt.
func (c *mmc) read(off uint32) uint32 {
	at, high, ok := counter(off)
	if !ok {
		return c.regs[off/4].Load()
	}
	for _, reg := range [...]uint32{xgmac2.MMCRxInt, xgmac2.MMCTxInt} {
		if mine := (reg == xgmac2.MMCRxInt) == (at >= xgmac2.MMCRxPackets); mine && c.regs[reg/4].Load() != 0 {
			c.regs[reg/4].And(^uint32(1 << (at / 8 % 32)))
			c.changed()
		}
	}
	shift := uint(0)
	if high {
		shift = 32
	}
	if c.regs[0].Load()&dwregs.MMCResetOnRead != 0 {
		return uint32(c.values[at/4].And(^(uint64(1<<32-1) << shift)) >> shift)
	}
	return uint32(c.values[at/4].Load() >> shift)
}

// write writes a register.
func (c *mmc) write(off, v uint32) {
	if c.absent {
		return
	}
	switch off {
	case xgmac2.MMCControl:
		switch {
		case v&dwregs.MMCReset != 0:
			c.fill(0)
		case v&dwregs.MMCPreset != 0 && v&dwregs.MMCPresetFull != 0:
			c.fill(0xfffffff0)
		case v&dwregs.MMCPreset != 0:
			c.fill(0x7ffffff0)
		}
		c.regs[0].Store(v &^ (dwregs.MMCReset | dwregs.MMCPreset))
	case xgmac2.MMCRxIntEnable, xgmac2.MMCTxIntEnable, xgmac2.MMCIPCIntMask, xgmac2.MMCFPETxMask, xgmac2.MMCFPERxMask:
		c.regs[off/4].Store(v)
		c.changed()
	}
}

func (c *mmc) fill(v uint64) {
	for off := uint32(0); off < xgmac2.MMCSize; off += 4 {
		if at, high, ok := counter(off); ok && !high {
			c.values[at/4].Store(v)
		}
	}
}

// reset is a reset of the core. It does not call changed.
func (c *mmc) reset() {
	for i := range c.regs {
		c.regs[i].Store(0)
		c.values[i].Store(0)
	}
}

// pending reports enabled interrupts of receive and transmit counters.
func (c *mmc) pending() (rx, tx bool) {
	return c.regs[xgmac2.MMCRxInt/4].Load()&c.regs[xgmac2.MMCRxIntEnable/4].Load() != 0,
		c.regs[xgmac2.MMCTxInt/4].Load()&c.regs[xgmac2.MMCTxIntEnable/4].Load() != 0
}

package dwmac

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwregs"
)

// MMC is the block of management counters of GMAC3 and GMAC4. Its methods may be
// called from any goroutine.
type MMC struct {
	// Absent has every register read 0 and nothing counted.
	Absent bool
	// Changed is called when an interrupt of a counter has come or gone, with no
	// lock held.
	Changed func()

	regs [dwregs.MMCSize / 4]atomic.Uint32
}

func (c *MMC) load(off uint32) uint32 { return c.regs[off/4].Load() }

// Count adds to a counter. One that passes half of its range or all of it raises
// its interrupt.
func (c *MMC) Count(off uint32, n int) {
	ctl := c.load(dwregs.MMCControl)
	if ctl&dwregs.MMCFreeze != 0 || c.Absent {
		return
	}
	now := c.regs[off/4].Add(uint32(n))
	old := now - uint32(n)
	if now < old && ctl&dwregs.MMCStop != 0 {
		c.regs[off/4].Store(^uint32(0))
	}
	if (now^old)>>31 == 0 {
		return
	}
	if reg, bit, ok := interrupt(off); ok {
		c.regs[reg/4].Or(1 << bit)
		c.Changed()
	}
}

// interrupt is the interrupt of a counter: they are in the order of the counters.
func interrupt(off uint32) (reg, bit uint32, ok bool) {
	const ipc, octets = dwregs.MMCRxIPv4Good, dwregs.MMCIPCOctets
	switch {
	case off >= dwregs.MMCTxOctets && off <= dwregs.MMCTxOversize:
		return dwregs.MMCTxInt, (off - dwregs.MMCTxOctets) / 4, true
	case off >= dwregs.MMCRxPackets && off < dwregs.MMCIPCIntMask:
		return dwregs.MMCRxInt, (off - dwregs.MMCRxPackets) / 4, true
	case off >= ipc && off < ipc+octets:
		return dwregs.MMCIPCInt, (off - ipc) / 4, true
	case off >= ipc+octets && off < ipc+2*octets:
		return dwregs.MMCIPCInt, 16 + (off-ipc-octets)/4, true
	}
	return 0, 0, false
}

// Read reads a register. Reading a counter ends its interrupt.
func (c *MMC) Read(off uint32) uint32 {
	reg, bit, counter := interrupt(off)
	if !counter {
		return c.load(off)
	}
	if c.load(reg)>>bit&1 != 0 {
		c.regs[reg/4].And(^uint32(1 << bit))
		c.Changed()
	}
	if c.load(dwregs.MMCControl)&dwregs.MMCResetOnRead != 0 {
		return c.regs[off/4].Swap(0)
	}
	return c.load(off)
}

// Write writes a register.
func (c *MMC) Write(off, v uint32) {
	if c.Absent {
		return
	}
	switch off {
	case dwregs.MMCControl:
		switch {
		case v&dwregs.MMCReset != 0:
			c.fill(0)
		case v&dwregs.MMCPreset != 0 && v&dwregs.MMCPresetFull != 0:
			c.fill(0xfffffff0)
		case v&dwregs.MMCPreset != 0:
			c.fill(0x7ffffff0)
		}
		c.regs[off/4].Store(v &^ (dwregs.MMCReset | dwregs.MMCPreset))
	case dwregs.MMCRxIntMask, dwregs.MMCTxIntMask, dwregs.MMCIPCIntMask:
		c.regs[off/4].Store(v)
		c.Changed()
	}
}

func (c *MMC) fill(v uint32) {
	for i := range c.regs {
		if _, _, ok := interrupt(uint32(4 * i)); ok {
			c.regs[i].Store(v)
		}
	}
}

// Reset is a reset of the core. It does not call Changed.
func (c *MMC) Reset() {
	for i := range c.regs {
		c.regs[i].Store(0)
	}
}

// Pending reports unmasked interrupts of receive, transmit and checksum counters.
func (c *MMC) Pending() (rx, tx, ipc bool) {
	return c.load(dwregs.MMCRxInt)&^c.load(dwregs.MMCRxIntMask) != 0,
		c.load(dwregs.MMCTxInt)&^c.load(dwregs.MMCTxIntMask) != 0,
		c.load(dwregs.MMCIPCInt)&^c.load(dwregs.MMCIPCIntMask) != 0
}

// Counters count by the names that counters have in GMAC3 and GMAC4 (dwregs.MMC…).
type Counters interface {
	Count(counter uint32, n int)
}

// CountTX counts a frame that was sent, which is without its FCS.
func (c *MMC) CountTX(f []byte) { CountTX(c, f) }

// CountTX counts a frame that was sent, which is without its FCS.
func CountTX(c Counters, f []byte) {
	n := len(f) + FCSLen
	c.Count(dwregs.MMCTxOctets, n)
	c.Count(dwregs.MMCTxOctetsG, n)
	c.Count(dwregs.MMCTxPackets, 1)
	c.Count(dwregs.MMCTxPacketsG, 1)
	c.Count(dwregs.MMCTx64+4*bin(n), 1)
	switch a := mac.HardwareAddr(f[:6]); {
	case a == mac.Broadcast:
		c.Count(dwregs.MMCTxBcast, 1)
		c.Count(dwregs.MMCTxBcastG, 1)
	case a.Multicast():
		c.Count(dwregs.MMCTxMcast, 1)
		c.Count(dwregs.MMCTxMcastG, 1)
	default:
		c.Count(dwregs.MMCTxUcast, 1)
	}
	if binary.BigEndian.Uint16(f[12:]) == TypeVLAN {
		c.Count(dwregs.MMCTxVLAN, 1)
	}
	if n > 1522 {
		c.Count(dwregs.MMCTxOversize, 1)
	}
}

// CountRX counts a frame of n bytes with FCS that has passed the filter. Frames
// longer than giant are too long.
func (c *MMC) CountRX(f []byte, n, giant int, tagged, good bool) {
	CountRX(c, f, n, giant, tagged, good)
}

// CountRX is MMC.CountRX for any counters.
func CountRX(c Counters, f []byte, n, giant int, tagged, good bool) {
	c.Count(dwregs.MMCRxPackets, 1)
	c.Count(dwregs.MMCRxOctets, n)
	c.Count(dwregs.MMCRx64+4*bin(n), 1)
	switch {
	case !good && n < MinFrame:
		c.Count(dwregs.MMCRxRunt, 1)
		return
	case !good && n > giant:
		c.Count(dwregs.MMCRxJabber, 1)
		return
	case !good:
		c.Count(dwregs.MMCRxCRC, 1)
		return
	case n < MinFrame:
		c.Count(dwregs.MMCRxUndersize, 1)
	case n > giant:
		c.Count(dwregs.MMCRxOversize, 1)
	}
	if typ := int(binary.BigEndian.Uint16(f[12:])); typ < TypeLeast && 14+typ > len(f) {
		c.Count(dwregs.MMCRxLength, 1)
	}
	c.Count(dwregs.MMCRxOctetsG, n)
	if tagged {
		c.Count(dwregs.MMCRxVLAN, 1)
	}
	switch a := mac.HardwareAddr(f[:6]); {
	case a == mac.Broadcast:
		c.Count(dwregs.MMCRxBcastG, 1)
	case a.Multicast():
		c.Count(dwregs.MMCRxMcastG, 1)
	default:
		c.Count(dwregs.MMCRxUcastG, 1)
	}
}

// bin is the index of the size bin of a frame of n bytes with FCS.
func bin(n int) uint32 {
	switch {
	case n <= 64:
		return 0
	case n < 128:
		return 1
	case n < 256:
		return 2
	case n < 512:
		return 3
	case n < 1024:
		return 4
	}
	return 5
}

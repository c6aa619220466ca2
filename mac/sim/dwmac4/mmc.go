package dwmac4

import (
	"github.com/barewire/barewire/mac/internal/gmac4"

	"github.com/barewire/barewire/mac/internal/dwregs"
)

const (
	mmcLast = 0x8FF
	mmcIPC  = 0x810 // first counter of the checksum engine
	// mmcOctets is how far behind a packet counter of the checksum engine that
	// of its octets is.
	mmcOctets = 0x40
)

// count adds to an MMC counter. A counter that passes half of its range or all
// of it raises its interrupt.
func (m *Model) count(off uint32, n int) {
	ctl := m.load(gmac4.MMC + dwregs.MMCControl)
	if ctl&dwregs.MMCFreeze != 0 || m.cfg.NoMMC {
		return
	}
	now := m.regs[off/4].Add(uint32(n))
	old := now - uint32(n)
	if now < old && ctl&dwregs.MMCStop != 0 {
		m.store(off, ^uint32(0))
	}
	if (now^old)>>31 != 0 {
		m.mmcInterrupt(off)
	}
}

func (m *Model) mmcInterrupt(off uint32) {
	if reg, bit, ok := mmcBit(off); ok {
		m.or(reg, 1<<bit)
	}
}

// mmcBit is the interrupt of a counter: they are in the order of the counters.
func mmcBit(off uint32) (reg, bit uint32, ok bool) {
	switch {
	case off >= gmac4.MMC+dwregs.MMCTxOctets && off <= gmac4.MMC+dwregs.MMCTxOversize:
		return gmac4.MMC + dwregs.MMCTxInt, (off - gmac4.MMC - dwregs.MMCTxOctets) / 4, true
	case off >= gmac4.MMC+dwregs.MMCRxPackets && off < gmac4.MMC+dwregs.MMCIPCIntMask:
		return gmac4.MMC + dwregs.MMCRxInt, (off - gmac4.MMC - dwregs.MMCRxPackets) / 4, true
	case off >= mmcIPC && off < mmcIPC+mmcOctets:
		return gmac4.MMC + dwregs.MMCIPCInt, (off - mmcIPC) / 4, true
	case off >= mmcIPC+mmcOctets && off < mmcIPC+2*mmcOctets:
		return gmac4.MMC + dwregs.MMCIPCInt, 16 + (off-mmcIPC-mmcOctets)/4, true
	}
	return 0, 0, false
}

// readMMC is a read between MMC_Control and the last counter. Reading a counter
// ends its interrupt.
func (m *Model) readMMC(off uint32) uint32 {
	reg, bit, counter := mmcBit(off)
	if !counter {
		return m.load(off)
	}
	if m.load(reg)>>bit&1 != 0 {
		m.clearBits(reg, 1<<bit)
	}
	if m.load(gmac4.MMC+dwregs.MMCControl)&dwregs.MMCResetOnRead != 0 {
		return m.regs[off/4].Swap(0)
	}
	return m.load(off)
}

func (m *Model) writeMMC(off, v uint32) {
	switch off {
	case gmac4.MMC + dwregs.MMCControl:
		switch {
		case v&dwregs.MMCReset != 0:
			m.fillMMC(0)
		case v&dwregs.MMCPreset != 0 && v&dwregs.MMCPresetFull != 0:
			m.fillMMC(0xfffffff0)
		case v&dwregs.MMCPreset != 0:
			m.fillMMC(0x7ffffff0)
		}
		m.store(off, v&^(dwregs.MMCReset|dwregs.MMCPreset))
	case gmac4.MMC + dwregs.MMCRxIntMask, gmac4.MMC + dwregs.MMCTxIntMask, gmac4.MMC + dwregs.MMCIPCIntMask:
		m.setInt(off, v)
	}
}

func (m *Model) fillMMC(v uint32) {
	for off := gmac4.MMC + dwregs.MMCTxOctets; off <= mmcLast; off += 4 {
		if _, _, ok := mmcBit(off); ok {
			m.store(off, v)
		}
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

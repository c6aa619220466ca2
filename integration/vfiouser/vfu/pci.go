//go:build linux

package vfu

import (
	"encoding/binary"
	"math/bits"
)

// Configuration space, type 0 header (PCI Local Bus 3.0, 6.1 and 6.8.1).
const (
	configSize = 256

	pciCommand   = 0x04
	pciStatus    = 0x06
	pciRevision  = 0x08
	pciClass     = 0x09
	pciCacheLine = 0x0c
	pciBAR0      = 0x10
	pciSubsystem = 0x2c
	pciCaps      = 0x34
	pciIntLine   = 0x3c
	pciIntPin    = 0x3d
	msiCap       = 0x50

	commandWritable    = 0x0547 // I/O, memory, master, parity, SERR, interrupt disable
	commandMaster      = 1 << 2
	commandIntxDisable = 1 << 10
	statusInterrupt    = 1 << 3
	statusCaps         = 1 << 4

	capMSI       = 0x05
	msiEnable    = 1 << 0
	msiCapable   = 1 // shift of Multiple Message Capable
	msiMME       = 7 << 4
	msi64        = 1 << 7
	msiAddrAlign = 3
)

// configSpace is the function's configuration space. The session's goroutine
// owns it.
type configSpace struct {
	data, writable [configSize]byte
	reset          [configSize]byte
}

func newConfigSpace(c *Config) *configSpace {
	s := &configSpace{}
	le, d, w := binary.LittleEndian, s.data[:], s.writable[:]
	le.PutUint16(d, c.Vendor)
	le.PutUint16(d[2:], c.Device)
	d[pciRevision] = c.Revision
	d[pciClass], d[pciClass+1], d[pciClass+2] = byte(c.Class), byte(c.Class>>8), byte(c.Class>>16)
	le.PutUint16(d[pciSubsystem:], c.SubsystemVendor)
	le.PutUint16(d[pciSubsystem+2:], c.Subsystem)
	d[pciIntPin] = c.InterruptPin
	le.PutUint16(w[pciCommand:], commandWritable)
	w[pciCacheLine], w[pciIntLine] = 0xff, 0xff
	for i, size := range c.BARs {
		if size != 0 {
			le.PutUint32(w[pciBAR0+4*i:], -uint32(size))
		}
	}
	if c.MSIVectors > 0 {
		le.PutUint16(d[pciStatus:], statusCaps)
		d[pciCaps], d[msiCap] = msiCap, capMSI
		le.PutUint16(d[msiCap+2:], msi64|uint16(bits.Len(uint(c.MSIVectors))-1)<<msiCapable)
		le.PutUint16(w[msiCap+2:], msiEnable|msiMME)
		le.PutUint32(w[msiCap+4:], ^uint32(msiAddrAlign))
		le.PutUint32(w[msiCap+8:], ^uint32(0))
		le.PutUint16(w[msiCap+12:], 0xffff)
	}
	s.reset = s.data
	return s
}

// read copies from off on, which is within the space with all of p. intx is the
// level of the interrupt pin.
func (s *configSpace) read(off int, p []byte, intx bool) {
	copy(p, s.data[off:])
	if i := pciStatus - off; intx && i >= 0 && i < len(p) {
		p[i] |= statusInterrupt
	}
}

func (s *configSpace) write(off int, p []byte) {
	for i, b := range p {
		w := s.writable[off+i]
		s.data[off+i] = s.data[off+i]&^w | b&w
	}
}

func (s *configSpace) command() uint16 { return binary.LittleEndian.Uint16(s.data[pciCommand:]) }

func (s *configSpace) intxDisabled() bool { return s.command()&commandIntxDisable != 0 }

func (s *configSpace) master() bool { return s.command()&commandMaster != 0 }

package dwmac

import (
	"encoding/binary"
	"hash/crc32"
)

// Pad fills a frame that is shorter than buf up with zeros, in buf, as the sender's
// MAC does.
func Pad(buf *[MinFrame - FCSLen]byte, frame []byte) []byte {
	if len(frame) >= len(buf) {
		return frame
	}
	n := copy(buf[:], frame)
	clear(buf[n:])
	return buf[:]
}

// SplitFCS takes what is on the wire, FCSLen bytes at least, apart, and reports whether
// the FCS is right.
func SplitFCS(wire []byte) (frame, fcs []byte, good bool) {
	n := len(wire) - FCSLen
	frame, fcs = wire[:n], wire[n:]
	return frame, fcs, crc32.ChecksumIEEE(frame) == binary.LittleEndian.Uint32(fcs)
}

// PassControl is the filter of MAC control frames (PCF): it reports whether f passes,
// when pass is what the address filter says.
func PassControl(pcf uint32, f []byte, pass bool) bool {
	switch pcf {
	case 0:
		return false
	case 1:
		_, pause := Pause(f)
		return !pause
	case 2:
		return true
	}
	return pass
}

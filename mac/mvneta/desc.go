package mvneta

import (
	"encoding/binary"

	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/neta"
	"github.com/barewire/barewire/ring"
)

// fcsLen is the length of the frame check sequence, which is never stripped.
const fcsLen = 4

// unwritten is the size word of a descriptor that the device has not filled, more
// bytes than a frame can have, and its status word, with every reserved bit set.
const unwritten uint32 = 0xFFFFFFFF

// decoder makes completions out of receive descriptors. Size, errors and checksum
// verdict of a frame stand in its first descriptor, so the rest of it is counted
// off from there.
type decoder struct {
	buffer   uint32 // bytes that the device puts into one buffer
	checksum bool   // believe verdicts
	left     uint32 // bytes of the frame that are still to come
	verdict  ring.Flags
}

// next decodes status and size of the next descriptor.
func (d *decoder) next(status, size uint32) ring.Completion {
	var c ring.Completion
	if status&neta.RXFirst != 0 {
		c.Flags = ring.First
		d.left, d.verdict = field.Get(neta.RXSizeBytes, size), 0
		if status&neta.RXError != 0 {
			c.Flags |= errorFlag(status)
		} else if d.checksum {
			d.verdict = verdict(status)
		}
	}
	if status&neta.RXLast == 0 {
		c.Len = min(d.left, d.buffer)
		d.left -= c.Len
		return c
	}
	c.Len, c.Trim = d.left, fcsLen
	c.Flags |= ring.Last | d.verdict
	d.left, d.verdict = 0, 0
	return c
}

func errorFlag(status uint32) ring.Flags {
	switch field.Get(neta.RXErrorCode, status) {
	case neta.RXErrorCRC:
		return ring.ErrCRC
	case neta.RXErrorOverrun:
		return ring.ErrOverflow
	case neta.RXErrorLength:
		return ring.ErrLength
	}
	return ring.ErrReceive
}

// verdict is good when the IP header and what is in it were checked and found
// right. Of bits 24 and 25 sources agree only that 25 is part of it; the protocol
// is for the EtherType to say.
func verdict(status uint32) ring.Flags {
	const need = neta.RXL4OK | neta.RXIPHeaderOK
	if status&(need|neta.RXFragment) == need {
		return ring.ChecksumGood
	}
	return 0
}

// Protocols.
const (
	typeIPv4 = 0x0800
	typeIPv6 = 0x86DD
	typeVLAN = 0x8100
	typeQinQ = 0x88A8
	protoUDP = 17
	protoTCP = 6
)

// command is word 0 of the first descriptor of a frame, without LAST. The engine
// has to be told where the headers are and what they are.
func command(f *ring.TXFrame) uint32 {
	c := neta.TXFirst | field.Put(neta.TXL4Mode, neta.TXL4None)
	if f.Checksum != ring.ChecksumFull {
		return c
	}
	return neta.TXFirst | checksum(f.Data)
}

// checksum is what of command asks for checksums of the frame b: of the IPv4
// header, and of TCP and UDP that is no fragment.
func checksum(b []byte) uint32 {
	none := field.Put(neta.TXL4Mode, neta.TXL4None)
	at := 12
	for at+2 <= len(b) && at < 12+2*4 && isTag(b[at:]) {
		at += 4
	}
	ip := at + 2
	if ip+20 > len(b) {
		return none
	}
	c := field.Put(neta.TXL3Offset, uint32(ip))
	var proto byte
	switch binary.BigEndian.Uint16(b[at:]) {
	case typeIPv4:
		ihl := uint32(b[ip] & 15)
		c |= neta.TXIPChecksum | field.Put(neta.TXIPHeader, ihl)
		if binary.BigEndian.Uint16(b[ip+6:])&0x3FFF != 0 || ihl < 5 {
			return c | none
		}
		proto = b[ip+9]
	case typeIPv6:
		c |= neta.TXIPv6 | field.Put(neta.TXIPHeader, 10)
		proto = b[ip+6]
	default:
		return none
	}
	switch proto {
	case protoTCP:
		return c | field.Put(neta.TXL4Mode, neta.TXL4Full)
	case protoUDP:
		return c | field.Put(neta.TXL4Mode, neta.TXL4Full) | neta.TXUDP
	}
	return c | none
}

func isTag(b []byte) bool {
	t := binary.BigEndian.Uint16(b)
	return t == typeVLAN || t == typeQinQ
}

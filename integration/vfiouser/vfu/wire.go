//go:build linux

package vfu

import "encoding/binary"

// wire is the byte order of the protocol: the host's. Configuration space is
// little-endian whatever the host is.
var wire = binary.NativeEndian

// Commands.
const (
	cmdVersion       = 1
	cmdDMAMap        = 2
	cmdDMAUnmap      = 3
	cmdGetInfo       = 4
	cmdGetRegionInfo = 5
	cmdGetIRQInfo    = 7
	cmdSetIRQs       = 8
	cmdRegionRead    = 9
	cmdRegionWrite   = 10
	cmdReset         = 13
)

// Header: id 2, command 2, size 4, flags 4, error 4.
const (
	headerLen = 16

	flagTypeMask = 0xf
	flagReply    = 1
	flagNoReply  = 1 << 4
	flagError    = 1 << 5
)

// Payload sizes.
const (
	dmaMapLen     = 32 // argsz, flags, offset 8, address 8, size 8
	dmaUnmapLen   = 24 // argsz, flags, address 8, size 8
	infoLen       = 16 // argsz, flags, regions, irqs
	regionInfoLen = 32 // argsz, flags, index, cap offset, size 8, offset 8
	irqInfoLen    = 16 // argsz, flags, index, count
	irqSetLen     = 20 // argsz, flags, index, start, count, data
	regionLen     = 16 // offset 8, region, count, data
)

const (
	dmaRead     = 1 << 0
	dmaWrite    = 1 << 1
	dmaUnmapAll = 1 << 1

	deviceReset = 1 << 0
	devicePCI   = 1 << 1

	regionRead  = 1 << 0
	regionWrite = 1 << 1

	irqEventFD    = 1 << 0
	irqMaskable   = 1 << 1
	irqAutoMasked = 1 << 2
	irqNoResize   = 1 << 3

	irqDataNone    = 1 << 0
	irqDataBool    = 1 << 1
	irqDataEventFD = 1 << 2
	irqMask        = 1 << 3
	irqUnmask      = 1 << 4
	irqTrigger     = 1 << 5
	irqDataFlags   = irqDataNone | irqDataBool | irqDataEventFD
	irqActionFlags = irqMask | irqUnmask | irqTrigger
)

// VFIO's indexes of PCI regions and interrupts.
const (
	numBARs      = 6
	regionConfig = 7
	numRegions   = 9

	indexINTx = 0
	indexMSI  = 1
	numIRQs   = 5
)

// Bounds of the protocol that Options cannot raise.
const (
	// maxTransfer bounds the data of one region access.
	maxTransfer = 4096
	maxMessage  = headerLen + regionLen + maxTransfer
	// maxFDs is how many descriptors one message may carry. QEMU accepts 16 at
	// most.
	maxFDs   = 16
	pageSize = 4096
)

type header struct {
	id, command uint16
	size, flags uint32
}

func parseHeader(b []byte) header {
	return header{wire.Uint16(b), wire.Uint16(b[2:]), wire.Uint32(b[4:]), wire.Uint32(b[8:])}
}

// putReply writes the header of a reply of size bytes to request h.
func putReply(b []byte, h header, size int, errno uint32) {
	flags := uint32(flagReply)
	if errno != 0 {
		flags |= flagError
	}
	wire.PutUint16(b, h.id)
	wire.PutUint16(b[2:], h.command)
	wire.PutUint32(b[4:], uint32(size))
	wire.PutUint32(b[8:], flags)
	wire.PutUint32(b[12:], errno)
}

package dwmac1000

import (
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac3"
)

const (
	// headerRoom is what a frame has beside its MTU before the FCS: Ethernet
	// header and two VLAN tags.
	headerRoom = 14 + 2*4

	minMTU     = 68 // IPv4's own limit
	defaultMTU = 1500
	jumboMTU   = 9000
	// normalMTU is where Linux stops on cores with normal descriptors, about one
	// page: nobody has gone further.
	normalMTU = 3800

	// busWidth is the widest bus in bytes. Which one a core has cannot be read.
	busWidth = 16

	// limit2K is the largest frame with FCS that Config2K still takes.
	limit2K = 2000
)

// burst is the DMA burst in beats.
func (c *Core) burst() int {
	if c.platform.Burst != 0 {
		return c.platform.Burst
	}
	return 8
}

// checksumMTU is the largest MTU whose frames a transmit FIFO of fifo bytes, 0 when
// unknown, holds as a whole beside one burst. Longer ones leave it before their
// end has come, and their checksums with them.
func checksumMTU(fifo, burst int) int {
	if fifo == 0 {
		return defaultMTU
	}
	return max(minMTU, min(jumboMTU, fifo-headerRoom-(burst+3)*busWidth))
}

// operationMode is Operation_Mode without SR and ST for a receive FIFO of fifo
// bytes, 0 when unknown, and frames of mtu. Frames with a bad checksum are kept for
// software to judge, all other bad ones are dropped in the FIFO. Frames that find
// no descriptor wait in the FIFO.
func operationMode(fifo, mtu int) uint32 {
	frame := mtu + headerRoom + fcsLen
	mode := gmac3.OpTSF | gmac3.OpOSF | gmac3.OpDFF | gmac3.OpDT
	if storeAndForward(fifo, mtu) {
		mode |= gmac3.OpRSF
	}
	if fifo < 4096 {
		return mode // too small for flow control, or unknown
	}
	rfa, rfd := flowThresholds(fifo, frame)
	mode |= gmac3.OpEFC | field.Put(gmac3.OpRFA, rfa&3) | field.Put(gmac3.OpRFD, rfd&3)
	if rfa > 3 {
		mode |= gmac3.OpRFA2
	}
	if rfd > 3 {
		mode |= gmac3.OpRFD2
	}
	return mode
}

// storeAndForward reports whether frames of mtu wait in the receive FIFO until
// their end has come. An unknown FIFO holds a frame of the default MTU.
func storeAndForward(fifo, mtu int) bool {
	if fifo == 0 {
		return mtu <= defaultMTU
	}
	return mtu+headerRoom+fcsLen+busWidth <= fifo
}

// flowThresholds says when the receiver asks for a pause (RFA) and when it ends it
// (RFD): n is with n+1 KiB of the FIFO free, 0 to 6. A pause starts when there is
// room for two more frames, which the partner may have sent before it hears of it,
// but not before 5/8 of the FIFO are in use; it ends with 1 KiB more room.
func flowThresholds(fifo, frame int) (rfa, rfd uint32) {
	kib := min((2*frame+1023)/1024, fifo*3/8/1024, 6)
	kib = max(kib, 1)
	return uint32(kib - 1), uint32(kib)
}

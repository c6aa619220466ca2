package dwmac4

import (
	"github.com/barewire/barewire/mac/internal/gmac4"

	"github.com/barewire/barewire/mac/internal/field"
)

const (
	// headerRoom is what a frame has beside its MTU before the FCS: Ethernet
	// header and two VLAN tags.
	headerRoom = 14 + 2*4

	minMTU     = 68   // IPv4's own limit
	defaultMTU = 1500 // works on every core, whatever its FIFO says
	jumboMTU   = 9000

	// minFIFO is the smallest FIFO of a queue that holds a frame of defaultMTU
	// beside a burst. A core whose feature register says less says nothing.
	minFIFO = 2048

	// busWidth is the widest bus in bytes. Which one a core has cannot be read.
	busWidth = 16

	fifoBlock = 256 // unit of TQS and RQS
)

// fifoSize decodes the FIFO size of MAC_HW_Feature1 into bytes, 0 when unknown.
func fifoSize(code uint32) int {
	if size := 128 << code; size >= minFIFO {
		return size
	}
	return 0
}

// usableQueues is how many of n queues a FIFO has room for.
func usableQueues(n, fifo int) int {
	return max(1, min(n, gmac4.MaxQueues, fifo/minFIFO))
}

// share is one queue's part of a FIFO in bytes, 0 when unknown.
func share(fifo, queues int) int { return fifo / queues / fifoBlock * fifoBlock }

// burst is the transmit burst length in units of 8 beats (PBL with PBLx8) with
// which frames of mtu pass through a queue of fifo bytes in store-and-forward
// mode: beside the frame there is room for one burst and three beats more. ok is
// false when the frame does not fit at all: transmission would stall for ever.
func burst(fifo, mtu int) (pbl uint32, ok bool) {
	if fifo == 0 {
		return 1, mtu <= defaultMTU
	}
	for pbl = 8; pbl > 1 && !fits(fifo, mtu, pbl); {
		pbl /= 2
	}
	return pbl, fits(fifo, mtu, pbl)
}

func fits(fifo, mtu int, pbl uint32) bool {
	return mtu+headerRoom+(8*int(pbl)+3)*busWidth <= fifo
}

// maxMTU is the largest MTU that a transmit queue of fifo bytes can carry.
func maxMTU(fifo int) int {
	return max(defaultMTU, min(jumboMTU, fifo-headerRoom-(8+3)*busWidth))
}

// txQueueMode is MTL_TxQn_Operation_Mode without TQS: store and forward, which
// checksum insertion and segmentation need.
const txQueueMode = gmac4.TxQOpTSF | gmac4.TxQEnabled<<2

// rxQueueMode is MTL_RxQn_Operation_Mode of a receive queue of fifo bytes (0:
// unknown, RQS is left out) for frames of mtu. Frames with a bad checksum are
// kept for software to judge, all other bad ones are dropped in the FIFO.
func rxQueueMode(fifo, mtu int) uint32 {
	frame := mtu + headerRoom + fcsLen
	mode := gmac4.RxQOpDISTCPEF
	if fifo == 0 || frame+busWidth <= fifo {
		mode |= gmac4.RxQOpRSF
	}
	if fifo == 0 {
		return mode
	}
	mode |= field.Put(gmac4.RxQOpRQS, uint32(fifo/fifoBlock-1))
	if fifo < 4096 {
		return mode // too small for hardware flow control
	}
	rfa, rfd := flowThresholds(fifo, frame)
	return mode | gmac4.RxQOpEHFC | field.Put(gmac4.RxQOpRFA, rfa) | field.Put(gmac4.RxQOpRFD, rfd)
}

// flowThresholds says when hardware flow control sends pause frames (RFA) and
// when it ends the pause (RFD). Both count free space: n is 1 KiB + n*512 bytes.
// A pause starts when there is room for two more frames, which the partner may
// have sent before it hears of it, but not before 5/8 of the FIFO are in use; it
// ends when there is more room than that.
func flowThresholds(fifo, frame int) (rfa, rfd uint32) {
	headroom := min(2*frame, fifo*3/8)
	if fifo*3/8 >= 2*frame {
		headroom += 511
	}
	rfa = uint32(max(headroom-1024, 512) / 512)
	rfd = rfa + 3
	if fifo < 8192 {
		rfd = rfa + 2
	}
	return min(rfa, 60), min(rfd, 63)
}

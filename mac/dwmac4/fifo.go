package dwmac4

import (
	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
)

const jumboMTU = 9000

// txQueueMode is MTL_TxQn_Operation_Mode without TQS: store and forward, which
// checksum insertion and segmentation need.
const txQueueMode = gmac4.TxQOpTSF | gmac4.TxQEnabled<<2

// rxQueueMode is MTL_RxQn_Operation_Mode of a receive queue of fifo bytes (0:
// unknown, RQS is left out) for frames of mtu. Frames with a bad checksum are
// kept for software to judge, all other bad ones are dropped in the FIFO.
func rxQueueMode(fifo, mtu int) uint32 {
	frame := mtu + dwmac.HeaderRoom + fcsLen
	mode := gmac4.RxQOpDISTCPEF
	if fifo == 0 || frame+dwmac.BusWidth <= fifo {
		mode |= gmac4.RxQOpRSF
	}
	if fifo == 0 {
		return mode
	}
	mode |= field.Put(gmac4.RxQOpRQS, uint32(fifo/dwmac.FIFOBlock-1))
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

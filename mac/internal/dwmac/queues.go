package dwmac

const (
	// HeaderRoom is what a frame has beside its MTU before the FCS: Ethernet header
	// and two VLAN tags.
	HeaderRoom = 14 + 2*4

	MinMTU     = 68   // IPv4's own limit
	DefaultMTU = 1500 // works on every core, whatever its FIFO says

	// minFIFO is the smallest FIFO of a queue that holds a frame of DefaultMTU
	// beside a burst. A core whose feature register says less says nothing.
	minFIFO = 2048

	// BusWidth is the widest bus in bytes. Which one a core has cannot be read.
	BusWidth = 16

	FIFOBlock = 256 // unit of TQS and RQS in bytes
)

// FIFOSize decodes a FIFO size of MAC_HW_Feature1 into bytes, 0 when unknown.
func FIFOSize(code uint32) int {
	if size := 128 << code; size >= minFIFO {
		return size
	}
	return 0
}

// UsableQueues is how many of n queues a FIFO has room for.
func UsableQueues(n, fifo int) int { return max(1, min(n, fifo/minFIFO)) }

// Share is one queue's part of a FIFO in bytes, 0 when unknown.
func Share(fifo, queues int) int { return fifo / queues / FIFOBlock * FIFOBlock }

// Burst is the transmit burst length in units of 8 beats (PBL with PBLx8) with
// which frames of mtu pass through a queue of fifo bytes in store-and-forward
// mode: beside the frame there is room for one burst and three beats more. ok is
// false when the frame does not fit at all: transmission would stall for ever.
func Burst(fifo, mtu int) (pbl uint32, ok bool) {
	if fifo == 0 {
		return 1, mtu <= DefaultMTU
	}
	for pbl = 8; pbl > 1 && !Fits(fifo, mtu, pbl); {
		pbl /= 2
	}
	return pbl, Fits(fifo, mtu, pbl)
}

// Fits reports whether frames of mtu pass with bursts of pbl.
func Fits(fifo, mtu int, pbl uint32) bool {
	return mtu+HeaderRoom+(8*int(pbl)+3)*BusWidth <= fifo
}

// MaxMTU is the largest MTU, up to limit, that a transmit queue of fifo bytes can
// carry.
func MaxMTU(fifo, limit int) int {
	return max(DefaultMTU, min(limit, fifo-HeaderRoom-(8+3)*BusWidth))
}

package ring

import "github.com/barewire/barewire/pagepool"

// RXCodec is what differs between receive descriptor formats. A codec works on
// batches, so that no call through this interface is made per packet. It is
// called by the ring's owner only.
//
// Slots are numbered 0 to Slots-1. A batch may wrap: slot from+i means
// (from+i) modulo Slots.
type RXCodec interface {
	// Post writes whole descriptors for bufs into the slots from, from+1, … and
	// gives them to the device, the OWN bit of each as its last store. It rings
	// no doorbell. Descriptors are written from bufs alone, never patched: the
	// device may have overwritten every word.
	Post(from int, bufs []Buffer)

	// Kick tells the device that the slots before next are posted. It orders the
	// descriptor stores ahead of the register write.
	Kick(next int)

	// Harvest reads the status of the slots from, from+1, … and fills out until
	// it meets one that the device still owns. It reads each completed
	// descriptor's status once, and its buffer address only with
	// RXConfig.Pooled.
	Harvest(from int, out []Completion) int

	// Reset rewrites every descriptor as not owned by the device. The device is
	// stopped.
	Reset()
}

// Judge is implemented by receive codecs of devices that write what they found
// out about a frame behind its bytes (Trailer).
type Judge interface {
	// Judge sets ChecksumGood or ChecksumBad in the flags of frames, which are
	// those of one Harvest. Their bytes are in pool, the first piece of a frame may
	// hold any part of it: a header need not lie in one.
	Judge(pool *pagepool.Pool, frames []Frame)
}

// Buffer is one receive buffer to post.
type Buffer struct {
	// Addr is the device address of the first byte.
	Addr uint64
	// Interrupt asks for an interrupt when a frame completes in this slot.
	Interrupt bool
}

// Completion is one receive descriptor that the device has handed back. Its
// values come from the device and are not trusted: RX checks Len and the order
// of First and Last.
type Completion struct {
	// Len counts bytes. In formats with RXConfig.TotalLength it is the length of
	// the whole frame and valid with Last only; otherwise it is this buffer's.
	// Both include Trim.
	Len uint32
	// Trim is how many bytes at the end of the frame are not frame data (FCS,
	// checksum trailer); valid with Last. They may straddle buffers.
	Trim uint8
	// Flags says what the descriptor means.
	Flags Flags
	// Addr names the buffer with RXConfig.Pooled: its Buffer.Addr, as the device
	// says.
	Addr uint64
}

// Flags describe a received descriptor or frame.
type Flags uint32

const (
	// First marks the first descriptor of a frame, Last its last.
	First Flags = 1 << iota
	Last
	// NoData marks a descriptor that carries no frame bytes (a timestamp
	// context): its slot is re-armed and it takes no part in assembly.
	NoData
	// ErrCRC, ErrLength, ErrOverflow, ErrFrame and ErrReceive say why the device
	// calls the frame bad: frame check sequence; giant, runt, watchdog or length
	// field; FIFO overflow; dribble bits or alignment; any other receive error.
	ErrCRC
	ErrLength
	ErrOverflow
	ErrFrame
	ErrReceive
	// ChecksumGood says that the device checked the IP header checksum (IPv4)
	// and the TCP, UDP or ICMP checksum of this very frame and found both right.
	ChecksumGood
	// ChecksumBad says that it found one of them wrong.
	ChecksumBad
	// Trailer says that the Trim bytes of the frame, four at most, hold what the
	// device has found out about it: they are kept in Frame.Trailer.
	Trailer
)

// ErrAny is every flag that makes a frame a bad one.
const ErrAny = ErrCRC | ErrLength | ErrOverflow | ErrFrame | ErrReceive

// TXCodec is what differs between transmit descriptor formats. It is called by
// the ring's owner only, on batches.
type TXCodec interface {
	// Fill writes descriptors for frames into the slots at, at+1, … and gives
	// them to the device. Within a frame the OWN bit of the first descriptor is
	// published last, so that the device never sees part of a frame. Fill sets
	// Slots of each frame to the number of slots it took, which is at most
	// TXConfig.Slots(frame). It rings no doorbell.
	Fill(at int, frames []TXFrame)

	// Kick tells the device that the slots before next are filled. It orders the
	// descriptor stores ahead of the register write.
	Kick(next int)

	// Done reports how many slots, starting with from, the device is done with.
	// mark is the last slot of a frame, at or after from: a codec that reads
	// descriptors reads that one only, and answers the distance past mark or 0. A
	// codec with a counter may answer any number up to pending.
	Done(from, mark, pending int) int

	// Reset rewrites every descriptor as not owned by the device and forgets
	// what the device remembers between frames. The device is stopped.
	Reset()
}

// TXFrame is one frame to transmit, gathered in the transmit arena.
type TXFrame struct {
	// Addr is the device address of the frame's first byte, Len its length in
	// bytes without FCS.
	Addr uint64
	Len  uint32
	// Data is the frame itself, for codecs whose descriptors say where headers
	// are. It is read only: it belongs to the device from here on.
	Data []byte
	// MSS asks for segmentation when not 0: payload bytes per segment. HeaderLen
	// is then the length of all headers and L4HeaderLen that of TCP's.
	MSS         uint16
	HeaderLen   uint16
	L4HeaderLen uint8
	// Checksum asks the device to insert checksums.
	Checksum Checksum
	// Interrupt asks for an interrupt when the frame has been sent.
	Interrupt bool
	// Slots is set by Fill.
	Slots int
}

// Checksum says which checksums the device inserts into a transmitted frame.
type Checksum uint8

const (
	// ChecksumNone sends the frame as it is.
	ChecksumNone Checksum = iota
	// ChecksumFull has the device compute the IPv4 header checksum and the whole
	// TCP, UDP or ICMP checksum, pseudo-header included. What the fields hold is
	// ignored; that of UDP is not 0, which some engines take for a datagram that
	// has none.
	ChecksumFull
)

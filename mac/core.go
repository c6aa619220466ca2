package mac

import (
	"context"

	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// Core is what one IP core implements. Users hold a Device, which owns the Core
// and calls it.
//
// Device serialises all calls but those of the interrupt path: Interrupt is
// called by the interrupt goroutine, Ack and Unmask by the poll goroutine of the
// queue, UnmaskTX by a sender, all concurrently with each other and with the
// rest. An implementation touches only registers that belong to that queue
// there, or guards the shared ones.
type Core interface {
	// Info describes the core. It is fixed once the core has been made.
	Info() Info

	// Reset stops whatever the core is doing, in whatever state it was left,
	// and resets it. It waits no longer than a bound of the core's own and
	// returns an error wrapping ErrReset then.
	Reset(ctx context.Context) error

	// Configure programs everything but rings, filter and link: bus, FIFO, queue
	// map, offloads, MAC address, frame size, counters. The core is reset and
	// stopped. After Reset and Configure every register has the same value each
	// time.
	Configure(Setup) error

	// NewRX and NewTX make the codec for queue q on descriptor memory desc with
	// slots descriptors. Each receive buffer has room for bufferSize bytes. They
	// write descriptors and no registers.
	NewRX(q int, desc pagepool.Memory, slots, bufferSize int) (ring.RXCodec, error)
	NewTX(q int, desc pagepool.Memory, slots int) (ring.TXCodec, error)

	// Start programs the ring addresses and starts DMA and MAC of all queues.
	// Receive slots have been posted, and Start makes the core see them. Receive
	// interrupts are unmasked, transmit interrupts masked. Frames move once
	// SetLink has said that the link is up.
	Start() error

	// Stop stops the MAC and then DMA, in the core's order, masks every interrupt
	// and proves that DMA is idle. When it cannot, it returns an error wrapping
	// ErrNotIdle.
	Stop() error

	// SetLink programs speed, duplex and pause, with the MAC stopped where the
	// core needs it, and enables or disables the MAC as the link is up or down.
	// Before Start it only remembers.
	SetLink(Link) error

	// Link reads the link state that the core itself knows (in-band status).
	// ok is false when it knows none and a PHY has to be asked.
	Link() (link Link, ok bool)

	// SetAddress, SetFilter and SetMTU may be called while traffic flows.
	SetAddress(HardwareAddr) error
	SetFilter(Filter) error
	SetMTU(mtu int) error

	// SetWatchdog sets the receive watchdog of queue q in microseconds; 0 is off.
	// It returns the value that the hardware really uses, or an error wrapping
	// ring.ErrCoalesce that names the allowed range.
	SetWatchdog(q int, usecs int) (actual int, err error)

	// Interrupt handles one interrupt: it finds the causes, acknowledges them,
	// masks what it reports for a queue (receive until Unmask, transmit until
	// UnmaskTX) and leaves no enabled cause behind that would fire for ever.
	// When nothing is pending it returns zero Events.
	Interrupt() Events

	// Ack acknowledges the receive causes of queue q, before its ring is looked
	// at.
	Ack(q int)

	// Unmask lets queue q interrupt again on receive; the caller looks at its
	// ring once more afterwards.
	Unmask(q int)

	// UnmaskTX lets queue q interrupt once when a marked frame has been sent.
	UnmaskTX(q int)

	// Counters adds what the hardware counters have counted since the last call
	// into c.
	Counters(c *Counters)

	// MDIO gives access to the PHY bus, or nil when the core has none.
	MDIO() MDIO
}

// FrameCoalescer is implemented by cores that count waiting frames themselves
// and interrupt at a number, instead of at slots that ask for it.
type FrameCoalescer interface {
	// SetRXFrames has queue q interrupt when n frames (descriptors) wait, 1 or
	// more, or by the watchdog alone when n is 0. It may be called while traffic
	// flows.
	SetRXFrames(q, n int) error
}

// Setup is what Configure programs.
type Setup struct {
	RXQueues, TXQueues int
	MTU                int
	Address            HardwareAddr
	// MaxFrame is the longest frame to receive, in bytes without FCS, when that is more
	// than the MTU needs (Info.MaxFrame).
	MaxFrame int
	// BufferSize is the size of each receive buffer in bytes.
	BufferSize int
	// RXChecksum and TXChecksum switch the checksum engines.
	RXChecksum, TXChecksum bool
}

// Info describes a core and its limits.
type Info struct {
	// Core is the driver's name ("dwmac4"), Version the core's own ("5.10").
	Core, Version string
	// Address was read before any reset; it may be zero or not valid.
	Address HardwareAddr
	// RXQueues and TXQueues are how many queues can be used.
	RXQueues, TXQueues int
	// RXChecksum and TXChecksum report checksum engines.
	RXChecksum, TXChecksum bool
	// TSO reports segmentation by the hardware.
	TSO bool
	// PerfectFilters is the number of unicast or multicast addresses matched
	// exactly beside the own one, HashBins the size of the hash table.
	PerfectFilters, HashBins int
	// ChecksumMTU is the largest MTU with which the transmit engine works, 0 when
	// it works with every one. Devices with a larger one leave it off.
	ChecksumMTU int
	// AddressBits is the width of a DMA address.
	AddressBits int
	// MaxMTU is the largest MTU the core can carry, in bytes without the
	// Ethernet header.
	MaxMTU int
	// MaxFrame is the longest frame that the core receives, in bytes without FCS, when
	// that is more than MaxMTU needs. 0: it is not.
	MaxFrame int
	// RXFIFO and TXFIFO are the FIFO sizes in bytes, 0 when unknown.
	RXFIFO, TXFIFO int
	// Watchdog reports a receive watchdog (RIWT).
	Watchdog bool
	// RXUsecs is what rx-usecs is when nobody says, for a core that fills a ring faster
	// than others, or whose watchdog cannot wait as long as ring.DefaultCoalesce has
	// it. 0: as there.
	RXUsecs int
	// EveryFrame says that every received frame interrupts, whatever the slots
	// ask for: rx-frames is always 1.
	EveryFrame bool
	// Ring holds the ring limits.
	Ring RingLimits
}

// RingLimits are the limits of a core's descriptor rings.
type RingLimits struct {
	// DescriptorSize and Align are in bytes.
	DescriptorSize, Align int
	// TXDescriptorSize is the size of a transmit descriptor where it differs, 0
	// where it does not.
	TXDescriptorSize int
	// Extra is how many bytes of descriptor memory each ring needs behind its
	// slots: a link back to the first one, a table of rings.
	Extra int
	// MinSlots and MaxSlots bound the length of a ring.
	MinSlots, MaxSlots int
	// Reserve is how many slots must stay empty, so that the hardware can tell a
	// full ring from an empty one.
	Reserve int
	// BufferAlign divides a receive buffer's size and address; MaxBuffer is its
	// largest size.
	BufferAlign, MaxBuffer int
	// MaxPiece is the largest transmit buffer of one descriptor.
	MaxPiece int
	// MinFrame is the shortest frame that the core sends, in bytes without FCS; 0
	// where it fills up shorter ones by itself.
	MinFrame int
	// ContextSlots is how many more slots a frame may take than it has pieces.
	ContextSlots int
	// TotalLength says that a frame's last descriptor holds the length of the
	// whole frame.
	TotalLength bool
	// Skip is how many bytes the device puts before each received frame.
	Skip int
	// Pooled says that the device keeps receive buffers in a pool of its own (see
	// ring.RXConfig).
	Pooled bool
	// OneBuffer says that a received frame never goes on in a second buffer: a
	// page must hold the longest.
	OneBuffer bool
}

// RXBytes is the descriptor memory that a receive ring of slots needs.
func (l RingLimits) RXBytes(slots int) int { return slots*l.DescriptorSize + l.Extra }

// TXSize is the size of a transmit descriptor in bytes.
func (l RingLimits) TXSize() int {
	if l.TXDescriptorSize != 0 {
		return l.TXDescriptorSize
	}
	return l.DescriptorSize
}

// TXBytes is the descriptor memory that a transmit ring of slots needs.
func (l RingLimits) TXBytes(slots int) int { return slots*l.TXSize() + l.Extra }

// Events is what an interrupt was about. RX and TX have bit q for queue q.
type Events struct {
	// RX: received frames, or a receive ring without buffers. The queue's
	// receive interrupt is masked now.
	RX uint32
	// Starved: those of RX whose ring ran out of posted buffers (RBU).
	Starved uint32
	// TX: marked frames have been sent. The transmit interrupt is masked now.
	TX uint32
	// Fatal: DMA of the queue has stopped on a bus error and needs a reset.
	Fatal uint32
	// TXStopped: transmit DMA of the queue has stopped and must be rebuilt.
	TXStopped uint32
	// Link: the link state may have changed.
	Link bool
	// Unknown: causes that the driver does not handle, as bits of the core's own
	// status register. They are masked now and reported once, for the log.
	Unknown uint32
}

// MDIO is the management bus to the PHYs. Calls may come from any goroutine.
// phy is 0 to 31. Every access waits a bounded time and fails otherwise.
type MDIO interface {
	// Read and Write are clause 22 accesses, reg 0 to 31.
	Read(phy, reg int) (uint16, error)
	Write(phy, reg int, v uint16) error
	// Read45 and Write45 are clause 45 accesses to register reg of device dev.
	Read45(phy, dev int, reg uint16) (uint16, error)
	Write45(phy, dev int, reg uint16, v uint16) error
}

// PHY is the transceiver whose link a device follows (Config.PHY). Package mac/phy
// has the generic one.
type PHY interface {
	// Link reads the link from the PHY. It is called by one goroutine at a time,
	// with no lock held that senders or poll goroutines take, and returns in bounded
	// time. An error means that the link is down. A link that was lost and has come
	// back is reported down once, since it may not be the one that it was.
	Link() (Link, error)
}

package eqos

import (
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
)

// Map is what differs between the register maps. Registers and bits that are not in
// it have one place in both: they go by the names of package gmac4, and the tests
// of this package compare the two.
type Map struct {
	// Window is the size of the register window in bytes.
	Window int
	// Channel and Queue are where the registers of a channel and of a queue start.
	Channel, Queue func(int) uint32
	// Offsets in a channel. ChanMissed is 0 where there is none.
	ChanTxTail, ChanRxTail, ChanTxRingLen, ChanRxRingLen uint32
	ChanIntEnable, ChanRxWatchdog, ChanMissed            uint32
	// Offsets in a queue. Flow is the register with RFA and RFD.
	RxQOpMode, RxQMissed, RxQDebug, Flow, QIntStatus uint32
	// SysBus and Mode are DMA_SysBus_Mode and DMA_Mode, Debug says where the states
	// of a channel are.
	SysBus, Mode uint32
	Debug        func(c int) (reg, rps, tps uint32)
	// Fields. Those that a core does not have are 0.
	RingLen, Watchdog, RPF, ControlMSS, RQS, TQS, RFA, RFD, PL, INTM uint32
	// NIE and AIE are the two summary enables.
	NIE, AIE uint32
	// TxFlows is how many transmit queues have a flow control register.
	TxFlows int
}

// MAC is what the engines need of the MAC in front of them, which is each model's
// own. Methods that are about frames are called with the lock of the engine held.
type MAC interface {
	dwmac.Counters

	// Speed is what the MAC is set to, in Mbit/s. Frames pass when the link has it.
	Speed() int
	// Transmitting and Loopback are bits of the MAC's configuration, Receiving how
	// the receiver is set.
	Transmitting() bool
	Loopback() bool
	Receiving() Receiving

	// Route picks the receive queue of a frame, ChannelOf the DMA channel.
	Route(a *Arrival) int
	ChannelOf(q int, a *Arrival) int
	// Status fills in the status of a frame's last descriptor.
	Status(a *Arrival, f *dwmac.RXFrame)
	// WriteBack are words 0 to 2 of a frame's last descriptor. What has no meaning in
	// them is junk.
	WriteBack(f *dwmac.RXFrame, junk uint32) (d0, d1, d2 uint32)
	// Buffers are the receive buffers of a descriptor.
	Buffers(d [4]uint32) (addr [2]uint64, n int)
	// TXStatus is what the last descriptor of a transmitted frame says of errors.
	TXStatus(e TXErrors) uint32

	// Level is what MAC and MTL contribute to the interrupt line, and Reset sets the
	// registers that are not 0 after a reset. Line.Mu is held.
	Level() bool
	Reset()
	// LinkChanged is told of each change of the link.
	LinkChanged()
}

// Receiving is how a receiver is set.
type Receiving struct {
	On, Checksum bool
	// StripType and StripLength cut the FCS from frames with a type and with a
	// length, and the padding of the latter.
	StripType, StripLength bool
	// Limit is the longest frame that the watchdog lets pass, Giant the longest that
	// is none, in bytes with FCS. FixedGiant holds for tagged frames too.
	Limit, Giant int
	FixedGiant   bool
}

// TXErrors are errors of a transmitted frame.
type TXErrors struct {
	// Header and Payload: the checksum engine knows nothing of it.
	Header, Payload bool
	// Flushed by TxQOpFTQ.
	Flushed bool
}

const maxChannels = 16

// bits of the address and size registers that the 64-bit bus ignores.
const busMask = ^uint32(7)

// Split finds the index and offset of a register in a block of n equal parts.
func Split(off, base, stride, n uint32) (i int, reg uint32, ok bool) {
	if off < base || off >= base+n*stride {
		return 0, 0, false
	}
	return int((off - base) / stride), (off - base) % stride, true
}

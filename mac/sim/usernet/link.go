package usernet

import (
	"sync"
	"sync/atomic"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/sim/internal/fifo"
)

const (
	headerLen = header.EthernetMinimumSize
	// minFrame is the shortest frame on a wire, without FCS (IEEE 802.3 clause
	// 4.2.3.3). Shorter ones are padded, as a network card pads them.
	minFrame = 60
	// batch is how many frames the receiving goroutine takes at a time; frames
	// of one connection within a batch are joined.
	batch = 64
)

var (
	_ stack.LinkEndpoint = (*link)(nil)
	_ stack.GSOEndpoint  = (*link)(nil)
)

// link is the gateway's network card: netstack's link endpoint on one side, the
// wire on the other.
//
// Frames from the wire are queued and delivered by one goroutine, so that no
// lock of the stack is ever held by who sends on the wire. Frames to the wire are
// sent by whoever calls WritePackets, and wait with it while the wire is busy.
type link struct {
	opts     *Options
	stats    *counters
	queue    *fifo.Queue
	transmit atomic.Pointer[func([]byte)]
	buffers  sync.Pool // *[]byte for one frame to send

	// dispatcher is nil while detached.
	dispatcher atomic.Pointer[stack.NetworkDispatcher]
	worker     sync.WaitGroup

	mu      sync.Mutex
	started bool
	addr    mac.HardwareAddr
	mtu     uint32
	onClose func()
	// filter is addr and limit the longest frame, for the receive path.
	filter atomic.Pointer[mac.HardwareAddr]
	limit  atomic.Uint32
}

func newLink(o *Options, c *counters) *link {
	l := &link{
		opts:  o,
		stats: c,
		queue: fifo.New(max(o.QueueBytes/(o.MTU+headerLen), batch), batch),
	}
	l.buffers.New = func() any { return new([]byte) }
	l.SetLinkAddress(tcpip.LinkAddress(o.Address[:]))
	l.SetMTU(uint32(o.MTU))
	return l
}

func (l *link) setTransmit(f func([]byte)) {
	if f == nil {
		l.transmit.Store(nil)
		return
	}
	l.transmit.Store(&f)
}

// receive queues a frame from the wire.
func (l *link) receive(frame []byte) {
	switch {
	case len(frame) < headerLen:
		l.stats.rxShort.Add(1)
	case len(frame) > int(l.limit.Load()):
		l.stats.rxTooLong.Add(1)
	case frame[0]&1 == 0 && mac.HardwareAddr(frame[:6]) != *l.filter.Load():
		l.stats.rxNotOurs.Add(1)
	default:
		if ok, _ := l.queue.Put(frame, false); !ok {
			l.stats.rxDropped.Add(1)
		}
	}
}

// work delivers queued frames until the queue is closed.
func (l *link) work() {
	g := newCoalescer(l)
	for {
		frames := l.queue.Next(batch, true)
		if len(frames) == 0 {
			return
		}
		bytes := 0
		for _, frame := range frames {
			bytes += len(frame)
		}
		l.stats.rxFrames.Add(uint64(len(frames)))
		l.stats.rxBytes.Add(uint64(bytes))
		if d := l.dispatcher.Load(); d != nil {
			g.deliver(*d, frames)
		}
	}
}

// Attach implements stack.LinkEndpoint. It is called with the stack's lock held,
// which delivery needs, and so waits for nothing.
func (l *link) Attach(d stack.NetworkDispatcher) {
	if d == nil {
		l.dispatcher.Store(nil)
		return
	}
	l.dispatcher.Store(&d)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.started {
		l.started = true
		l.worker.Go(l.work)
	}
}

// IsAttached implements stack.LinkEndpoint.
func (l *link) IsAttached() bool { return l.dispatcher.Load() != nil }

// Wait implements stack.LinkEndpoint. The stack calls it with its lock held,
// after Attach(nil): it returns at once then, and Close waits instead.
func (l *link) Wait() {
	if l.IsAttached() {
		l.worker.Wait()
	}
}

// Close implements stack.LinkEndpoint: it ends the receiving goroutine.
func (l *link) Close() {
	l.queue.Close()
	l.worker.Wait()
	l.mu.Lock()
	f := l.onClose
	l.onClose = nil
	l.mu.Unlock()
	if f != nil {
		f()
	}
}

// SetOnCloseAction implements stack.LinkEndpoint.
func (l *link) SetOnCloseAction(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.onClose = f
}

// MTU implements stack.LinkEndpoint.
func (l *link) MTU() uint32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mtu
}

// SetMTU implements stack.LinkEndpoint.
func (l *link) SetMTU(mtu uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mtu = mtu
	l.limit.Store(max(mtu+headerLen, minFrame))
}

// LinkAddress implements stack.LinkEndpoint.
func (l *link) LinkAddress() tcpip.LinkAddress {
	l.mu.Lock()
	defer l.mu.Unlock()
	return tcpip.LinkAddress(l.addr[:])
}

// SetLinkAddress implements stack.LinkEndpoint. An address of another length than
// six bytes is none for Ethernet and is ignored.
func (l *link) SetLinkAddress(addr tcpip.LinkAddress) {
	if len(addr) != len(l.addr) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	copy(l.addr[:], addr)
	filter := l.addr
	l.filter.Store(&filter)
}

// Capabilities implements stack.LinkEndpoint.
func (l *link) Capabilities() stack.LinkEndpointCapabilities {
	c := stack.LinkEndpointCapabilities(stack.CapabilityResolutionRequired)
	if l.opts.SkipRXChecksum {
		c |= stack.CapabilityRXChecksumOffload
	}
	return c
}

// GSOMaxSize implements stack.GSOEndpoint.
func (*link) GSOMaxSize() uint32 { return 65535 }

// SupportedGSO implements stack.GSOEndpoint: what netstack calls the host is
// segment.go.
func (l *link) SupportedGSO() stack.SupportedGSO {
	if l.opts.NoSegmentation {
		return stack.GSONotSupported
	}
	return stack.HostGSOSupported
}

// MaxHeaderLength implements stack.LinkEndpoint.
func (*link) MaxHeaderLength() uint16 { return headerLen }

// ARPHardwareType implements stack.LinkEndpoint.
func (*link) ARPHardwareType() header.ARPHardwareType { return header.ARPHardwareEther }

// AddHeader implements stack.LinkEndpoint.
func (*link) AddHeader(pkt *stack.PacketBuffer) {
	header.Ethernet(pkt.LinkHeader().Push(headerLen)).Encode(&header.EthernetFields{
		SrcAddr: pkt.EgressRoute.LocalLinkAddress,
		DstAddr: pkt.EgressRoute.RemoteLinkAddress,
		Type:    pkt.NetworkProtocolNumber,
	})
}

// ParseHeader implements stack.LinkEndpoint.
func (*link) ParseHeader(pkt *stack.PacketBuffer) bool {
	_, ok := pkt.LinkHeader().Consume(headerLen)
	return ok
}

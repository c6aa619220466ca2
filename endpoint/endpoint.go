// Package endpoint makes a mac.Device a gVisor stack.LinkEndpoint.
//
// Receive: one goroutine per queue harvests completed descriptors in batches,
// wraps each frame as a packet without copying its payload where that pays, and
// delivers it. Transmit: WritePackets gathers each packet once into the queue's
// transmit arena and rings the doorbell once per list. Nothing is delivered from
// inside WritePackets, so two endpoints joined back to back cannot recurse.
//
// # Life cycle
//
// New starts nothing. The first Attach starts the device and its poll goroutines;
// Attach(nil) only signals, and frames that come while no dispatcher is attached
// are counted and dropped; Wait returns at once when detached. Close stops the
// goroutines, closes the device and may be called any number of times. netstack
// calls the first two with its own lock held, which every received packet takes,
// so waiting in them would lock up.
package endpoint

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/barewire/barewire/mac"
)

var (
	_ stack.LinkEndpoint = (*Endpoint)(nil)
	_ stack.GSOEndpoint  = (*Endpoint)(nil)
)

// Options changes how an endpoint works. The zero value, and nil, are good
// defaults.
type Options struct {
	// GRO joins received TCP segments of one flow and batch with gVisor's GRO. It
	// needs a core that verifies checksums; without one it stays off.
	GRO bool
	// GSO has TCP hand over segments of up to 64 KiB which netstack itself splits
	// just before WritePackets (stack.GVisorGSOSupported).
	GSO bool
	// Logger gets one line per event, never per packet. nil: nothing is logged.
	Logger *slog.Logger
}

// Endpoint is a link endpoint on a device. Its methods may be called from any
// goroutine.
type Endpoint struct {
	dev *mac.Device
	gro bool
	gso bool
	log *slog.Logger

	attached atomic.Pointer[attachment]
	// unvouched is the number of deliveries under way whose checksums netstack
	// must verify itself; see Capabilities.
	unvouched atomic.Int32
	// apart keeps those and the deliveries of GRO from overlapping, see
	// groDispatcher.
	apart sync.RWMutex

	trains fragmentTrains
	stats  stats

	stop chan struct{}
	wg   sync.WaitGroup

	mu struct {
		sync.Mutex
		started bool
		closed  bool
		onClose func()
		err     error
	}
	closing sync.Once
}

// attachment is one dispatcher and the time it is attached.
type attachment struct {
	dispatcher stack.NetworkDispatcher
	done       chan struct{} // closed when it is replaced or taken away
}

// New makes an endpoint on dev and takes it over: closing the endpoint closes
// the device. opts may be nil.
func New(dev *mac.Device, opts *Options) (*Endpoint, error) {
	if dev == nil {
		return nil, fmt.Errorf("endpoint: no device: open one with the package of its core, or with mac/fake: %w", mac.ErrNoDevice)
	}
	if opts == nil {
		opts = &Options{}
	}
	e := &Endpoint{dev: dev, gso: opts.GSO, log: opts.Logger, stop: make(chan struct{})}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	e.gro = opts.GRO && dev.RXChecksum()
	if opts.GRO && !e.gro {
		e.log.Warn("GRO stays off: the core does not verify checksums", "device", dev.Name())
	}
	return e, nil
}

// Device is the device below.
func (e *Endpoint) Device() *mac.Device { return e.dev }

// MTU implements stack.LinkEndpoint.MTU: bytes without the Ethernet header.
func (e *Endpoint) MTU() uint32 { return uint32(e.dev.MTU()) }

// SetMTU implements stack.LinkEndpoint.SetMTU. A value that the device refuses
// is logged and changes nothing: MTU tells.
func (e *Endpoint) SetMTU(mtu uint32) {
	if err := e.dev.SetMTU(int(min(mtu, 1<<20))); err != nil {
		e.log.Error("MTU refused", "device", e.dev.Name(), "mtu", mtu, "err", err)
	}
}

// MaxHeaderLength implements stack.LinkEndpoint.MaxHeaderLength.
func (e *Endpoint) MaxHeaderLength() uint16 { return header.EthernetMinimumSize }

// LinkAddress implements stack.LinkEndpoint.LinkAddress.
func (e *Endpoint) LinkAddress() tcpip.LinkAddress {
	a := e.dev.Address()
	return tcpip.LinkAddress(a[:])
}

// SetLinkAddress implements stack.LinkEndpoint.SetLinkAddress. An address that
// cannot be a station's is logged and changes nothing.
func (e *Endpoint) SetLinkAddress(addr tcpip.LinkAddress) {
	a, err := hardwareAddr(addr)
	if err == nil {
		err = e.dev.SetAddress(a)
	}
	if err != nil {
		e.log.Error("address refused", "device", e.dev.Name(), "address", addr, "err", err)
	}
}

func hardwareAddr(addr tcpip.LinkAddress) (mac.HardwareAddr, error) {
	if len(addr) != len(mac.HardwareAddr{}) {
		return mac.HardwareAddr{}, fmt.Errorf("endpoint: link address of %d bytes: Ethernet has 6: %w", len(addr), mac.ErrConfig)
	}
	return mac.HardwareAddr([]byte(addr)), nil
}

// JoinGroup lets frames to an Ethernet group through the device's filter;
// LeaveGroup takes it back. Joins are counted. Until the first JoinGroup every
// group passes.
func (e *Endpoint) JoinGroup(addr tcpip.LinkAddress) error {
	a, err := hardwareAddr(addr)
	if err != nil {
		return err
	}
	return e.dev.JoinGroup(a)
}

// LeaveGroup takes back one JoinGroup.
func (e *Endpoint) LeaveGroup(addr tcpip.LinkAddress) error {
	a, err := hardwareAddr(addr)
	if err != nil {
		return err
	}
	return e.dev.LeaveGroup(a)
}

// Capabilities implements stack.LinkEndpoint.Capabilities.
//
// netstack has no checksum status per packet: it asks for the capabilities of
// the endpoint each time a packet is delivered, in the delivering goroutine
// (stack.nic.DeliverNetworkPacket). So the receive capability is taken back
// while a packet is delivered that the hardware did not vouch for, and netstack
// verifies that one in software. A packet of another queue delivered at the same
// moment is verified once more than it need be, never once less; packets that GRO
// has joined would not stand that, and are kept apart (groDispatcher).
func (e *Endpoint) Capabilities() stack.LinkEndpointCapabilities {
	c := stack.CapabilityResolutionRequired
	if e.dev.TXChecksum() {
		c |= stack.CapabilityTXChecksumOffload
	}
	if e.dev.RXChecksum() && e.unvouched.Load() == 0 {
		c |= stack.CapabilityRXChecksumOffload
	}
	return c
}

// GSOMaxSize implements stack.GSOEndpoint.GSOMaxSize.
func (e *Endpoint) GSOMaxSize() uint32 { return stack.GVisorGSOMaxSize }

// SupportedGSO implements stack.GSOEndpoint.SupportedGSO.
func (e *Endpoint) SupportedGSO() stack.SupportedGSO {
	if e.gso {
		return stack.GVisorGSOSupported
	}
	return stack.GSONotSupported
}

// ARPHardwareType implements stack.LinkEndpoint.ARPHardwareType.
func (e *Endpoint) ARPHardwareType() header.ARPHardwareType { return header.ARPHardwareEther }

// AddHeader implements stack.LinkEndpoint.AddHeader.
func (e *Endpoint) AddHeader(pkt *stack.PacketBuffer) {
	header.Ethernet(pkt.LinkHeader().Push(header.EthernetMinimumSize)).Encode(&header.EthernetFields{
		SrcAddr: pkt.EgressRoute.LocalLinkAddress,
		DstAddr: pkt.EgressRoute.RemoteLinkAddress,
		Type:    pkt.NetworkProtocolNumber,
	})
}

// ParseHeader implements stack.LinkEndpoint.ParseHeader.
func (e *Endpoint) ParseHeader(pkt *stack.PacketBuffer) bool {
	_, ok := pkt.LinkHeader().Consume(header.EthernetMinimumSize)
	return ok
}

// Attach implements stack.LinkEndpoint.Attach. The first dispatcher starts the
// device; should that fail, the reason is logged and Err returns it.
func (e *Endpoint) Attach(dispatcher stack.NetworkDispatcher) {
	var next *attachment
	if dispatcher != nil {
		next = &attachment{dispatcher: dispatcher, done: make(chan struct{})}
	}
	e.mu.Lock()
	if e.mu.closed {
		next = nil
	}
	last := e.attached.Swap(next)
	start := next != nil && !e.mu.started
	if start {
		e.mu.started = true
		e.wg.Add(1) // so that Close waits for start, whenever it comes
	}
	e.mu.Unlock()
	if last != nil {
		close(last.done)
	}
	if start {
		e.start()
	}
}

func (e *Endpoint) start() {
	defer e.wg.Done()
	for _, q := range e.dev.Queues() {
		p, err := newPoller(e, q)
		if err != nil {
			e.fail("poll", err)
			continue
		}
		e.wg.Add(1)
		go p.run()
	}
	if err := e.dev.Start(); err != nil {
		e.fail("start", err)
	}
}

func (e *Endpoint) fail(step string, err error) {
	e.mu.Lock()
	e.mu.err = errors.Join(e.mu.err, fmt.Errorf("endpoint: %s %s: %w", step, e.dev.Name(), err))
	e.mu.Unlock()
	e.log.Error(step+" failed", "device", e.dev.Name(), "err", err)
}

// Err returns what went wrong in Attach or Close, which cannot say so
// themselves, or nil. After Close with pages still held by the stack it wraps a
// *pagepool.LentError.
func (e *Endpoint) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.mu.err
}

// IsAttached implements stack.LinkEndpoint.IsAttached.
func (e *Endpoint) IsAttached() bool { return e.attached.Load() != nil }

// Wait implements stack.LinkEndpoint.Wait. It returns when the dispatcher that
// is attached now is detached, at once when there is none. It does not wait for
// a delivery under way: netstack calls it with a lock held that the delivery may
// need. Close waits.
func (e *Endpoint) Wait() {
	if a := e.attached.Load(); a != nil {
		<-a.done
	}
}

// SetOnCloseAction implements stack.LinkEndpoint.SetOnCloseAction.
func (e *Endpoint) SetOnCloseAction(f func()) {
	e.mu.Lock()
	e.mu.onClose = f
	e.mu.Unlock()
}

// Close implements stack.LinkEndpoint.Close: it has the NIC removed, stops the
// poll goroutines and closes the device. It must not be called by a goroutine
// that is delivering a packet. Err tells how it went.
func (e *Endpoint) Close() {
	e.mu.Lock()
	act := e.mu.onClose
	e.mu.onClose = nil
	e.mu.Unlock()
	if act != nil {
		act() // removes the NIC, which calls Close again
	}
	e.closing.Do(func() {
		e.mu.Lock()
		e.mu.closed = true
		e.mu.Unlock()
		e.Attach(nil)
		close(e.stop)
		e.wg.Wait()
		for _, train := range e.trains.close() {
			e.dropTrain(e.dev.Queues()[0], train)
		}
		if err := e.dev.Close(); err != nil {
			e.fail("close", err)
		}
	})
}

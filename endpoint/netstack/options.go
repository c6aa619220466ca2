package netstack

import (
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

// Options says how a Host is set up. The zero value, and a nil *Options, give a
// host with an IPv6 link-local address only.
type Options struct {
	// Addresses are the host's own addresses with the prefixes that are on the
	// link. More can be added later with AddAddress.
	Addresses []netip.Prefix

	// Gateways are the default routes, at most one per family.
	Gateways []netip.Addr

	// DNS are the servers that DialContext asks for names, on port 53. Without
	// any, only numeric addresses can be dialed.
	DNS []netip.Addr

	// NIC is the interface's number in the stack. 0 means 1.
	NIC tcpip.NICID

	// NoLinkLocal6 leaves out the IPv6 link-local address, which is otherwise
	// made from the endpoint's link address (EUI-64, RFC 4291 appendix A).
	NoLinkLocal6 bool

	// DADTransmits is how many probes duplicate address detection sends, one
	// second apart, before an IPv6 address may be used. 0 means 1; a negative
	// value turns detection off and makes addresses usable at once.
	DADTransmits int

	// TCPReceiveBuffer bounds a connection's receive buffer, and so its window.
	// The zero value means {4 KiB, 1 MiB, 8 MiB}. The window starts at the default
	// and grows with what the application reads: 1 MiB carries 1 Gbit/s over a
	// round trip of 8 ms, 8 MiB over one of 64 ms. The sizes are limits, not
	// reservations: an idle connection holds no buffer. A small board lowers them,
	// since a peer may fill that much for each connection whose reader is stuck.
	TCPReceiveBuffer BufferRange

	// TCPSendBuffer bounds a connection's send buffer. The zero value means
	// {4 KiB, 256 KiB, 8 MiB}. It grows with the congestion window. What lies in
	// it is latency for the application's next byte and memory that a slow peer
	// holds, so it starts smaller: without delay on the way, 256 KiB is as fast as
	// 4 MiB (BenchmarkTCPBulk/buffers).
	TCPSendBuffer BufferRange

	// UDPBuffer is the size in bytes of the receive and the send buffer of UDP
	// and other datagram sockets. 0 means 256 KiB: four datagrams of the largest
	// size, or a burst of 170 full frames.
	UDPBuffer int

	// KeepAlive is the idle time before the first TCP keep-alive probe, and the
	// time between probes; nine lost probes end a connection. 0 means 15 s, a
	// negative value turns them off. These are the rules of net.Dialer.
	KeepAlive time.Duration

	// TXQueue is the length in packets of a transmit queue in front of the
	// endpoint. 0 means none: each packet goes to the endpoint as it is made, from
	// the sender's goroutine. A queue hands the endpoint batches of up to 47
	// packets from a goroutine of its own, which helps an endpoint with a dear
	// doorbell, and drops when it is full.
	TXQueue int

	// RACK turns on gVisor's RACK loss detection (RFC 8985). It repairs single
	// losses sooner, but after a burst of losses that ends in a retransmission
	// time-out the sender of this gVisor version goes on with two segments a
	// time-out, for seconds: see the package comment for figures. It is off by
	// default, since a link that flaps or a ring that overflows loses in bursts.
	RACK bool

	// PacketSockets shows every frame to packet endpoints too (see
	// stack.Stack.NewPacketEndpoint), which DHCP clients and sniffers may need. It
	// costs every packet a lock and two look-ups.
	PacketSockets bool

	// Logger gets what happens rarely: duplicate addresses, filter errors. nil
	// discards.
	Logger *slog.Logger

	// clock is the stack's clock, for tests.
	clock tcpip.Clock
}

// BufferRange bounds a buffer in bytes. Zero fields take their default.
type BufferRange struct {
	Min, Default, Max int
}

const (
	defaultTCPReceive = 1 << 20
	defaultTCPSend    = 256 << 10
	maxTCPBuffer      = 8 << 20
	defaultUDPBuffer  = 256 << 10
	maxUDPBuffer      = 4 << 20

	defaultKeepAlive = 15 * time.Second
	keepAliveProbes  = 9
)

// withDefaults returns a copy of o, or of the zero Options, with every zero
// field that has a default set to it.
func (o *Options) withDefaults() (Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	if c.NIC == 0 {
		c.NIC = 1
	}
	switch {
	case c.DADTransmits == 0:
		c.DADTransmits = 1
	case c.DADTransmits < 0:
		c.DADTransmits = 0
	case c.DADTransmits > 255:
		return c, fmt.Errorf("netstack: DADTransmits %d: need at most 255", c.DADTransmits)
	}
	var err error
	if c.TCPReceiveBuffer, err = c.TCPReceiveBuffer.withDefaults("TCPReceiveBuffer", defaultTCPReceive); err != nil {
		return c, err
	}
	if c.TCPSendBuffer, err = c.TCPSendBuffer.withDefaults("TCPSendBuffer", defaultTCPSend); err != nil {
		return c, err
	}
	if c.UDPBuffer == 0 {
		c.UDPBuffer = defaultUDPBuffer
	}
	if c.UDPBuffer < tcp.MinBufferSize || c.UDPBuffer > maxUDPBuffer {
		return c, fmt.Errorf("netstack: UDPBuffer %d: need %d to %d bytes", c.UDPBuffer, tcp.MinBufferSize, maxUDPBuffer)
	}
	if c.KeepAlive == 0 {
		c.KeepAlive = defaultKeepAlive
	}
	if c.TXQueue < 0 {
		return c, fmt.Errorf("netstack: TXQueue %d: need 0 or a length in packets", c.TXQueue)
	}
	c.DNS = slices.Clone(c.DNS)
	for i, d := range c.DNS {
		if !d.IsValid() || d.IsUnspecified() {
			return c, fmt.Errorf("netstack: DNS server %s: not an address that can be asked", d)
		}
		c.DNS[i] = d.Unmap().WithZone("")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

func (r BufferRange) withDefaults(name string, def int) (BufferRange, error) {
	if r.Min == 0 {
		r.Min = tcp.MinBufferSize
	}
	// A lone Max below the usual default, or a lone Default above the usual
	// Max, moves the other one along.
	if r.Max == 0 {
		r.Max = max(maxTCPBuffer, r.Default)
	}
	if r.Default == 0 {
		r.Default = max(r.Min, min(def, r.Max))
	}
	if r.Min < 0 || r.Min > r.Default || r.Default > r.Max {
		return r, fmt.Errorf("netstack: %s {%d, %d, %d}: need 0 < Min <= Default <= Max", name, r.Min, r.Default, r.Max)
	}
	return r, nil
}

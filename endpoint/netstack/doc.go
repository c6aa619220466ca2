// Package netstack makes a host out of a link endpoint: one call gives a tuned
// gVisor TCP/IP stack with the handles that Go programs know from package net.
//
//	host, err := netstack.New(ep, &netstack.Options{
//		Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.10/24")},
//		Gateways:  []netip.Addr{netip.MustParseAddr("192.0.2.1")},
//	})
//	ln, err := host.Listen(ctx, "tcp", ":8080")
//	err = http.Serve(ln, handler)
//
// It works on any stack.LinkEndpoint. An endpoint that filters multicast in
// hardware says so with MulticastFilter, and Host keeps that filter in step with
// the addresses and groups that it manages.
//
// The stack is apart from the operating system's: its ports do not show in
// netstat or ss, its addresses do not answer on the machine's own interfaces,
// and it has no loopback interface. To reach the host from itself, dial one of
// its own addresses.
//
// # Tuning
//
// What New sets, and why. Everything can be changed on Host.Stack.
//
//   - TCP buffers: see Options.TCPReceiveBuffer and Options.TCPSendBuffer.
//     Receive windows grow by themselves (receive buffer moderation), send
//     buffers too.
//   - SACK and CUBIC congestion control. Measured with BenchmarkTCPBulk, one
//     stream between two stacks in a process: with one in 1000 lost, CUBIC
//     carried 1.5 to 1.9 times as much as Reno; without loss the two are alike.
//   - RACK loss detection is off (Options.RACK), which is not gVisor's default.
//     Measured with 20 MiB sent to the Linux kernel over a TAP device: with one
//     frame in 100 lost, 11 to 13 MB/s with RACK and 3 to 7 without; with the
//     link cut for 5 ms every 200 ms, 0.7 to 15 MB/s with RACK, most of it spent
//     at two segments per 200 ms time-out, and 20 to 95 without. Between two
//     hosts of this package single losses cost more than that, since gVisor
//     sends few duplicate acknowledgements: 1 MB/s without RACK and 90 with it,
//     at one in 100 lost.
//   - A connection that must wait for Accept does so in a queue of 4096, and SYN
//     cookies answer beyond it.
//   - Delayed acknowledgements stay on, Nagle's algorithm off: the defaults of
//     package net.
//   - TIME_WAIT lasts 60 s, and a client port in it may be used again for a new
//     connection when timestamps prove it safe (RFC 6191), so that a busy client
//     does not run out of ports.
//   - Keep-alive probes as in package net: see Options.KeepAlive.
//   - TTL and hop limit 64. Forwarding off, IGMP and MLD on, since switches that
//     snoop deliver no group without them.
//   - Router advertisements are not acted on: addresses and gateways are those
//     that were given.
package netstack

package tap

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/waiter"
)

// pings has both sides ask the other for echoes of the given payloads: none may
// be lost.
func (r *rig) pings(t *testing.T, sizes ...int) {
	for _, to := range []netip.Addr{our4, our6} {
		t.Run("kernel pings "+to.String(), func(t *testing.T) {
			for _, n := range sizes {
				r.kernelPing(t, to, n, 5)
			}
		})
	}
	for _, to := range []netip.Addr{kernel4, kernel6} {
		t.Run("ping kernel "+to.String(), func(t *testing.T) {
			for _, n := range sizes {
				r.ping(t, to, n)
			}
		})
		t.Run("UDP echo of kernel "+to.String(), func(t *testing.T) { r.udpEcho(t, to, sizes...) })
	}
}

var answered = regexp.MustCompile(`(\d+) packets transmitted, (\d+) received, (\+\d+ \w+)?`)

// kernelPing runs the program ping until it has count answers. It may give up
// waiting for the last one and send another, so what is lost is counted on the
// wire.
func (r *rig) kernelPing(t testing.TB, to netip.Addr, size, count int, args ...string) {
	t.Helper()
	args = append([]string{"-n", "-c", fmt.Sprint(count), "-i", "0.01", "-w", "20", "-s", fmt.Sprint(size)}, args...)
	out, err := exec.Command("ping", append(args, to.String())...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	got := answered.FindSubmatch(out)
	require.NotNil(t, got, "%s", out)
	received, err := strconv.Atoi(string(got[2]))
	require.NoError(t, err)
	require.GreaterOrEqual(t, received, count, "%s", out)
	require.Empty(t, got[3], "%s", out)
	require.Eventually(t, func() bool {
		requests, replies := r.wire.echoes()
		return requests == replies && requests >= count
	}, patience, time.Millisecond, "echo requests of the kernel without a reply")
}

// pattern is a payload that shows lost and swapped pieces.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

// ping sends an echo request through netstack and waits for the reply.
func (r *rig) ping(t *testing.T, to netip.Addr, size int) {
	t.Helper()
	transport, network := icmp.ProtocolNumber4, ipv4.ProtocolNumber
	request, reply := byte(header.ICMPv4Echo), byte(header.ICMPv4EchoReply)
	if to.Is6() {
		transport, network = icmp.ProtocolNumber6, ipv6.ProtocolNumber
		request, reply = byte(header.ICMPv6EchoRequest), byte(header.ICMPv6EchoReply)
	}
	var queue waiter.Queue
	readable, events := waiter.NewChannelEntry(waiter.ReadableEvents)
	queue.EventRegister(&readable)
	ep, terr := r.host.Stack().NewEndpoint(transport, network, &queue)
	require.Nil(t, terr)
	defer ep.Close()
	require.Nil(t, ep.Connect(tcpip.FullAddress{NIC: r.host.NIC(), Addr: tcpip.AddrFromSlice(to.AsSlice())}))

	echo := append([]byte{request, 0, 0, 0, 0, 0, 0, 1}, pattern(size)...)
	n, terr := ep.Write(bytes.NewReader(echo), tcpip.WriteOptions{})
	require.Nil(t, terr)
	require.EqualValues(t, len(echo), n)
	select {
	case <-events:
	case <-time.After(patience):
		t.Fatalf("no reply to an echo request of %d bytes", size)
	}
	var got bytes.Buffer
	_, terr = ep.Read(&got, tcpip.ReadOptions{})
	require.Nil(t, terr)
	require.Equal(t, reply, got.Bytes()[0])
	require.True(t, bytes.Equal(echo[8:], got.Bytes()[8:]), "the payload of %d bytes came back as another one of %d", size, got.Len()-8)
}

// udpEcho has a socket of the kernel send datagrams back.
func (r *rig) udpEcho(t *testing.T, to netip.Addr, sizes ...int) {
	server, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, 0)))
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		buf := make([]byte, 64<<10)
		for {
			n, from, err := server.ReadFromUDPAddrPort(buf)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				server.WriteToUDPAddrPort(buf[:n], from)
			}
		}
	}()
	defer func() { server.Close(); <-ended }()

	c, err := r.host.DialContext(testContext(t), "udp", server.LocalAddr().String())
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
	buf := make([]byte, 64<<10)
	for _, size := range sizes {
		want := pattern(size)
		_, err := c.Write(want)
		require.NoError(t, err)
		n, err := c.Read(buf)
		require.NoError(t, err, "%d bytes", size)
		require.True(t, bytes.Equal(want, buf[:n]), "a datagram of %d bytes came back as another one of %d", size, n)
	}
}

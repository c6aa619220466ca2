package tap

import (
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	model "github.com/barewire/barewire/mac/sim/dwmac4"
)

// The kernel finds our IPv6 address by neighbour solicitation, which is sent to a
// group: the hardware filter must let just that one through.
func TestNeighbourDiscovery(t *testing.T) {
	r := boot(t, setup{})
	f := r.mac.Filter()
	require.False(t, f.Promiscuous)
	require.False(t, f.AllMulticast)
	solicited := mac.HardwareAddr{0x33, 0x33, 0xff, 0, 0, 2} // of fd00:51::2
	require.Contains(t, f.Multicast, solicited)

	ip(t, "neigh", "flush", "dev", device)
	require.Empty(t, ip(t, "-6", "neigh", "show", "dev", device))
	require.Empty(t, ip(t, "-4", "neigh", "show", "dev", device))
	r.wire.record()
	for _, a := range []netip.Addr{our6, our4} {
		r.kernelPing(t, a, 56, 1)
		entry := ip(t, "neigh", "show", "to", a.String(), "dev", device)
		require.Contains(t, entry, ourMAC.String())
		require.Contains(t, entry, "REACHABLE")
	}

	// The kernel asked first: nothing of ours was sent to it before.
	asked, answered := -1, -1
	for i, frame := range r.wire.frames() {
		switch {
		case frame.dir == kernelTo && frame.destination() == solicited && asked < 0:
			asked = i
		case frame.dir == kernelFrom && frame.destination() == kernelMAC && answered < 0:
			answered = i
		}
	}
	require.GreaterOrEqual(t, asked, 0, "the kernel has not sent a solicitation to the group")
	require.Greater(t, answered, asked)
}

// Frames to groups that nobody joined do not get past the hardware, those to
// joined groups do.
func TestMulticastFilter(t *testing.T) {
	const port, datagrams = 5151, 20
	// Perfect filters for all: hash bins would let a few unwanted groups through.
	r := boot(t, setup{model: model.Config{PerfectSlots: 31}})
	ip(t, "route", "add", "239.0.0.0/8", "dev", device)
	for _, group := range []struct{ family, joined, other string }{
		{"udp4", "239.51.0.1", "239.51.0.2"},
		{"udp6", "ff02::51:1", "ff02::51:2"},
	} {
		joined := netip.MustParseAddr(group.joined)
		conn, err := r.host.ListenPacket(testContext(t), group.family, hostPort(joined, port))
		require.NoError(t, err)
		defer conn.Close()
		require.NoError(t, r.host.JoinGroup(joined))
		r.wire.record()
		for range datagrams {
			sendFromKernel(t, group.family, group.other, port, "not for us")
			sendFromKernel(t, group.family, group.joined, port, "for us")
		}
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
		buf := make([]byte, 100)
		for range datagrams {
			n, _, err := conn.ReadFrom(buf)
			require.NoError(t, err)
			require.Equal(t, "for us", string(buf[:n]))
		}
	}

	// A frame that the hardware has filtered is one that was sent to an address
	// outside of the filter. The kernel's own, such as MLD reports, are among them.
	filter := r.mac.Filter()
	require.False(t, filter.Promiscuous)
	require.False(t, filter.AllMulticast)
	wanted := map[mac.HardwareAddr]bool{mac.Broadcast: true, ourMAC: true}
	for _, a := range filter.Multicast {
		wanted[a] = true
	}
	r.kernelPing(t, our4, 56, 1) // the datagrams are behind it in the cable
	unwanted := make(map[mac.HardwareAddr]int)
	total := 0
	for _, frame := range r.wire.frames() {
		if a := frame.destination(); frame.dir == kernelTo && !wanted[a] {
			unwanted[a]++
			total++
		}
	}
	require.Equal(t, datagrams, unwanted[mac.HardwareAddr{0x01, 0, 0x5e, 51, 0, 2}])
	require.Equal(t, datagrams, unwanted[mac.HardwareAddr{0x33, 0x33, 0, 0x51, 0, 2}])
	// Some may have come before the recording.
	require.GreaterOrEqual(t, r.mac.Model().(*model.Model).Stats().Filtered, uint64(total), "of %v", unwanted)
}

// sendFromKernel sends a datagram to a group through the TAP device.
func sendFromKernel(t *testing.T, family, group string, port int, text string) {
	t.Helper()
	to := netip.MustParseAddr(group)
	if strings.HasSuffix(family, "6") {
		to = to.WithZone(device)
	}
	c, err := net.Dial(family, hostPort(to, port))
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Write([]byte(text))
	require.NoError(t, err)
}

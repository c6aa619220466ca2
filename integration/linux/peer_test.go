//go:build linux

package linux

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/endpoint"
	"github.com/barewire/barewire/endpoint/netstack"
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/fake"
	"github.com/barewire/barewire/mac/sim/cable"
)

// The peer's addresses.
const (
	peer4 = "192.0.2.1"
	peer6 = "fd00::1"
)

// Directions of a cable of which the guest's MAC is the first end.
const (
	fromLinux = cable.AToB
	toLinux   = cable.BToA
)

// stack is a TCP/IP stack on this side: Barewire's, or the kernel's.
type stack interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
	Listen(ctx context.Context, network, address string) (net.Listener, error)
}

// barewire is Barewire's own stack, on its own driver, on a core of its own at the
// other end of the guest's cable.
type barewire struct {
	*netstack.Host
	mac   *fake.MAC
	ep    *endpoint.Endpoint
	near  *device
	cable *cable.Cable
}

// newBarewire makes the peer of d, with 192.0.2.1 and fd00::1, an MTU of 1500 and
// room for jumbo frames.
func newBarewire(t *testing.T, d *device) *barewire {
	t.Helper()
	b := &barewire{near: d}
	var err error
	b.mac, err = fake.New(&fake.Options{Core: d.peer, Config: mac.Config{
		Address: mac.HardwareAddr{2, 0, 0, 0, 0, 1}, MTU: 9000, Poison: true, Link: d.link,
	}})
	require.NoError(t, err)
	require.NoError(t, b.mac.SetMTU(1500))
	b.ep, err = endpoint.New(b.mac.Device, nil)
	require.NoError(t, err)
	b.Host, err = netstack.New(b.ep, &netstack.Options{
		Addresses:    []netip.Prefix{netip.MustParsePrefix(peer4 + "/24"), netip.MustParsePrefix(peer6 + "/64")},
		DADTransmits: -1,
	})
	require.NoError(t, err)
	b.plug(nil)
	serve(t, b)
	t.Cleanup(func() {
		require.NoError(t, b.Close())
		require.NoError(t, b.cable.Close())
		require.NoError(t, b.ep.Err(), "pages still lent, or DMA that does not stop")
		require.Empty(t, b.mac.Model().Violations().List(), "rules of the hardware broken by Barewire's driver")
	})
	return b
}

// plug puts a cable between the guest and Barewire. nil options are a good one, and
// no link is the core's.
func (b *barewire) plug(o *cable.Options) {
	if b.cable != nil {
		_ = b.cable.Close() // says that a port hangs, which the next check will too
	}
	var options cable.Options
	if o != nil {
		options = *o
	}
	if options.Link == (mac.Link{}) {
		options.Link = b.near.link
	}
	b.cable = cable.Connect(b.near.port(), b.mac.Port(), &options)
}

// serve serves, until the test ends, HTTP with N bytes of pattern at /N, and on
// port 9 a stream's sum at its end.
func serve(t *testing.T, s stack) {
	web, err := s.Listen(t.Context(), "tcp", ":80")
	require.NoError(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		_, _ = w.Write(pattern(n)) // a short answer has another sum
	})}
	sink, err := s.Listen(t.Context(), "tcp", ":9")
	require.NoError(t, err)
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(web) }) // ends by Close
	wg.Go(func() {
		for {
			c, err := sink.Accept()
			if err != nil {
				return
			}
			h := sha256.New()
			_, _ = io.Copy(h, c) // what is missing changes the sum
			fmt.Fprintln(c, hex.EncodeToString(h.Sum(nil)))
			_ = c.Close()
		}
	})
	t.Cleanup(func() {
		_ = server.Close()
		_ = sink.Close()
		wg.Wait()
	})
}

func pattern(n int) []byte {
	b := make([]byte, n)
	x := uint32(n) | 1
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// download has the guest fetch n bytes from the peer and compares the sums.
func (m *machine) download(t *testing.T, address string, n int) {
	t.Helper()
	require.Equal(t, sum(pattern(n)), m.run(t, fmt.Sprintf("wget -q -O - http://%s/%d | sha256sum | cut -d' ' -f1", address, n)))
}

// upload has the guest send n bytes to the peer and compares the sums.
func (m *machine) upload(t *testing.T, address string, n int) {
	t.Helper()
	out := strings.Fields(m.run(t, fmt.Sprintf(`
		[ "$(stat -c %%s /tmp/up%[2]d 2>/dev/null)" = %[2]d ] || head -c %[2]d /dev/urandom > /tmp/up%[2]d
		sha256sum < /tmp/up%[2]d | cut -d' ' -f1
		nc %[1]s 9 < /tmp/up%[2]d`, address, n)))
	require.Len(t, out, 2)
	require.Equal(t, out[0], out[1])
}

// fetch gets n bytes of a web server in the guest.
func (m *machine) fetch(t *testing.T, s stack, address string, n int) {
	t.Helper()
	want := m.run(t, fmt.Sprintf(`
		mkdir -p /tmp/www; head -c %[1]d /dev/urandom > /tmp/www/%[1]d
		pidof httpd > /dev/null || httpd -p 80 -h /tmp/www
		sha256sum < /tmp/www/%[1]d | cut -d' ' -f1`, n))
	transport := &http.Transport{DialContext: s.DialContext}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport, Timeout: commandTime}
	res, err := client.Get(fmt.Sprintf("http://%s/%d", address, n))
	require.NoError(t, err)
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Len(t, got, n)
	require.Equal(t, want, sum(got))
}

// echo sends n bytes to a server in the guest that sends them back meanwhile.
func (m *machine) echo(t *testing.T, s stack, address string, n int) {
	t.Helper()
	m.run(t, "nc -l -p 7 -e cat > /dev/null 2>&1 & for i in $(seq 600); do grep -q ':0007 .* 0A ' /proc/net/tcp /proc/net/tcp6 && exit 0; sleep 0.1; done; exit 1")
	ctx, cancel := context.WithTimeout(t.Context(), commandTime)
	defer cancel()
	c, err := s.DialContext(ctx, "tcp", net.JoinHostPort(address, "7"))
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(commandTime)))
	data := pattern(n)
	sent := make(chan error, 1)
	go func() {
		_, err := c.Write(data)
		if err == nil {
			err = c.(interface{ CloseWrite() error }).CloseWrite()
		}
		sent <- err
	}()
	got, err := io.ReadAll(c)
	require.NoError(t, err)
	require.NoError(t, <-sent)
	require.Equal(t, sum(data), sum(got), "%d of %d bytes", len(got), n)
}

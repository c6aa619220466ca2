package tap

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/barewire/barewire/endpoint"
	"github.com/barewire/barewire/endpoint/netstack"
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/fake"
	"github.com/barewire/barewire/mac/sim/cable"
	model "github.com/barewire/barewire/mac/sim/dwmac4"
	"github.com/barewire/barewire/mac/sim/tap"
)

const (
	// device is the TAP device. Tests run one after the other and each makes its
	// own.
	device = "bw0"
	// patience bounds every wait; a test that reaches it has failed.
	patience = 30 * time.Second
)

// Our addresses and the kernel's. The link addresses are fixed so that the hash
// filter does the same in each run.
var (
	our4, our6       = netip.MustParseAddr("198.51.100.2"), netip.MustParseAddr("fd00:51::2")
	kernel4, kernel6 = netip.MustParseAddr("198.51.100.1"), netip.MustParseAddr("fd00:51::1")
	ourMAC           = mac.HardwareAddr{2, 0, 0, 0, 0, 2}
	kernelMAC        = mac.HardwareAddr{2, 0, 0, 0, 0, 1}
)

const kernelTo, kernelFrom = cable.BToA, cable.AToB // what the kernel sends, and gets

// setup is what differs between boots.
type setup struct {
	mac      mac.Config
	model    model.Config
	endpoint endpoint.Options
	cable    cable.Options
}

// rig is Barewire and the kernel at two ends of a cable.
type rig struct {
	tap   *tap.TAP
	mac   *fake.MAC
	ep    *endpoint.Endpoint
	host  *netstack.Host
	cable *cable.Cable
	wire  wire
}

// boot starts everything and waits for the link. When the test ends it closes all
// of it and checks that no page is lent, no goroutine left, and no rule of the
// hardware broken.
func boot(t *testing.T, s setup) *rig {
	t.Helper()
	needKernel(t)
	running := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, running) })

	r := &rig{}
	r.openTAP(t, s.mac.MTU)
	s.mac.Address, s.mac.Poison, s.model.CheckArmed = ourMAC, true, true
	var err error
	r.mac, err = fake.New(&fake.Options{Config: s.mac, Core: fake.GMAC5(s.model)})
	require.NoError(t, err)
	r.ep, err = endpoint.New(r.mac.Device, &s.endpoint)
	require.NoError(t, err)
	r.host, err = netstack.New(r.ep, &netstack.Options{
		Addresses:    []netip.Prefix{netip.PrefixFrom(our4, 24), netip.PrefixFrom(our6, 64)},
		DADTransmits: -1,
	})
	require.NoError(t, err)
	t.Cleanup(func() { r.close(t) })

	link := r.links()
	s.cable.Taps = append(s.cable.Taps, r.wire.tap)
	r.cable = cable.Connect(r.mac.Port(), r.tap, &s.cable)
	waitLink(t, link, true)
	return r
}

// openTAP makes the device and gives the kernel its addresses.
func (r *rig) openTAP(t *testing.T, mtu int) {
	t.Helper()
	var err error
	r.tap, err = tap.Open(device, &tap.Options{MTU: mtu, KeepDown: true})
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := r.tap.Close(); err != nil {
			t.Error(err)
		}
	})
	ip(t, "link", "set", device, "address", kernelMAC.String(), "up")
	ip(t, "addr", "add", kernel4.String()+"/24", "dev", device)
	ip(t, "addr", "add", kernel6.String()+"/64", "dev", device, "nodad")
}

// close ends Barewire from the top down.
func (r *rig) close(t *testing.T) {
	t.Helper()
	require.NoError(t, r.host.Close())
	if r.cable != nil {
		require.NoError(t, r.cable.Close())
	}
	require.NoError(t, r.ep.Err(), "closing reports pages still lent and DMA that does not stop")
	for _, q := range r.mac.Snapshot().Queues {
		require.Zero(t, q.Pool.Lent, "pages lent after close")
		require.Equal(t, q.Pool.Pages, q.Pool.Free, "pages free after close")
	}
	require.Empty(t, r.mac.Model().Violations().List(), "rules of the hardware broken")
	s := r.tap.Stats()
	require.Zero(t, s.TXShort+s.TXTooLong+s.TXErrors, "frames that the TAP device has not taken: %+v", s)
}

// links sends the state of the link, now and after each change.
func (r *rig) links() <-chan mac.Link {
	links := make(chan mac.Link, 64)
	r.mac.OnLink(func(l mac.Link) { links <- l })
	return links
}

func waitLink(t testing.TB, links <-chan mac.Link, up bool) {
	t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		select {
		case l := <-links:
			if l.Up == up {
				return
			}
		case <-timeout.C:
			t.Fatalf("the driver has not seen the link change: want up %v", up)
		}
	}
}

// ip runs the program ip and returns what it prints.
func ip(t testing.TB, args ...string) string {
	t.Helper()
	out, err := exec.Command("ip", args...).CombinedOutput()
	require.NoError(t, err, "ip %v: %s", args, out)
	return string(out)
}

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// wire watches the cable.
type wire struct {
	mu      sync.Mutex
	longest [2]int
	jumbo   [2]int // frames of more than 1514 bytes
	parts   [2]int // IPv4 and IPv6 fragments
	asked   int    // echo requests of the kernel
	replied int    // replies to them
	keep    bool
	kept    []frame // since keep was set
}

type frame struct {
	dir  cable.Direction
	data []byte
}

func (w *wire) tap(dir cable.Direction, data []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.longest[dir] = max(w.longest[dir], len(data))
	if len(data) > 1514 {
		w.jumbo[dir]++
	}
	if fragment(data) {
		w.parts[dir]++
	}
	switch kind := echo(data); {
	case dir == kernelTo && kind == request:
		w.asked++
	case dir == kernelFrom && kind == reply:
		w.replied++
	}
	if w.keep {
		w.kept = append(w.kept, frame{dir, append([]byte(nil), data...)})
	}
}

// fragment reports whether a frame is part of an IP packet.
func fragment(f []byte) bool {
	switch {
	case len(f) < 14+40:
		return false
	case binary.BigEndian.Uint16(f[12:]) == 0x0800:
		return binary.BigEndian.Uint16(f[14+6:])&^0x4000 != 0 // all but "do not fragment"
	}
	return binary.BigEndian.Uint16(f[12:]) == 0x86dd && f[14+6] == 44
}

type echoKind uint8

const (
	request echoKind = iota + 1
	reply
)

// echo tells what an echo's first or only fragment is, 0 for other frames.
func echo(f []byte) echoKind {
	if len(f) < 14+20+8 {
		return 0
	}
	switch ip := f[14:]; binary.BigEndian.Uint16(f[12:]) {
	case 0x0800:
		if ip[9] == 1 && binary.BigEndian.Uint16(ip[6:])&0x1fff == 0 {
			return map[byte]echoKind{8: request, 0: reply}[ip[20]]
		}
	case 0x86dd:
		next, rest := ip[6], ip[40:]
		if next == 44 && binary.BigEndian.Uint16(rest[2:])&^7 == 0 {
			next, rest = rest[0], rest[8:]
		}
		if next == 58 {
			return map[byte]echoKind{128: request, 129: reply}[rest[0]]
		}
	}
	return 0
}

func (w *wire) echoes() (requests, replies int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked, w.replied
}

// record keeps the frames from now on; frames returns them.
func (w *wire) record() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keep = true
}

func (w *wire) frames() []frame {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]frame(nil), w.kept...)
}

func (w *wire) counts() (longest, jumbo, parts [2]int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.longest, w.jumbo, w.parts
}

// destination is where a frame is sent to.
func (f frame) destination() mac.HardwareAddr { return mac.HardwareAddr(f.data[:6]) }

// hostPort is an address and port in URLs.
func hostPort(a netip.Addr, port int) string {
	return netip.AddrPortFrom(a, uint16(port)).String()
}

// portOf is the port of a listener.
func portOf(a net.Addr) int {
	switch a := a.(type) {
	case *net.TCPAddr:
		return a.Port
	case *net.UDPAddr:
		return a.Port
	}
	return 0
}

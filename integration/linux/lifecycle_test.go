//go:build linux

package linux

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// lifeCycle are the checks of starting and stopping.
func (m *machine) lifeCycle(b *barewire) []step {
	d := m.devices[0]
	running := func(t *testing.T, want bool) {
		t.Helper()
		if d.running != nil {
			require.Equal(t, want, d.running(d.model), "receiver and transmitter on")
		}
	}
	return []step{
		{"down and up under traffic", true, func(t *testing.T) {
			stop := flood(t, b, net.JoinHostPort("192.0.2.10", "9"))
			for range 3 {
				m.run(t, "ping -q -i 0.01 -s 1000 192.0.2.1 > /dev/null 2>&1 & sleep 0.3; ip link set eth0 down")
				running(t, false)
				m.run(t, "ip link set eth0 up; carrier eth0; sleep 0.1; killall ping 2> /dev/null; true")
				running(t, true)
			}
			stop()
			m.pings(t, 5, peer4, 56, 1472)
			m.upload(t, peer4, 100_000)
			m.download(t, peer4, 100_000)
		}},
		{"rmmod and insmod, under traffic", true, func(t *testing.T) {
			stop := flood(t, b, net.JoinHostPort("192.0.2.10", "9"))
			for range 2 {
				m.unload(t)
				m.reload(t)
			}
			stop()
			m.pings(t, 5, peer4, 56, 1472)
			m.pings(t, 5, peer6, 56, 1452)
			m.download(t, peer4, 100_000)
		}},
	}
}

// flood sends a datagram to the guest every three milliseconds until the function
// that it returns is called.
func flood(t *testing.T, s stack, address string) (stop func()) {
	c, err := s.DialContext(t.Context(), "udp", address)
	require.NoError(t, err)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(3 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n = (n + 97) % 1400 {
			select {
			case <-done:
				return
			case <-tick.C:
				_, _ = c.Write(make([]byte, n)) // nobody need get it
			}
		}
	})
	stop = sync.OnceFunc(func() {
		close(done)
		wg.Wait()
		_ = c.Close()
	})
	t.Cleanup(stop)
	return stop
}

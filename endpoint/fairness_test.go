package endpoint_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/fake"
	"github.com/barewire/barewire/ring"
)

// TestOneCPU: on one CPU an application gets to run while frames never stop
// coming, at once and not only when the runtime preempts the poll goroutine. The
// dispatcher itself refills the ring, so that every poll pass finds work.
func TestOneCPU(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	o := nodeOptions{fake: fake.Options{Config: mac.Config{Coalesce: &ring.Coalesce{RXFrames: 1}}}}
	o.fake.Build.Inline = true
	m, _, r := single(t, o, false)
	frame := udpFrame(m, 18)
	stop := make(chan struct{})
	r.each = func() {
		select {
		case <-stop:
		default:
			m.Send(frame)
		}
	}
	for range 256 {
		m.Send(frame)
	}
	turns, last := 0, int64(0)
	for r.count.Load() < 10_000 {
		runtime.Gosched()
		if n := r.count.Load(); n != last {
			turns, last = turns+1, n
		}
	}
	close(stop)
	// A turn for each poll pass of 64 frames is what is meant; preemption alone would
	// give one for many thousand.
	require.Greater(t, turns, 10_000/64/2, "turns of the application in %d frames", r.count.Load())
}

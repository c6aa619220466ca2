package dwxgmac2_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/barewire/barewire/mac"
	bussim "github.com/barewire/barewire/mac/bus/sim"
	"github.com/barewire/barewire/mac/dwxgmac2"
	model "github.com/barewire/barewire/mac/sim/dwxgmac2"
	"github.com/barewire/barewire/ring"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open starts a device on a model that does everything inside the call that allows
// it. The test owns the receive side of every queue.
func open(t *testing.T, hardware model.Config, cfg mac.Config) (*model.Model, *mac.Device) {
	t.Helper()
	hardware.Inline = true
	m := model.New(hardware)
	cfg.Address = mac.HardwareAddr{2, 0, 0, 0, 0, 1}
	if cfg.Link == (mac.Link{}) {
		cfg.Link = mac.Link{Up: true, Speed: 10_000, FullDuplex: true}
	}
	if cfg.RXRing == 0 {
		cfg.RXRing = 64
	}
	dev, err := dwxgmac2.Open(context.Background(), bussim.New(m, nil), &cfg)
	require.NoError(t, err)
	require.NoError(t, dev.Start())
	for _, q := range dev.Queues() {
		require.NoError(t, q.Own())
	}
	t.Cleanup(func() {
		for _, q := range dev.Queues() {
			q.Disown()
		}
		require.NoError(t, dev.Close())
		require.Empty(t, m.Violations().List())
	})
	return m, dev
}

// received is a frame of a ring, copied.
type received struct {
	data  []byte
	flags ring.Flags
}

// drain polls a queue once.
func drain(t *testing.T, q *mac.Queue) (got []received) {
	t.Helper()
	q.Ack()
	frames := make([]ring.Frame, 16)
	for n := q.RX.Harvest(frames); n > 0; n = q.RX.Harvest(frames) {
		for _, f := range frames[:n] {
			r := received{flags: f.Flags}
			for _, p := range f.Pieces {
				r.data = append(r.data, q.Pool.Bytes(p.Page)[p.Off:p.Off+p.Len]...)
				q.Pool.Recycle(p.Page)
			}
			got = append(got, r)
		}
		q.Refill()
	}
	q.Unmask()
	require.NoError(t, q.Pool.Check())
	return got
}

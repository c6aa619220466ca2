package ravb_test

import (
	"encoding/binary"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/barewire/barewire/mac"
	bussim "github.com/barewire/barewire/mac/bus/sim"
	"github.com/barewire/barewire/mac/ravb"
	model "github.com/barewire/barewire/mac/sim/ravb"
	"github.com/barewire/barewire/ring"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	station = mac.HardwareAddr{2, 0, 0, 0, 0, 1}
	gigabit = mac.Link{Up: true, Speed: 1000, FullDuplex: true}
)

// rig is a device on a model, polled by the test.
type rig struct {
	*testing.T
	model *model.Model
	bus   *bussim.Bus
	core  *ravb.Core
	dev   *mac.Device
	sent  [][]byte
}

// inBubble runs f on a device that has been started, with all queues owned, in a
// bubble of testing/synctest.
func inBubble(t *testing.T, v model.Variant, cfg mac.Config, f func(*rig)) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, model: model.New(model.Config{Variant: v, Inline: true, Seed: 1})}
		r.model.OnTransmit(func(b []byte) { r.sent = append(r.sent, append([]byte(nil), b...)) })
		r.bus = bussim.New(r.model, nil)
		open := ravb.NewRCar
		if v == model.GbEth {
			open = ravb.NewGbEth
		}
		var err error
		r.core, err = open(r.bus)
		require.NoError(t, err)
		cfg.Address, cfg.Link = station, gigabit
		r.dev, err = mac.NewDevice(t.Context(), r.bus, r.core, &cfg)
		require.NoError(t, err)
		require.NoError(t, r.dev.Start())
		for _, q := range r.dev.Queues() {
			require.NoError(t, q.Own())
		}
		t.Cleanup(func() {
			for _, q := range r.dev.Queues() {
				q.Disown()
			}
			require.NoError(t, r.dev.Close())
			require.Empty(t, r.model.Violations().List())
			require.Empty(t, r.bus.Space().Violations().List())
		})
		synctest.Wait()
		f(r)
	})
}

// harvest takes up to n frames of a queue and recycles their pages.
func (r *rig) harvest(q *mac.Queue, n int) (got []ring.Frame, data [][]byte) {
	frames := make([]ring.Frame, n)
	frames = frames[:q.RX.Harvest(frames)]
	for _, f := range frames {
		var b []byte
		for _, p := range f.Pieces {
			b = append(b, q.Pool.Bytes(p.Page)[p.Off:p.Off+p.Len]...)
			q.Pool.Recycle(p.Page)
		}
		data = append(data, b)
	}
	require.NoError(r, q.Pool.Check())
	return frames, data
}

// send sends frames through a queue with one doorbell and reports how many found
// room.
func (r *rig) send(q *mac.Queue, frames ...[]byte) (n int) {
	tx := q.LockTX()
	require.NotNil(r, tx)
	defer q.UnlockTX()
	for _, f := range frames {
		b := tx.Reserve(len(f))
		if b == nil {
			break
		}
		copy(b, f)
		tx.Commit(ring.TXFrame{})
		n++
	}
	q.FlushTX()
	return n
}

// ether is a frame of n bytes whose contents number names.
func ether(dst mac.HardwareAddr, n, number int) []byte {
	f := make([]byte, n)
	copy(f, dst[:])
	binary.BigEndian.PutUint16(f[12:], 0x88B5) // local experimental
	for i := 14; i < n; i++ {
		f[i] = byte(i*7 + number*13)
	}
	return f
}

// sum is the Internet checksum (RFC 1071) of b, not inverted, going on from s.
func sum(s uint32, b []byte) uint16 {
	for i, v := range b {
		s += uint32(v) << (8 * (1 - i%2))
	}
	for s>>16 != 0 {
		s = s>>16 + s&0xFFFF
	}
	return uint16(s)
}

// packet is an IP packet in a frame, with right checksums. options is the length of
// IPv4 options in bytes.
func packet(v6 bool, proto byte, payload []byte, options int) []byte {
	at := map[byte]int{1: 2, 6: 16, 17: 6, 58: 2}[proto]
	size := map[byte]int{1: 8, 6: 20, 17: 8, 58: 8}[proto]
	l4 := append(make([]byte, size), payload...)
	if proto == 17 {
		binary.BigEndian.PutUint16(l4[4:], uint16(len(l4)))
	}
	f := ether(station, 14, 0)
	pseudo := uint32(proto) + uint32(len(l4))
	if v6 {
		binary.BigEndian.PutUint16(f[12:], 0x86DD)
		ip := make([]byte, 40)
		ip[0], ip[6], ip[7], ip[8], ip[23], ip[24], ip[39] = 0x60, proto, 64, 0xFE, 2, 0xFE, 1
		binary.BigEndian.PutUint16(ip[4:], uint16(len(l4)))
		pseudo += uint32(sum(0, ip[8:]))
		f = append(f, ip...)
	} else {
		binary.BigEndian.PutUint16(f[12:], 0x0800)
		ip := make([]byte, 20+options)
		copy(ip, []byte{byte(0x45 + options/4), 0, 0, 0, 0, 1, 0, 0, 64, proto, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1})
		binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)+len(l4)))
		binary.BigEndian.PutUint16(ip[10:], ^sum(0, ip))
		pseudo += uint32(sum(0, ip[12:20]))
		f = append(f, ip...)
	}
	if proto == 1 {
		pseudo = 0
	}
	check := ^sum(pseudo, l4)
	if check == 0 && proto == 17 {
		check = 0xFFFF
	}
	binary.BigEndian.PutUint16(l4[at:], check)
	return append(f, l4...)
}

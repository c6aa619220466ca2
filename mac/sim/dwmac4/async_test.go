package dwmac4

import (
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/mac/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// asyncRig is a rig whose model runs its own goroutines.
func asyncRig(t *testing.T, out func([]byte)) *rig {
	r := &rig{t: t, space: sim.NewSpace(nil)}
	r.m = New(Config{})
	r.m.Connect(r.space, func(bool) {})
	r.m.OnTransmit(out)
	r.setup(64, 2048)
	return r
}

// Two models, back to back, under the race detector: the sender polls OWN for
// room, the receiver polls OWN for frames. Every frame arrives whole and in
// order.
func TestBackToBack(t *testing.T) {
	const frames = 3000
	b := asyncRig(t, nil)
	a := asyncRig(t, b.m.Deliver)
	b.setAddr(0, ownAddr, 0)
	b.post(0, 0, 63, 0)
	var wg sync.WaitGroup
	var received atomic.Int64
	wg.Go(func() {
		next, posted := 0, 63
		for next < frames {
			i := next % 64
			if b.rx[0].own(i) {
				runtime.Gosched()
				continue
			}
			d3 := atomic.LoadUint32(&b.rx[0].w[4*i+3])
			n := int(d3&gmac4.RDES3PL) - 4
			got := b.rx[0].bytes(i, n)
			if n < 60 || binary.BigEndian.Uint32(got[14:]) != uint32(next) || got[n-1] != byte(next) {
				t.Errorf("frame %d: length %d, number %d: %+v", next, n, binary.BigEndian.Uint32(got[14:]), b.m.Stats())
				return
			}
			next++
			b.post(0, posted, posted+1, 0)
			posted++
			received.Store(int64(next))
		}
	})
	sizes := rand.New(rand.NewPCG(1, 2))
	for i := 0; i < frames && !t.Failed(); {
		// A wire does not wait: stay within the receiver's ring.
		if a.tx[0].own(i%64) || int64(i)-received.Load() > 40 {
			runtime.Gosched()
			continue
		}
		n := 60 + sizes.IntN(1454)
		f := frame(ownAddr, n)
		binary.BigEndian.PutUint32(f[14:], uint32(i))
		f[n-1] = byte(i)
		a.queueTX(0, i%64, f, 0, dwregs.TDES3FD|dwregs.TDES3LD|uint32(n))
		i++
		a.write(ch(0, gmac4.ChanTxTail), a.tx[0].tail(i))
	}
	wg.Wait()
	a.noViolations()
	b.noViolations()
	require.NoError(t, a.m.Close())
	require.NoError(t, b.m.Close())
}

// A reset while a frame is on its way out abandons the frame: its descriptor is
// not written, the memory may go.
func TestResetWhileTransmitting(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	r := asyncRig(t, func([]byte) { entered <- struct{}{}; <-leave })
	r.send(0, 0, frame(peerAddr, 60), 0, 0)
	<-entered
	r.clear(ch(0, gmac4.ChanTxControl), gmac4.TxControlST)
	require.NotZero(t, r.read(gmac4.DMADebug0)>>12&15, "not idle")
	r.write(gmac4.DMAMode, gmac4.DMAModeSWR)
	require.Zero(t, r.read(gmac4.DMAMode))
	require.NoError(t, r.tx[0].buf.Release())
	require.NoError(t, r.tx[0].mem.Release())
	close(leave)
	require.NoError(t, r.m.Close())
	r.noViolations()
}

// The same with the ring's address written instead of a reset.
func TestNewRingWhileTransmitting(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	r := asyncRig(t, func([]byte) { entered <- struct{}{}; <-leave })
	r.send(0, 0, frame(peerAddr, 60), 0, 0)
	<-entered
	r.clear(ch(0, gmac4.ChanTxControl), gmac4.TxControlST)
	old := r.tx[0]
	r.tx[0] = r.ring(64, 2048, 16)
	r.program(0)
	r.queueTX(0, 0, frame(peerAddr, 70), 0, dwregs.TDES3FD|dwregs.TDES3LD|70)
	leave <- struct{}{}
	r.write(ch(0, gmac4.ChanTxTail), r.tx[0].tail(1))
	<-entered
	require.True(t, r.tx[0].own(0), "not given back for the old frame")
	require.True(t, old.own(0))
	leave <- struct{}{}
	require.NoError(t, r.m.Close())
	r.noViolations()
}

// While a frame is on its way out every register answers.
func TestBlockedWireBlocksNoRegister(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	r := asyncRig(t, func([]byte) { entered <- struct{}{}; <-leave })
	r.send(0, 0, frame(peerAddr, 60), 0, 0)
	<-entered
	for off := uint32(0); off < gmac4.WindowSize; off += 4 {
		r.read(off)
	}
	r.post(0, 0, 7, 0)
	r.m.Deliver(frame(ownAddr, 60))
	require.False(t, r.rx[0].own(0))
	r.m.SetLink(mac.Link{Up: true, Speed: 1000, FullDuplex: true})
	close(leave)
	require.NoError(t, r.m.Close())
}

// slowDMA takes its time over one access.
type slowDMA struct {
	sim.DMA
	armed, left atomic.Bool
	entered     chan struct{}
}

func (d *slowDMA) Slice(addr uint64, n int, write bool) ([]byte, error) {
	if d.armed.CompareAndSwap(true, false) {
		close(d.entered)
		for range 10_000 {
			runtime.Gosched()
		}
		d.left.Store(true)
	}
	return d.DMA.Slice(addr, n, write)
}

// Memory that is unmapped may go when Quiesce has returned.
func TestQuiesce(t *testing.T) {
	for name, begin := range map[string]func(r *rig){
		"receive":  func(r *rig) { r.m.Deliver(frame(ownAddr, 60)) },
		"transmit": func(r *rig) { r.send(0, 0, frame(peerAddr, 60), 0, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			r := &rig{t: t, space: sim.NewSpace(nil)}
			dma := &slowDMA{DMA: r.space, entered: make(chan struct{})}
			r.m = New(Config{})
			r.m.Connect(dma, func(bool) {})
			r.m.OnTransmit(func([]byte) {})
			r.setup(8, 2048)
			r.m.Quiesce()
			r.post(0, 0, 7, 0)
			dma.armed.Store(true)
			var wg sync.WaitGroup
			wg.Go(func() { begin(r) })
			<-dma.entered
			r.m.Quiesce()
			require.True(t, dma.left.Load())
			wg.Wait()
			require.NoError(t, r.m.Close())
		})
	}
}

func TestCloseUnderLoad(t *testing.T) {
	for range 20 {
		r := asyncRig(t, func([]byte) {})
		var wg sync.WaitGroup
		r.write(ch(0, gmac4.ChanRxWatchdog), 0xff)
		r.post(0, 0, 63, 0)
		wg.Go(func() {
			for range 200 {
				r.m.Deliver(frame(ownAddr, 60))
			}
		})
		wg.Go(func() {
			for i := range 50 {
				r.send(0, i, frame(peerAddr, 60), 0, 0)
			}
		})
		require.NoError(t, r.m.Close())
		wg.Wait()
		require.Zero(t, r.read(gmac4.MACVersion), "nobody answers")
	}
}

func benchRig(b *testing.B) *rig {
	r := &rig{t: b, space: sim.NewSpace(&sim.SpaceOptions{})}
	r.m = New(Config{Inline: true, Clock: sim.NewManualClock(time.Unix(0, 0))})
	r.m.Connect(r.space, func(bool) {})
	r.m.OnTransmit(func([]byte) {})
	r.setup(64, 2048)
	b.Cleanup(func() { r.m.Close() })
	return r
}

func BenchmarkReceive(b *testing.B) {
	r := benchRig(b)
	r.set(gmac4.MACConfig, gmac4.ConfigIPC)
	r.write(ch(0, gmac4.ChanRxWatchdog), 0xa0)
	f := summed(ipv4(6, tcp(0x10, 1460)))
	b.SetBytes(int64(len(f)))
	b.ReportAllocs()
	r.post(0, 0, 63, 0)
	for i := 0; b.Loop(); i++ {
		r.m.Deliver(f)
		r.rx[0].arm((i+63)%64, 0)
		if i%16 == 15 {
			r.write(ch(0, gmac4.ChanRxTail), r.rx[0].tail(i+64))
		}
	}
	require.NotZero(b, r.m.Stats().RX[0])
}

func BenchmarkTransmit(b *testing.B) {
	r := benchRig(b)
	f := ipv4(6, tcp(0x10, 1460))
	b.SetBytes(int64(len(f)))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r.send(0, i%64, f, 0, field.Put(dwregs.TDES3CIC, dwregs.CICFull))
	}
	require.NotZero(b, r.m.Stats().TX[0])
}

func TestNoAllocations(t *testing.T) {
	r := newRig(t, Config{})
	r.set(gmac4.MACConfig, gmac4.ConfigIPC)
	f := summed(ipv4(17, udp(400)))
	i := 0
	r.post(0, 0, 7, 0)
	r.m.OnTransmit(func([]byte) {})
	require.Zero(t, testing.AllocsPerRun(100, func() {
		r.m.Deliver(f)
		r.m.Deliver(f[:42])
		r.post(0, i+7, i+9, gmac4.RDES3IOC)
		r.send(0, i%8, f, dwregs.TDES2IOC, field.Put(dwregs.TDES3CIC, 3))
		r.send(0, (i+1)%8, f[:20], 0, 0)
		i += 2
	}))
}

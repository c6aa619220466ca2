package dwmac4

import (
	"encoding/binary"
	"hash/crc32"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/mac/sim"
)

func TestReceiveOneFrame(t *testing.T) {
	r := newRig(t, Config{})
	r.post(0, 0, 7, gmac4.RDES3IOC)
	f := frame(ownAddr, 100)
	r.m.Deliver(f)
	d := r.rx[0].w[:4]
	require.Equal(t, gmac4.RDES3FD|gmac4.RDES3LD, d[3]&(gmac4.RDES3OWN|gmac4.RDES3FD|gmac4.RDES3LD|gmac4.RDES3ES))
	require.EqualValues(t, 104, d[3]&gmac4.RDES3PL)
	require.Equal(t, f, r.rx[0].bytes(0, 100))
	require.Equal(t, crc32.ChecksumIEEE(f), binary.LittleEndian.Uint32(r.rx[0].bytes(0, 104)[100:]), "FCS")
	require.NotEqual(t, uint32(r.rx[0].bufAddr(0)), d[0], "the address word is overwritten")
	require.Zero(t, d[3]&gmac4.RDES3RS1V, "no verdict without the checksum engine")
	require.True(t, r.level)
	require.Equal(t, gmac4.IntRI|gmac4.StatusNIS, r.status(0))
	require.EqualValues(t, 1, r.read(gmac4.DMAIntStatus))
	require.Equal(t, r.rx[0].tail(1), r.read(ch(0, gmac4.ChanCurRxDesc)))
	r.ack(0, gmac4.IntRI|gmac4.StatusNIS)
	require.False(t, r.level)
	r.noViolations()
}

func TestShortFramesArePadded(t *testing.T) {
	r := newRig(t, Config{})
	r.post(0, 0, 7, 0)
	r.m.Deliver(frame(ownAddr, 300))
	r.m.Deliver(frame(ownAddr, 42))
	require.EqualValues(t, 64, r.rx[0].w[7]&gmac4.RDES3PL)
	require.Equal(t, make([]byte, 18), r.rx[0].bytes(1, 60)[42:])
}

func TestTailSemantics(t *testing.T) {
	for _, c := range []struct {
		name  string
		armed int
		tail  int // in descriptors from the base; 8 is one past the end
		usesN int
	}{
		{"tail at the base before the start", 8, 0, 0},
		{"one past the end before the start, as Linux", 8, 8, 8},
		{"last descriptor, as U-Boot", 8, 7, 7},
		{"N-1 posted, one past the last", 7, 7, 7},
		{"three posted", 3, 3, 3},
		{"tail beyond what is posted", 3, 6, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, Config{})
			r.clear(ch(0, gmac4.ChanRxControl), gmac4.RxControlSR)
			r.write(ch(0, gmac4.ChanRxList), r.rx[0].tail(0))
			for i := range c.armed {
				r.rx[0].arm(i, 0)
			}
			r.write(ch(0, gmac4.ChanRxTail), uint32(r.rx[0].mem.DeviceAddr())+uint32(c.tail)*16)
			r.ack(0, ^uint32(0))
			r.set(ch(0, gmac4.ChanRxControl), gmac4.RxControlSR)
			require.Equal(t, c.usesN, r.m.RXAvailable(0))
			for range 10 {
				r.m.Deliver(frame(ownAddr, 60))
			}
			done := 0
			for i := range c.armed {
				if !r.rx[0].own(i) {
					done++
				}
			}
			require.Equal(t, c.usesN, done)
			require.NotZero(t, r.status(0)&gmac4.IntRBU)
			r.noViolations()
		})
	}
}

// Linux keeps the whole ring posted: after a refill of everything the tail is
// the current descriptor again, and means a full ring.
func TestFullRingTail(t *testing.T) {
	r := newRig(t, Config{})
	r.post(0, 0, 8, 0)
	require.Equal(t, 8, r.m.RXAvailable(0))
	for round := range 5 {
		for i := range 8 {
			r.m.Deliver(frame(ownAddr, 60+i))
		}
		for i := range 8 {
			require.False(t, r.rx[0].own(i), "round %d", round)
			require.EqualValues(t, 64+i, r.rx[0].w[4*i+3]&gmac4.RDES3PL)
		}
		require.NotZero(t, r.status(0)&gmac4.IntRBU)
		r.post(0, 0, 8, 0)
	}
	r.noViolations()
}

// B001: nothing but a tail write ends the suspension, and frames wait in the
// FIFO meanwhile.
func TestExhaustionAndRecovery(t *testing.T) {
	r := newRig(t, Config{})
	r.post(0, 0, 4, 0)
	for i := range 6 {
		r.m.Deliver(frame(ownAddr, 60+i))
	}
	require.NotZero(t, r.status(0)&gmac4.IntRBU)
	require.True(t, r.level)
	require.Equal(t, uint32(gmac4.RxStateSuspended), r.read(gmac4.DMADebug0)>>8&15)
	debug := r.read(qu(0, gmac4.RxQDebug))
	require.EqualValues(t, 2, field.Get(gmac4.RxQDebugPRXQ, debug))
	require.EqualValues(t, 1, field.Get(gmac4.RxQDebugRXQ, debug))
	r.ack(0, ^uint32(0))
	for i := 4; i < 7; i++ {
		r.rx[0].arm(i, 0)
	}
	r.m.Deliver(frame(ownAddr, 66))
	require.True(t, r.rx[0].own(4), "OWN alone does not resume")
	r.write(ch(0, gmac4.ChanRxTail), r.rx[0].tail(7))
	for i := range 3 {
		require.EqualValues(t, 68+i, r.rx[0].w[4*(4+i)+3]&gmac4.RDES3PL, "frames come out of the FIFO in order")
	}
	require.Zero(t, r.read(qu(0, gmac4.RxQMissed)))
	r.post(0, 7, 9, 0)
	r.write(ch(0, gmac4.ChanRxTail), r.rx[0].tail(9))
	r.m.Deliver(frame(ownAddr, 77))
	require.EqualValues(t, 81, r.rx[0].w[4*7+3]&gmac4.RDES3PL)
	r.noViolations()
}

// A full ring goes round once: the tail stops it the next time.
func TestFullRingStopsAtTail(t *testing.T) {
	r := newRig(t, Config{})
	r.post(0, 0, 8, 0)
	for i := range 9 {
		r.m.Deliver(frame(ownAddr, 60))
		if i < 8 {
			require.False(t, r.rx[0].own(i))
			r.rx[0].arm(i, 0) // and no tail write
		}
	}
	require.EqualValues(t, 8, r.m.Stats().RX[0])
	require.NotZero(t, r.status(0)&gmac4.IntRBU)
}

// The FIFO's memory goes round too.
func TestFIFOWraps(t *testing.T) {
	r := newRig(t, Config{})
	n := 0
	for round := range 20 {
		for range 5 {
			r.m.Deliver(frame(ownAddr, 60+n%40))
			n++
		}
		r.post(0, 5*round, 5*round+5, 0)
		for i := 5 * round; i < 5*round+5; i++ {
			require.EqualValues(t, 64+i%40, r.rx[0].w[4*(i%8)+3]&gmac4.RDES3PL)
		}
	}
}

func TestSameTailResumes(t *testing.T) {
	r := newRig(t, Config{})
	r.post(0, 0, 2, 0)
	for range 3 {
		r.m.Deliver(frame(ownAddr, 60))
	}
	r.rx[0].arm(2, 0)
	r.write(ch(0, gmac4.ChanRxTail), r.rx[0].tail(2)) // tail == current
	require.False(t, r.rx[0].own(2))
}

func TestFIFOOverflow(t *testing.T) {
	r := newRig(t, Config{RXFIFO: 4096})
	r.set(qu(0, gmac4.QInt), gmac4.QIntRXOIE)
	for range 10 {
		r.m.Deliver(frame(ownAddr, 1000)) // 1016 bytes each: four fit
	}
	require.EqualValues(t, 6, r.read(gmac4.MMC+dwregs.MMCRxOverflow))
	require.EqualValues(t, 6, r.m.Stats().Overflow)
	require.EqualValues(t, 1, r.read(gmac4.MTLIntStatus))
	require.True(t, r.level)
	require.NotZero(t, r.read(gmac4.DMAIntStatus)&gmac4.DMAIntMTL)
	r.set(qu(0, gmac4.QInt), 0) // writes the status back: clears it
	require.Zero(t, r.read(gmac4.MTLIntStatus))
	require.EqualValues(t, 6, r.read(qu(0, gmac4.RxQMissed))&gmac4.RxQMissedOverflow)
	require.Zero(t, r.read(qu(0, gmac4.RxQMissed)), "cleared by reading")
	r.post(0, 0, 7, 0)
	require.EqualValues(t, 4, r.m.Stats().RX[0])
	require.Zero(t, r.read(qu(0, gmac4.RxQDebug)))
}

func TestFlushWhenStopped(t *testing.T) {
	r := newRig(t, Config{})
	r.write(ch(0, gmac4.ChanRxControl), gmac4.RxControlRPF)
	r.m.Deliver(frame(ownAddr, 60))
	require.EqualValues(t, 1, field.Get(gmac4.RxQMissedMissed, r.read(qu(0, gmac4.RxQMissed))))
	require.EqualValues(t, 1, r.read(ch(0, gmac4.ChanMissed)))
	require.NotZero(t, r.status(0)&gmac4.IntRPS)
}

func TestMultiDescriptorFrames(t *testing.T) {
	for _, c := range []struct {
		name      string
		n         int
		flags     uint32
		config    uint32
		pieces    int
		pl, lastN int
	}{
		{"fits exactly", 252, 0, 0, 1, 256, 256},
		{"FCS split 3/1", 253, 0, 0, 2, 257, 1},
		{"FCS alone", 256, 0, 0, 2, 260, 4},
		{"three", 600, 0, 0, 3, 604, 92},
		{"FCS stripped", 256, 0, gmac4.ConfigCST, 1, 256, 256},
		{"two buffers each", 600, gmac4.RDES3BUF2V, 0, 2, 604, 92},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, Config{})
			r.setRings(16, 256)
			r.set(gmac4.MACConfig, c.config)
			second := r.alloc(16 * 256)
			for i := range 15 {
				a, b := r.rx[0].bufAddr(i), second.DeviceAddr()+uint64(256*i)
				r.rx[0].put(i, [4]uint32{uint32(a), uint32(a >> 32), uint32(b), uint32(b>>32)&0xffff | gmac4.RDES3OWN | gmac4.RDES3BUF1V | c.flags})
			}
			r.write(ch(0, gmac4.ChanRxTail), r.rx[0].tail(15))
			f := frame(ownAddr, c.n)
			r.m.Deliver(f)
			var got []byte
			for i := range c.pieces {
				d3 := r.rx[0].w[4*i+3]
				require.Equal(t, i == 0, d3&gmac4.RDES3FD != 0)
				require.Equal(t, i == c.pieces-1, d3&gmac4.RDES3LD != 0)
				got = append(got, r.rx[0].bytes(i, 256)...)
				if c.flags != 0 {
					got = append(got, second.Bytes()[256*i:256*i+256]...)
				}
				if i < c.pieces-1 {
					require.EqualValues(t, len(got), d3&gmac4.RDES3PL)
				} else {
					require.EqualValues(t, c.pl, d3&gmac4.RDES3PL)
				}
			}
			require.Equal(t, f, got[:c.n])
			require.True(t, r.rx[0].own(c.pieces))
			r.noViolations()
		})
	}
}

// setRings replaces the rings.
func (r *rig) setRings(n, size int) {
	r.clear(ch(0, gmac4.ChanRxControl), gmac4.RxControlSR)
	r.clear(ch(0, gmac4.ChanTxControl), gmac4.TxControlST)
	r.rx[0], r.tx[0] = r.ring(n, size, 16), r.ring(n, size, 16)
	r.program(0)
}

// A frame that runs out of descriptors in its middle goes on after the refill.
func TestSuspendInsideFrame(t *testing.T) {
	r := newRig(t, Config{JunkLengths: true})
	r.setRings(8, 256)
	r.post(0, 0, 2, 0)
	f := frame(ownAddr, 900)
	r.m.Deliver(f)
	r.m.Deliver(frame(ownAddr, 60))
	require.NotZero(t, r.status(0)&gmac4.IntRBU)
	require.False(t, r.rx[0].own(1))
	r.post(0, 2, 7, 0)
	require.NotZero(t, r.rx[0].w[15]&gmac4.RDES3LD)
	require.Zero(t, r.rx[0].w[15]&gmac4.RDES3FD)
	require.EqualValues(t, 904, r.rx[0].w[15]&gmac4.RDES3PL)
	require.Equal(t, f[768:], r.rx[0].bytes(3, 132))
	require.EqualValues(t, 64, r.rx[0].w[19]&gmac4.RDES3PL)
	r.noViolations()
}

func TestDescriptorSkipLength(t *testing.T) {
	r := newRig(t, Config{})
	r.clear(ch(0, gmac4.ChanRxControl), gmac4.RxControlSR)
	mem := r.allocUse(4*32, 0)
	w, _ := sim.Words(mem.Bytes())
	r.write(ch(0, gmac4.ChanControl), field.Put(gmac4.ControlDSL, 2))
	r.write(ch(0, gmac4.ChanRxListHigh), uint32(mem.DeviceAddr()>>32))
	r.write(ch(0, gmac4.ChanRxList), uint32(mem.DeviceAddr()))
	r.write(ch(0, gmac4.ChanRxRingLen), 3)
	for i := range 3 {
		a := r.rx[0].bufAddr(i)
		copy(w[8*i:], []uint32{uint32(a), uint32(a >> 32), 0, gmac4.RDES3OWN | gmac4.RDES3BUF1V})
	}
	r.set(ch(0, gmac4.ChanRxControl), gmac4.RxControlSR)
	r.write(ch(0, gmac4.ChanRxTail), uint32(mem.DeviceAddr())+3*32)
	r.m.Deliver(frame(ownAddr, 60))
	r.m.Deliver(frame(ownAddr, 61))
	require.EqualValues(t, 65, w[11]&gmac4.RDES3PL)
	require.Equal(t, uint32(mem.DeviceAddr())+64, r.read(ch(0, gmac4.ChanCurRxDesc)))
}

// The model fetches a descriptor as soon as it is given away, and never looks
// at it again.
func TestFetchedDescriptorIsNotReadAgain(t *testing.T) {
	r := newRig(t, Config{})
	r.post(0, 0, 3, 0)
	r.rx[0].w[0] = uint32(r.rx[0].bufAddr(5))
	f := frame(ownAddr, 60)
	r.m.Deliver(f)
	require.Equal(t, f, r.rx[0].bytes(0, 60))
}

func TestStopKeepsPosition(t *testing.T) {
	r := newRig(t, Config{})
	r.post(0, 0, 7, 0)
	r.m.Deliver(frame(ownAddr, 60))
	r.clear(ch(0, gmac4.ChanRxControl), gmac4.RxControlSR)
	require.Zero(t, r.read(gmac4.DMADebug0)>>8&15)
	r.set(ch(0, gmac4.ChanRxControl), gmac4.RxControlSR)
	r.m.Deliver(frame(ownAddr, 60))
	require.False(t, r.rx[0].own(1), "goes on where it was")
	r.clear(ch(0, gmac4.ChanRxControl), gmac4.RxControlSR)
	r.rx[0].arm(0, 0)
	r.write(ch(0, gmac4.ChanRxList), r.rx[0].tail(0))
	r.set(ch(0, gmac4.ChanRxControl), gmac4.RxControlSR)
	r.m.Deliver(frame(ownAddr, 60))
	require.False(t, r.rx[0].own(0), "the list address starts over")
	r.noViolations()
}

func TestWatchdog(t *testing.T) {
	const unit = 256 * time.Second / 125_000_000
	for _, c := range []struct {
		name string
		reg  uint32
		wait time.Duration
	}{
		{"0xA0 at 125 MHz", 0xa0, 0xa0 * unit},
		{"unit of 512", 0x10 | 1<<16, 32 * unit},
		{"unit of 2048", 0xff | 3<<16, 255 * 8 * unit},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, Config{})
			r.write(ch(0, gmac4.ChanRxWatchdog), c.reg)
			r.post(0, 0, 7, 0)
			r.m.Deliver(frame(ownAddr, 60))
			r.clock.Advance(c.wait / 2)
			r.m.Deliver(frame(ownAddr, 60)) // does not restart it
			r.clock.Advance(c.wait - c.wait/2 - 1)
			require.False(t, r.level)
			r.clock.Advance(1)
			require.True(t, r.level)
			require.Equal(t, 1, r.edges)
			require.EqualValues(t, 1, r.m.Stats().Watchdog)
			r.ack(0, ^uint32(0))
			r.clock.Advance(time.Second)
			require.False(t, r.level, "it runs once")
		})
	}
}

func TestIOCStopsWatchdog(t *testing.T) {
	r := newRig(t, Config{})
	r.write(ch(0, gmac4.ChanRxWatchdog), 0xa0)
	r.rx[0].arm(0, 0)
	r.rx[0].arm(1, 0)
	r.rx[0].arm(2, gmac4.RDES3IOC)
	r.write(ch(0, gmac4.ChanRxTail), r.rx[0].tail(3))
	r.m.Deliver(frame(ownAddr, 60))
	r.m.Deliver(frame(ownAddr, 60))
	require.Zero(t, r.status(0)&gmac4.IntRI)
	r.m.Deliver(frame(ownAddr, 60))
	require.NotZero(t, r.status(0)&gmac4.IntRI)
	r.ack(0, ^uint32(0))
	r.clock.Advance(time.Second)
	require.Zero(t, r.status(0)&gmac4.IntRI)
	require.Equal(t, Stats{RX: [16]uint64{3}, IOC: 1}, r.m.Stats())
}

func TestNoWatchdogNoInterrupt(t *testing.T) {
	r := newRig(t, Config{})
	r.post(0, 0, 7, 0)
	r.m.Deliver(frame(ownAddr, 60))
	r.clock.Advance(time.Hour)
	require.Zero(t, r.edges)
}

package dwmac4

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/internal/offload"
)

func TestTransmitOneFrame(t *testing.T) {
	r := newRig(t, Config{})
	f := frame(peerAddr, 100)
	r.send(0, 0, f, dwregs.TDES2IOC, 0)
	require.Equal(t, [][]byte{f}, r.sent, "done inside the doorbell")
	d := r.tx[0].w[:4]
	require.Equal(t, dwregs.TDES3FD|dwregs.TDES3LD, d[3])
	require.NotEqual(t, uint32(r.tx[0].bufAddr(0)), d[0], "overwritten")
	require.Equal(t, gmac4.IntTI|gmac4.IntTBU|gmac4.StatusNIS, r.status(0))
	require.True(t, r.level)
	r.ack(0, gmac4.IntTI|gmac4.StatusNIS)
	require.False(t, r.level, "TBU is not enabled")
	require.Equal(t, gmac4.IntTBU, r.status(0))
	require.Equal(t, uint32(gmac4.TxStateSuspended), r.read(gmac4.DMADebug0)>>12)
	require.Equal(t, r.tx[0].tail(1), r.read(ch(0, gmac4.ChanCurTxDesc)))
	r.noViolations()
}

func TestTransmitTail(t *testing.T) {
	r := newRig(t, Config{})
	for i := range 7 {
		r.queueTX(0, i, frame(peerAddr, 60+i), 0, dwregs.TDES3FD|dwregs.TDES3LD|uint32(60+i))
	}
	require.Empty(t, r.sent)
	r.write(ch(0, gmac4.ChanTxTail), r.tx[0].tail(7))
	require.Len(t, r.sent, 7)
	// All eight: the tail is the current descriptor and the ring looks empty.
	for i := range 8 {
		r.queueTX(0, (7+i)%8, frame(peerAddr, 60), 0, dwregs.TDES3FD|dwregs.TDES3LD|60)
	}
	r.write(ch(0, gmac4.ChanTxTail), r.tx[0].tail(7))
	require.Len(t, r.sent, 7, "a full ring stalls")
	r.write(ch(0, gmac4.ChanTxTail), r.tx[0].tail(6))
	require.Len(t, r.sent, 14)
	require.True(t, r.tx[0].own(6))
	r.noViolations()
}

func TestTransmitStopsAtOwn(t *testing.T) {
	r := newRig(t, Config{})
	r.queueTX(0, 0, frame(peerAddr, 60), 0, dwregs.TDES3FD|dwregs.TDES3LD|60)
	r.write(ch(0, gmac4.ChanTxTail), r.tx[0].tail(5))
	require.Len(t, r.sent, 1)
	r.queueTX(0, 1, frame(peerAddr, 60), 0, dwregs.TDES3FD|dwregs.TDES3LD|60)
	require.Len(t, r.sent, 1, "suspended")
	r.write(ch(0, gmac4.ChanTxTail), r.tx[0].tail(5))
	require.Len(t, r.sent, 2)
}

func TestTransmitPieces(t *testing.T) {
	r := newRig(t, Config{})
	f := frame(peerAddr, 300)
	r.queueTX(0, 6, f[:100], 0, dwregs.TDES3FD|300)
	r.queueTX(0, 7, f[100:101], 0, 0)
	r.queueTX(0, 0, f[101:], dwregs.TDES2IOC, dwregs.TDES3LD)
	r.clear(ch(0, gmac4.ChanTxControl), gmac4.TxControlST)
	r.write(ch(0, gmac4.ChanTxList), r.tx[0].tail(0))
	r.set(ch(0, gmac4.ChanTxControl), gmac4.TxControlST)
	for i := range 6 {
		r.send(0, i, frame(peerAddr, 60), 0, 0)
	}
	r.queueTX(0, 0, f[101:], dwregs.TDES2IOC, dwregs.TDES3LD)
	r.sent = nil
	r.write(ch(0, gmac4.ChanTxTail), r.tx[0].tail(7))
	require.Empty(t, r.sent, "half a frame")
	r.write(ch(0, gmac4.ChanTxTail), r.tx[0].tail(1))
	require.Equal(t, [][]byte{f}, r.sent)
	require.False(t, r.tx[0].own(6))
	require.Equal(t, uint32(r.tx[0].bufAddr(7)), r.tx[0].w[4*7], "only the last is overwritten")
	r.noViolations()
}

func TestTwoBuffersWith32Bits(t *testing.T) {
	r := newRig(t, Config{AddressBits: 32})
	f := frame(peerAddr, 100)
	h := r.tx[0]
	copy(h.bytes(0, 60), f)
	copy(h.bytes(1, 40), f[60:])
	h.put(0, [4]uint32{uint32(h.bufAddr(0)), uint32(h.bufAddr(1)), 60 | 40<<16, dwregs.TDES3OWN | dwregs.TDES3FD | dwregs.TDES3LD | 100})
	r.write(ch(0, gmac4.ChanTxTail), h.tail(1))
	require.Equal(t, [][]byte{f}, r.sent)
}

func TestTransmitPadding(t *testing.T) {
	r := newRig(t, Config{})
	for i, n := range []int{14, 42, 59, 60, 61} {
		for j := range r.tx[0].bytes(i, 64) {
			r.tx[0].bytes(i, 64)[j] = 0xee
		}
		f := frame(peerAddr, n)
		r.send(0, i, f, 0, 0)
		require.Len(t, r.sent[i], max(n, 60))
		require.Equal(t, append(append([]byte{}, f...), make([]byte, max(0, 60-n))...), r.sent[i])
	}
}

func TestStartOverAtList(t *testing.T) {
	r := newRig(t, Config{})
	r.send(0, 0, frame(peerAddr, 60), 0, 0)
	r.clear(ch(0, gmac4.ChanTxControl), gmac4.TxControlST)
	require.NotZero(t, r.status(0)&gmac4.IntTPS)
	require.Zero(t, r.read(gmac4.DMADebug0)>>12)
	r.set(ch(0, gmac4.ChanTxControl), gmac4.TxControlST)
	r.send(0, 1, frame(peerAddr, 61), 0, 0)
	require.Len(t, r.sent, 2, "goes on where it was")
	r.clear(ch(0, gmac4.ChanTxControl), gmac4.TxControlST)
	r.write(ch(0, gmac4.ChanTxList), r.tx[0].tail(0))
	r.set(ch(0, gmac4.ChanTxControl), gmac4.TxControlST)
	r.send(0, 0, frame(peerAddr, 62), 0, 0)
	require.Len(t, r.sent, 3)
	r.noViolations()
	r.write(ch(0, gmac4.ChanTxList), r.tx[0].tail(0))
	require.NotZero(t, r.m.Violations().Count(), "while it runs")
}

func TestTransmitWaitsForMACAndQueueAndLink(t *testing.T) {
	for _, c := range []struct {
		name     string
		off, on  func(r *rig)
		complete bool
	}{
		{"TE", func(r *rig) { r.clear(gmac4.MACConfig, gmac4.ConfigTE) }, func(r *rig) { r.set(gmac4.MACConfig, gmac4.ConfigTE) }, false},
		{"link", func(r *rig) { r.m.SetLink(mac.Link{}) }, func(r *rig) { r.m.SetLink(mac.Link{Up: true}) }, false},
		{"TXQEN", func(r *rig) { r.clear(qu(0, gmac4.TxQOpMode), gmac4.TxQOpTXQEN) },
			func(r *rig) { r.set(qu(0, gmac4.TxQOpMode), field.Put(gmac4.TxQOpTXQEN, 2)) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, Config{Queues: 2})
			c.off(r)
			r.send(0, 0, frame(peerAddr, 60), dwregs.TDES2IOC, 0)
			require.Empty(t, r.sent)
			require.True(t, r.tx[0].own(0))
			c.on(r)
			require.Len(t, r.sent, 1)
			require.False(t, r.tx[0].own(0))
		})
	}
}

func TestWrongSpeedLosesFrames(t *testing.T) {
	r := newRig(t, Config{})
	r.post(0, 0, 7, 0)
	r.m.SetLink(mac.Link{Up: true, Speed: 100, FullDuplex: true})
	r.send(0, 0, frame(peerAddr, 60), 0, 0)
	r.m.Deliver(frame(ownAddr, 60))
	require.Empty(t, r.sent)
	require.False(t, r.tx[0].own(0))
	require.True(t, r.rx[0].own(0))
	r.clear(gmac4.MACConfig, gmac4.ConfigTE|gmac4.ConfigRE)
	r.set(gmac4.MACConfig, gmac4.ConfigPS|gmac4.ConfigFES)
	r.set(gmac4.MACConfig, gmac4.ConfigTE|gmac4.ConfigRE)
	r.send(0, 1, frame(peerAddr, 60), 0, 0)
	r.m.Deliver(frame(ownAddr, 60))
	require.Len(t, r.sent, 1)
	require.False(t, r.rx[0].own(0))
	r.noViolations()
	r.clear(gmac4.MACConfig, gmac4.ConfigPS)
	require.Equal(t, 1, r.m.Violations().Count(), "speed changed while the MAC runs")
}

func TestTransmitErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(r *rig)
	}{
		{"frame goes on without start", func(r *rig) {
			r.queueTX(0, 0, frame(peerAddr, 60), 0, dwregs.TDES3LD|60)
			r.write(ch(0, gmac4.ChanTxTail), r.tx[0].tail(1))
		}},
		{"start inside a frame", func(r *rig) {
			r.queueTX(0, 0, frame(peerAddr, 60), 0, dwregs.TDES3FD|60)
			r.send(0, 1, frame(peerAddr, 60), 0, 0)
		}},
		{"length", func(r *rig) {
			r.queueTX(0, 0, frame(peerAddr, 60), 0, dwregs.TDES3FD|dwregs.TDES3LD|61)
			r.write(ch(0, gmac4.ChanTxTail), r.tx[0].tail(1))
		}},
		{"segmentation not enabled", func(r *rig) {
			r.send(0, 0, frame(peerAddr, 60), 0, dwregs.TDES3TSE)
		}},
		{"checksum without store and forward", func(r *rig) {
			r.clear(qu(0, gmac4.TxQOpMode), gmac4.TxQOpTSF)
			r.send(0, 0, frame(peerAddr, 60), 0, field.Put(dwregs.TDES3CIC, 3))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, Config{})
			c.do(r)
			require.NotZero(t, r.m.Violations().Count())
		})
	}
}

func TestTransmitBusError(t *testing.T) {
	r := newRig(t, Config{})
	r.m.Faults().Nth(sim.TXBusError, 2)
	r.send(0, 0, frame(peerAddr, 60), 0, 0)
	r.send(0, 1, frame(peerAddr, 60), 0, 0)
	require.Len(t, r.sent, 1)
	require.NotZero(t, r.status(0)&gmac4.IntFBE)
	require.EqualValues(t, gmac4.BusErrBufferRead, field.Get(gmac4.StatusTEB, r.status(0)))
	require.True(t, r.tx[0].own(1))
	require.True(t, r.level)
}

func TestStuckOwn(t *testing.T) {
	r := newRig(t, Config{})
	r.m.Faults().Once(sim.StuckOwn)
	r.send(0, 0, frame(peerAddr, 60), 0, 0)
	r.send(0, 1, frame(peerAddr, 60), 0, 0)
	require.Len(t, r.sent, 2)
	require.True(t, r.tx[0].own(0))
	require.False(t, r.tx[0].own(1))
}

// Descriptors that keep OWN must not be sent for ever, even when the tail lies
// outside of the ring.
func TestStuckRingEnds(t *testing.T) {
	r := newRig(t, Config{})
	r.m.Faults().Always(sim.StuckOwn)
	for i := range 8 {
		r.queueTX(0, i, frame(peerAddr, 60), 0, dwregs.TDES3FD|dwregs.TDES3LD|60)
	}
	r.write(ch(0, gmac4.ChanTxTail), r.tx[0].tail(0)+0x1000)
	require.Len(t, r.sent, 8)
	require.Zero(t, r.status(0)&gmac4.IntFBE)
}

// A frame cut by a stop is forgotten with the old ring.
func TestHalfFrameIsForgotten(t *testing.T) {
	r := newRig(t, Config{})
	r.queueTX(0, 0, frame(peerAddr, 60), 0, dwregs.TDES3FD|120)
	r.write(ch(0, gmac4.ChanTxTail), r.tx[0].tail(1))
	r.clear(ch(0, gmac4.ChanTxControl), gmac4.TxControlST)
	r.write(ch(0, gmac4.ChanTxList), r.tx[0].tail(0))
	r.set(ch(0, gmac4.ChanTxControl), gmac4.TxControlST)
	f := frame(peerAddr, 70)
	r.send(0, 0, f, 0, 0)
	require.Equal(t, [][]byte{f}, r.sent)
	r.noViolations()
}

// A doorbell while another goroutine runs the engine is not forgotten.
func TestDoorbellWhileBusy(t *testing.T) {
	r := newRig(t, Config{})
	entered, leave, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	n := 0
	r.m.OnTransmit(func([]byte) {
		if n++; n == 1 {
			close(entered)
			<-leave
		}
	})
	go func() {
		r.send(0, 0, frame(peerAddr, 60), 0, 0)
		close(done)
	}()
	<-entered
	r.send(0, 1, frame(peerAddr, 60), 0, 0)
	close(leave)
	<-done
	require.Equal(t, 2, n)
}

// B048: with store and forward the frame and a burst must fit into the queue.
func TestFrameLargerThanFIFO(t *testing.T) {
	r := newRig(t, Config{TXFIFO: 2048})
	r.set(ch(0, gmac4.ChanTxControl), field.Put(gmac4.TxControlPBL, 8))
	r.set(ch(0, gmac4.ChanControl), gmac4.ControlPBLx8)
	r.send(0, 0, frame(peerAddr, 1500), 0, 0)
	require.Len(t, r.sent, 1)
	r.send(0, 1, frame(peerAddr, 1600), 0, 0)
	require.Len(t, r.sent, 1)
	require.True(t, r.tx[0].own(1))
	debug := r.read(qu(0, gmac4.TxQDebug))
	require.NotZero(t, debug&gmac4.TxQDebugTXQ)
	r.clear(ch(0, gmac4.ChanTxControl), gmac4.TxControlST)
	require.NotZero(t, r.read(gmac4.DMADebug0)>>12, "not idle")
	r.set(qu(0, gmac4.TxQOpMode), gmac4.TxQOpFTQ)
	require.Zero(t, r.read(qu(0, gmac4.TxQOpMode))&gmac4.TxQOpFTQ, "clears itself")
	require.Zero(t, r.read(gmac4.DMADebug0)>>12)
	require.Equal(t, gmac4.TDES3FF|gmac4.TDES3ES, r.tx[0].w[7]&(gmac4.TDES3FF|gmac4.TDES3ES|dwregs.TDES3OWN))
}

func TestChecksumInsertion(t *testing.T) {
	junk := func(f []byte) []byte {
		g := append([]byte(nil), f...)
		g[24], g[25] = 0xaa, 0xbb
		g[34+6], g[34+7] = 0xcc, 0xdd
		return g
	}
	want := summed(ipv4(17, udp(33)))
	pseudo := append([]byte(nil), want...)
	s := offload.Sum(0).AddWord(17).AddWord(41).Add(pseudo[26:34])
	binary.BigEndian.PutUint16(pseudo[40:], s.Fold())
	header := junk(want)
	copy(header[24:26], want[24:26])
	for _, c := range []struct {
		name   string
		in     []byte
		cic    uint32
		want   []byte
		status uint32
	}{
		{"none", junk(want), dwregs.CICNone, junk(want), 0},
		{"header", junk(want), dwregs.CICHeader, header, 0},
		{"partial", pseudo, dwregs.CICPartial, want, 0},
		{"full", junk(want), dwregs.CICFull, want, 0},
		{"tagged", tag(junk(want), 5), dwregs.CICFull, tag(want, 5), 0},
		{"not IP", frame(peerAddr, 80), dwregs.CICFull, frame(peerAddr, 80), gmac4.TDES3IHE | gmac4.TDES3ES},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, Config{})
			r.send(0, 0, c.in, 0, field.Put(dwregs.TDES3CIC, c.cic))
			require.Equal(t, c.want, r.sent[0])
			require.Equal(t, c.status, r.tx[0].w[3]&^(dwregs.TDES3FD|dwregs.TDES3LD))
		})
	}
}

// contextMSS writes a context descriptor into slot i.
func (r *rig) contextMSS(i int, mss uint32) {
	r.tx[0].put(i, [4]uint32{0, 0, mss, dwregs.TDES3OWN | dwregs.TDES3CTXT | dwregs.TDES3CtxTCMSSV})
}

func TestSegmentation(t *testing.T) {
	for _, c := range []struct {
		name  string
		setup func(r *rig, i int) int // sets the MSS, returns the next slot
	}{
		{"MSS from a context", func(r *rig, i int) int { r.contextMSS(i, 500); return i + 1 }},
		{"MSS from the channel", func(r *rig, i int) int { r.write(ch(0, gmac4.ChanControl), 500); return i }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, Config{})
			r.set(ch(0, gmac4.ChanTxControl), gmac4.TxControlTSE)
			big := ipv4(6, tcp(0x19, 1200)) // FIN, PSH, ACK
			i := c.setup(r, 0)
			tso := dwregs.TDES3TSE | field.Put(dwregs.TDES3THL, 5) | 1200
			r.queueTX(0, i, big[:54], 0, dwregs.TDES3FD|tso)
			r.queueTX(0, i+1, big[54:754], 0, 0)
			r.queueTX(0, i+2, big[754:], dwregs.TDES2IOC, dwregs.TDES3LD)
			r.write(ch(0, gmac4.ChanTxTail), r.tx[0].tail(i+3))
			require.Len(t, r.sent, 3)
			off := 0
			for n, f := range r.sent {
				require.True(t, offload.Check(f).Good())
				size := min(500, 1200-off)
				require.Equal(t, big[54+off:54+off+size], f[54:])
				require.EqualValues(t, 1000+off, binary.BigEndian.Uint32(f[38:]))
				require.EqualValues(t, n, binary.BigEndian.Uint16(f[18:]))
				require.Equal(t, n == 2, f[47]&9 == 9, "FIN and PSH on the last")
				off += size
			}
			require.False(t, r.tx[0].own(i+2))
			require.NotZero(t, r.status(0)&gmac4.IntTI)
			require.EqualValues(t, 3, r.read(gmac4.MMC+dwregs.MMCTxPackets))
			require.EqualValues(t, 3, r.m.Stats().TSOSegments)
			r.noViolations()
		})
	}
}

func TestMSSStaysUntilReset(t *testing.T) {
	r := newRig(t, Config{})
	r.set(ch(0, gmac4.ChanTxControl), gmac4.TxControlTSE)
	r.contextMSS(0, 600)
	r.write(ch(0, gmac4.ChanTxTail), r.tx[0].tail(1))
	require.False(t, r.tx[0].own(0), "a context is given back")
	big := ipv4(6, tcp(0x10, 1200))
	send := func(i int) {
		r.queueTX(0, i, big[:54], 0, dwregs.TDES3FD|dwregs.TDES3TSE|field.Put(dwregs.TDES3THL, 5)|1200)
		r.queueTX(0, i+1, big[54:], 0, dwregs.TDES3LD)
		r.write(ch(0, gmac4.ChanTxTail), r.tx[0].tail(i+2))
	}
	send(1)
	send(3)
	require.Len(t, r.sent, 4)
	r.write(gmac4.DMAMode, gmac4.DMAModeSWR)
	r.setup(8, 2048)
	r.set(ch(0, gmac4.ChanTxControl), gmac4.TxControlTSE)
	send(0)
	require.Len(t, r.sent, 4, "no MSS: hangs")
	require.NotZero(t, r.m.Violations().Count())
}

// A header descriptor that is first and last hangs the engine.
func TestSegmentationWithoutPayloadHangs(t *testing.T) {
	r := newRig(t, Config{})
	r.set(ch(0, gmac4.ChanTxControl), gmac4.TxControlTSE)
	r.contextMSS(0, 600)
	f := ipv4(6, tcp(0x10, 0))
	r.queueTX(0, 1, f, 0, dwregs.TDES3FD|dwregs.TDES3LD|dwregs.TDES3TSE|field.Put(dwregs.TDES3THL, 5))
	r.write(ch(0, gmac4.ChanTxTail), r.tx[0].tail(2))
	require.Empty(t, r.sent)
	require.True(t, r.tx[0].own(1))
}

package sun8i

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/sim"
)

func TestTransmit(t *testing.T) {
	r := newRig(t, Config{})
	f := frame(peerAddr, 100)
	r.send(0, f, 0)
	require.Equal(t, [][]byte{f}, r.sent)
	require.False(t, r.tx.own(0))
	require.Equal(t, r.tx.addr(1), r.read(emac.TxCurDesc))
	require.Equal(t, emac.IntTxBufUA, r.taken(), "no interrupt was asked for")
	r.send(1, f[:20], emac.TxInt)
	require.Len(t, r.sent[1], 60)
	require.Equal(t, make([]byte, 40), r.sent[1][20:])
	require.True(t, r.level)
	require.Equal(t, emac.IntTx|emac.IntTxBufUA, r.taken())

	// Three pieces, of which the first is given away last.
	whole := frame(peerAddr, 1500)
	r.queueTX(3, whole[600:1200], 0)
	r.queueTX(4, whole[1200:], emac.TxLast|emac.TxInt)
	r.kickTX()
	require.Len(t, r.sent, 2)
	r.queueTX(2, whole[:600], emac.TxFirst)
	require.Len(t, r.sent, 2, "not before it is told")
	r.kickTX()
	require.Equal(t, whole, r.sent[2])
	require.False(t, r.tx.own(2) || r.tx.own(3) || r.tx.own(4))

	withFCS := append(bytes.Clone(f), 1, 2, 3, 4)
	r.send(5, withFCS, emac.TxCRCOff)
	require.Equal(t, f, r.sent[3])
	r.noViolations()
}

func TestTransmitMistakes(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(*rig)
		n    int
	}{
		{"first without the rest", func(r *rig) { r.queueTX(0, frame(peerAddr, 100), emac.TxFirst); r.kickTX() }, 1},
		{"rest without the first", func(r *rig) { r.queueTX(0, frame(peerAddr, 100), emac.TxLast); r.kickTX() }, 1},
		{"first in a frame", func(r *rig) {
			r.queueTX(1, frame(peerAddr, 100), emac.TxFirst|emac.TxLast)
			r.queueTX(0, frame(peerAddr, 100), emac.TxFirst)
			r.kickTX()
		}, 1},
		{"checksum without store and forward", func(r *rig) {
			r.write(emac.TxCtl1, emac.TxCtl1DMAEn)
			r.send(0, ipv4(17, udp(50)), field.Put(emac.TxCIC, emac.CICFull))
		}, 1},
		{"list while DMA runs", func(r *rig) { r.write(emac.TxDescList, r.tx.addr(0)) }, 1},
		{"speed while the MAC runs", func(r *rig) { r.write(emac.BasicCtl0, 0xD) }, 1},
		{"no such speed", func(r *rig) { r.write(emac.TxCtl0, 0); r.write(emac.RxCtl0, 0); r.write(emac.BasicCtl0, 5) }, 1},
		{"more than the FIFO", func(r *rig) {
			for i := range 3 {
				r.queueTX(i, make([]byte, 2044), [...]uint32{emac.TxFirst, 0, emac.TxLast}[i])
			}
			r.kickTX()
		}, 1},
		{"MDC", func(r *rig) { r.write(emac.MIICmd, 1<<20|1) }, 1},
		{"MDIO while busy", func(r *rig) { r.write(emac.MIICmd, 3<<20|1); r.write(emac.MIICmd, 3<<20|1) }, 1},
	} {
		r := newRig(t, Config{})
		c.do(r)
		require.Len(t, r.m.Violations().List(), c.n, c.name)
	}
}

func TestChecksumInsertion(t *testing.T) {
	want := ipv4(17, udp(50))
	blank := bytes.Clone(want)
	blank[24], blank[25], blank[40], blank[41] = 1, 2, 3, 4
	for cic, sums := range map[uint32][2]bool{emac.CICNone: {false, false}, emac.CICHeader: {true, false}, emac.CICFull: {true, true}} {
		r := newRig(t, Config{})
		r.send(0, blank, field.Put(emac.TxCIC, cic))
		require.Equal(t, sums[0], bytes.Equal(want[24:26], r.sent[0][24:26]), "CIC %d, header", cic)
		require.Equal(t, sums[1], bytes.Equal(want[40:42], r.sent[0][40:42]), "CIC %d, payload", cic)
	}
	r := newRig(t, Config{})
	r.send(0, frame(peerAddr, 100), field.Put(emac.TxCIC, emac.CICFull))
	require.Equal(t, frame(peerAddr, 100), r.sent[0])
	require.NotZero(t, r.tx.status(0)&emac.TxHeaderErr)
	r.send(1, ipv4Fragment(), field.Put(emac.TxCIC, emac.CICFull))
	require.NotZero(t, r.tx.status(1)&emac.TxPayloadErr)
}

// TestStop: a frame that cannot leave keeps DMA from stopping until the FIFO is
// flushed, and the engine then goes on where it was.
func TestStop(t *testing.T) {
	r := newRig(t, Config{})
	r.m.SetLink(mac.Link{})
	r.send(0, frame(peerAddr, 100), 0)
	r.queueTX(1, frame(peerAddr, 101), emac.TxFirst|emac.TxLast)
	require.True(t, r.tx.own(0))
	r.write(emac.TxCtl1, txMode)
	require.EqualValues(t, emac.TxWaitStatus, r.read(emac.TxDMASta))
	require.NotZero(t, r.taken()&emac.IntTxDMAStop)
	r.write(emac.TxCtl1, txMode|emac.TxCtl1Flush)
	require.EqualValues(t, emac.DMAStopped, r.read(emac.TxDMASta))
	require.EqualValues(t, txMode, r.read(emac.TxCtl1), "flush clears itself")
	require.NotZero(t, r.tx.status(0)&emac.TxErrSummary)
	r.m.SetLink(mac.Link{Up: true})
	require.Empty(t, r.sent)
	r.write(emac.TxCtl1, txMode|emac.TxCtl1DMAEn|emac.TxCtl1Start)
	require.Equal(t, [][]byte{frame(peerAddr, 101)}, r.sent)
	require.EqualValues(t, emac.TxSuspended, r.read(emac.TxDMASta))
	r.noViolations()
}

func TestPause(t *testing.T) {
	pause := make([]byte, 60)
	copy(pause, []byte{0x01, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x88, 0x08, 0, 1, 0, 100})
	r := newRig(t, Config{})
	r.post(0, 8, 0)
	r.m.Deliver(pause)
	r.send(0, frame(peerAddr, 100), 0)
	require.Len(t, r.sent, 1, "not agreed on")
	require.True(t, r.rx.own(0), "and it ends in the MAC")
	r.set(emac.RxCtl0, emac.RxCtl0FlowEn)
	r.m.Deliver(pause)
	r.send(1, frame(peerAddr, 100), 0)
	require.Len(t, r.sent, 1)
	r.clock.Advance(51199 * time.Nanosecond)
	require.Len(t, r.sent, 1)
	r.clock.Advance(2 * time.Nanosecond)
	require.Len(t, r.sent, 2)

	r.write(emac.RxFrmFlt, emac.CtlAll<<12)
	r.m.Deliver(pause)
	require.False(t, r.rx.own(0))

	// Our own: 16 KiB of FIFO, from 3 KiB below full to 4 KiB below.
	r = newRig(t, Config{})
	r.set(emac.RxCtl1, emac.RxCtl1FlowEn|2<<20|3<<22)
	r.write(emac.TxFlowCtl, emac.TxFlowEn|0x123<<4)
	n := 0
	for ; len(r.sent) == 0 && n < 20; n++ {
		r.m.Deliver(frame(ownAddr, 1014))
	}
	require.Equal(t, 13, n) // 1032 bytes each, above 13312
	require.EqualValues(t, 0x123, binary.BigEndian.Uint16(r.sent[0][16:]))
	require.Equal(t, ownAddr, mac.HardwareAddr(r.sent[0][6:12]))
	r.post(0, 1, 0)
	require.Len(t, r.sent, 1)
	r.post(1, 3, 0)
	require.Len(t, r.sent, 2)
	require.Zero(t, binary.BigEndian.Uint16(r.sent[1][16:]), "the end of it")
}

func TestTransmitFaults(t *testing.T) {
	r := newRig(t, Config{})
	r.m.Faults().Once(sim.StuckOwn)
	for i := range 8 {
		r.send(i, frame(peerAddr, 100), 0)
	}
	require.Len(t, r.sent, 8)
	require.True(t, r.tx.own(0), "for ever")
	r.kickTX()
	require.Len(t, r.sent, 8, "and not sent again")

	r = newRig(t, Config{})
	r.m.Faults().Once(sim.TXBusError)
	r.send(0, frame(peerAddr, 100), 0)
	require.Equal(t, emac.IntTxDMAStop, r.taken())
	require.EqualValues(t, emac.DMAStopped, r.read(emac.TxDMASta))
	require.Empty(t, r.sent)
}

// TestLoopback: with the bit that sets itself, nothing leaves.
func TestLoopback(t *testing.T) {
	r := newRig(t, Config{LoopbackTrap: true})
	r.m.SetLink(mac.Link{})
	r.m.SetLink(mac.Link{Up: true})
	require.NotZero(t, r.read(emac.BasicCtl0)&emac.Ctl0Loopback)
	r.post(0, 2, 0)
	r.send(0, frame(ownAddr, 100), 0)
	require.Empty(t, r.sent)
	require.Equal(t, frame(ownAddr, 100), r.rx.bytes(0, 100))
	r.write(emac.BasicCtl0, emac.Ctl0Duplex)
	r.send(1, frame(peerAddr, 100), 0)
	require.Len(t, r.sent, 1)
}

// TestShortControlFrames: control frames that end before they say anything are nothing.
func TestShortControlFrames(t *testing.T) {
	r := newRig(t, Config{})
	r.set(emac.RxCtl0, emac.RxCtl0FlowEn)
	for n := 14; n < 18; n++ {
		f := []byte{0x01, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x88, 0x08, 0, 1, 0, 100}[:n]
		r.m.DeliverWire(binary.LittleEndian.AppendUint32(f, crc32.ChecksumIEEE(f)))
	}
	r.send(0, frame(peerAddr, 100), 0)
	require.Len(t, r.sent, 1)
}

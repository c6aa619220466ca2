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
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
)

func TestPauseReceived(t *testing.T) {
	pause := func(quanta uint16) []byte {
		f := frame(dwmac.PauseAddr, 60)
		binary.BigEndian.PutUint16(f[12:], dwmac.TypeControl)
		binary.BigEndian.PutUint16(f[14:], 1)
		binary.BigEndian.PutUint16(f[16:], quanta)
		return f
	}
	r := newRig(t, Config{})
	r.post(0, 0, 7, 0)
	r.m.Deliver(pause(100))
	r.send(0, 0, frame(peerAddr, 60), 0, 0)
	require.Len(t, r.sent, 1, "not without RFE")
	r.write(gmac4.MACRxFlow, gmac4.RxFlowRFE)
	r.m.Deliver(pause(100)) // 51.2 us
	r.send(0, 1, frame(peerAddr, 60), 0, 0)
	require.NotZero(t, r.read(qu(0, gmac4.TxQDebug))&gmac4.TxQDebugPAUSED)
	r.clock.Advance(51 * time.Microsecond)
	require.Len(t, r.sent, 1)
	r.clock.Advance(time.Microsecond)
	require.Len(t, r.sent, 2)
	r.m.Deliver(pause(0xffff))
	r.send(0, 2, frame(peerAddr, 60), 0, 0)
	require.Len(t, r.sent, 2)
	r.m.Deliver(pause(0))
	require.Len(t, r.sent, 3)
	require.EqualValues(t, 4, r.read(gmac4.MMC+dwregs.MMCRxPause))
	require.True(t, r.rx[0].own(0), "PCF 0 keeps control frames")
	r.set(gmac4.MACPacketFilter, field.Put(dwregs.FilterPCF, dwregs.PCFAll))
	r.m.Deliver(pause(0))
	require.EqualValues(t, gmac4.LTControl, field.Get(gmac4.RDES3LT, r.rx[0].w[3]))
}

func TestPauseSent(t *testing.T) {
	r := newRig(t, Config{RXFIFO: 4096})
	r.set(qu(0, gmac4.RxQOpMode), gmac4.RxQOpEHFC|field.Put(gmac4.RxQOpRFD, 3)|field.Put(gmac4.RxQOpRFA, 1))
	r.write(gmac4.TxFlow(0), gmac4.TxFlowTFE|field.Put(gmac4.TxFlowPT, 0x1234))
	for range 2 {
		r.m.Deliver(frame(ownAddr, 1000))
	}
	require.Empty(t, r.sent)
	r.m.Deliver(frame(ownAddr, 1000)) // 3048 > 4096 - 1536
	require.Len(t, r.sent, 1)
	require.Equal(t, dwmac.PauseAddr[:], r.sent[0][:6])
	require.Equal(t, ownAddr[:], r.sent[0][6:12])
	require.Equal(t, []byte{0x88, 0x08, 0, 1, 0x12, 0x34}, r.sent[0][12:18])
	r.post(0, 0, 7, 0)
	require.Len(t, r.sent, 2)
	require.Equal(t, []byte{0, 1, 0, 0}, r.sent[1][14:18])
	require.EqualValues(t, 2, r.read(gmac4.MMC+dwregs.MMCTxPause))
	r.set(gmac4.TxFlow(0), gmac4.TxFlowFCB)
	require.Len(t, r.sent, 3)
	require.Zero(t, r.read(gmac4.TxFlow(0))&gmac4.TxFlowFCB)
}

func TestQueuesTakeTurns(t *testing.T) {
	r := newRig(t, Config{Queues: 4})
	r.clear(gmac4.MACConfig, gmac4.ConfigTE)
	for c := range 4 {
		r.send(c, 0, frame(peerAddr, 60+c), 0, 0)
		r.send(c, 1, frame(peerAddr, 60+c), 0, 0)
	}
	r.set(gmac4.MACConfig, gmac4.ConfigTE)
	var order []int
	for _, f := range r.sent {
		order = append(order, len(f)-60)
	}
	require.Equal(t, []int{0, 1, 2, 3, 0, 1, 2, 3}, order)
}

func TestLoopback(t *testing.T) {
	r := newRig(t, Config{})
	r.post(0, 0, 7, 0)
	r.set(gmac4.MACConfig, gmac4.ConfigLM)
	f := frame(ownAddr, 80)
	r.send(0, 0, f, 0, 0)
	require.Empty(t, r.sent)
	require.Equal(t, f, r.rx[0].bytes(0, 80))
}

// TestPauseOnTheWire: a pause that ends lets go what waited, and control frames that
// end before they say anything are nothing.
func TestPauseOnTheWire(t *testing.T) {
	r := newRig(t, Config{})
	r.write(gmac4.MACRxFlow, gmac4.RxFlowRFE)
	r.post(0, 0, 7, 0)
	wire := func(f []byte) []byte { return binary.LittleEndian.AppendUint32(f, crc32.ChecksumIEEE(f)) }
	pause := func(quanta uint16) []byte {
		return binary.BigEndian.AppendUint16(append(dwmac.PauseAddr[:], 2, 0, 0, 0, 0, 9, 0x88, 8, 0, 1), quanta)
	}
	r.m.DeliverWire(wire(pause(0xffff)))
	r.send(0, 0, frame(peerAddr, 60), 0, 0)
	for pcf := range uint32(3) {
		r.write(gmac4.MACPacketFilter, field.Put(dwregs.FilterPCF, pcf))
		for n := 14; n < 18; n++ {
			r.m.DeliverWire(wire(pause(0)[:n]))
		}
	}
	require.Empty(t, r.sent)
	r.m.DeliverWire(wire(pause(0)))
	require.Len(t, r.sent, 1)
}

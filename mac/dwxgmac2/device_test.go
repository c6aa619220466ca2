package dwxgmac2_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	bussim "github.com/barewire/barewire/mac/bus/sim"
	"github.com/barewire/barewire/mac/dwxgmac2"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/xgmac2"
	"github.com/barewire/barewire/mac/sim"
	model "github.com/barewire/barewire/mac/sim/dwxgmac2"
	"github.com/barewire/barewire/mac/sim/phy"
	"github.com/barewire/barewire/ring"
)

func TestInfo(t *testing.T) {
	_, dev := open(t, model.Config{Version: 0x32, Queues: 16, RXQueues: 8, HashBins: 256, PerfectSlots: 31, AddressBits: 48, RXFIFO: 128 << 10, TXFIFO: 128 << 10}, mac.Config{})
	i := dev.Info()
	require.Equal(t, []int{16, 16, 31, 256, 48, 16342, 128 << 10, 128 << 10}, []int{i.RXQueues, i.TXQueues, i.PerfectFilters, i.HashBins, i.AddressBits, i.MaxMTU, i.RXFIFO, i.TXFIFO})
	require.True(t, i.RXChecksum && i.TXChecksum && i.TSO && i.Watchdog)
	require.Equal(t, "3.20", i.Version)
	require.Equal(t, 30, dev.Config().Coalesce.RXUsecs)

	_, dev = open(t, model.Config{Queues: 8, RXQueues: 4, NoRSS: true, TXFIFO: 4096}, mac.Config{})
	i = dev.Info()
	require.Equal(t, []int{4, 2, 3898}, []int{i.RXQueues, i.TXQueues, i.MaxMTU}, "a queue each, and room for a frame in each")
}

func TestNewRefuses(t *testing.T) {
	for version, want := range map[uint32]error{0: mac.ErrNoDevice, 0xFFFFFFFF: mac.ErrNoDevice, 0x1051: mac.ErrUnsupported, 0x2732: mac.ErrUnsupported} {
		_, err := dwxgmac2.New(&constBus{v: version})
		require.ErrorIs(t, err, want, "%#x", version)
		require.ErrorContains(t, err, "const0")
	}
}

// constBus has registers that all read the same and must not be written.
type constBus struct {
	mac.Bus
	v uint32
}

func (b *constBus) Name() string                         { return "const0" }
func (b *constBus) ClockHz() int                         { return 0 }
func (b *constBus) Registers(int) (mac.Registers, error) { return b, nil }
func (b *constBus) Read32(uint32) uint32                 { return b.v }
func (b *constBus) Write32(off, v uint32)                { panic("register written") }

// TestRegisters: what a start leaves in the registers.
func TestRegisters(t *testing.T) {
	m, dev := open(t, model.Config{Queues: 2, RXFIFO: 32 << 10, TXFIFO: 32 << 10}, mac.Config{Queues: 2, MTU: 1500, RXRing: 64, TXRing: 32})
	for off, want := range map[uint32]uint32{
		xgmac2.DMAMode:                             0,
		xgmac2.DMASysBus:                           15<<24 | 15<<16 | 1<<12 | 1<<11 | 0x1F,
		xgmac2.DMATxEDMA:                           0x3FFFFFFF,
		xgmac2.DMARxEDMA:                           0x3FFFFFFF,
		xgmac2.MTLOpMode:                           0,
		xgmac2.MACTxConfig:                         1<<16 | 1,
		xgmac2.MACRxConfig:                         1526<<16 | 1<<9 | 1<<7 | 1<<6 | 1,
		xgmac2.MACPacketFilter:                     1<<10 | 1<<4, // nobody has said which groups: all
		xgmac2.MACRxQCtrl0:                         2,            // RSS: one queue for both channels
		xgmac2.MACRxQCtrl1:                         0,
		xgmac2.MACVLANTag:                          0,
		xgmac2.RxQDMAMap(0):                        0x8080,
		xgmac2.QueueBase(0) + xgmac2.RxQOpMode:     127<<16 | 1<<7 | 1<<6 | 1<<5, // all of the FIFO
		xgmac2.QueueBase(0) + xgmac2.RxQFlow:       8<<17 | 5<<1,
		xgmac2.QueueBase(0) + xgmac2.TxQOpMode:     63<<16 | 2<<2 | 1<<1,
		xgmac2.QueueBase(1) + xgmac2.TxQOpMode:     63<<16 | 1<<8 | 2<<2 | 1<<1, // traffic class 1
		xgmac2.QueueBase(1) + xgmac2.TCETS:         2,
		xgmac2.ChanBase(1) + xgmac2.ChanControl:    1 << 16,
		xgmac2.ChanBase(1) + xgmac2.ChanTxControl:  8<<16 | 1<<12 | 1<<4 | 1,
		xgmac2.ChanBase(1) + xgmac2.ChanRxControl:  8<<16 | 1024<<1 | 1, // half of a page of 2048
		xgmac2.ChanBase(1) + xgmac2.ChanRxRingLen:  63,
		xgmac2.ChanBase(1) + xgmac2.ChanTxRingLen:  31,
		xgmac2.ChanBase(1) + xgmac2.ChanIntEnable:  0xD1C2, // NIE, AIE, FBE, RPS, RBU, RI, TPS; no TI, no TBU
		xgmac2.ChanBase(1) + xgmac2.ChanRxWatchdog: 29,     // 30 us at 250 MHz
		xgmac2.MMC + xgmac2.MMCRxIntEnable:         0,
		xgmac2.MMC + xgmac2.MMCIPCIntMask:          0xFFFFFFFF,
		xgmac2.AddrHigh(0):                         0x80000100,
		xgmac2.AddrLow(0):                          0x00000002,
	} {
		require.Equal(t, want, m.Read32(off), "%s: %#x", xgmac2.RegName(off), m.Read32(off))
	}
	require.NoError(t, dev.SetMTU(9000))
	require.EqualValues(t, 9026, field.Get(xgmac2.RxConfigGPSL, m.Read32(xgmac2.MACRxConfig)))
	require.EqualValues(t, 53<<17|35<<1, m.Read32(xgmac2.QueueBase(0)+xgmac2.RxQFlow), "thresholds follow the MTU")
	require.ErrorIs(t, dev.SetMTU(16343), mac.ErrConfig)
}

// TestContexts: a context after each frame, at once or late, is no frame and costs
// nothing but its slot.
func TestContexts(t *testing.T) {
	for _, late := range []bool{false, true} {
		m, dev := open(t, model.Config{Contexts: true, LateContexts: late}, mac.Config{RXRing: 16, PageSize: 512, MTU: 1500})
		q := dev.Queues()[0]
		n := 0
		for i := range 300 {
			m.Deliver(udp4(dev.Address(), 1000, 100+i*4, i)) // one to three pages
			for _, f := range drain(t, q) {
				require.Equal(t, udp4(dev.Address(), 1000, 100+n*4, n), f.data)
				n++
			}
		}
		require.Equal(t, 300, n)
		require.Zero(t, q.RX.Stats().Dropped())
	}
}

// TestJumbo: frames up to the largest MTU both ways, in one page and in many.
func TestJumbo(t *testing.T) {
	for _, page := range []int{512, 2048, 0} {
		m, dev := open(t, model.Config{RXFIFO: 128 << 10, TXFIFO: 128 << 10}, mac.Config{MTU: 16342, PageSize: page, RXRing: 128})
		var sent [][]byte
		m.OnTransmit(func(f []byte) { sent = append(sent, bytes.Clone(f)) })
		for _, n := range []int{60, 1514, 9014, 16342 + 14} {
			f := udp4(dev.Address(), 1000, n, n)
			m.Deliver(f)
			got := drain(t, dev.Queues()[0])
			require.Len(t, got, 1)
			require.True(t, bytes.Equal(f, got[0].data), "%d bytes", n)
			tx := dev.Queues()[0].LockTX()
			copy(tx.Reserve(n), f)
			tx.Commit(ring.TXFrame{})
			dev.Queues()[0].FlushTX()
			dev.Queues()[0].UnlockTX()
			require.True(t, bytes.Equal(f, sent[len(sent)-1]), "%d bytes", n)
		}
	}
}

// TestTSO: the context with the MSS, headers apart from the payload, segments with
// right sums.
func TestTSO(t *testing.T) {
	m, dev := open(t, model.Config{}, mac.Config{MTU: 1500})
	var sent [][]byte
	m.OnTransmit(func(f []byte) { sent = append(sent, bytes.Clone(f)) })
	f := tcp4(60_000)
	for _, mss := range []uint16{1448, 1448, 536} {
		sent = nil
		q := dev.Queues()[0]
		tx := q.LockTX()
		copy(tx.Reserve(len(f)), f)
		tx.Commit(ring.TXFrame{MSS: mss, HeaderLen: 54, L4HeaderLen: 20})
		q.FlushTX()
		q.UnlockTX()
		var payload []byte
		for _, s := range sent {
			require.LessOrEqual(t, len(s), 54+int(mss))
			payload = append(payload, s[54:]...)
			to := dev.Address()
			m.Deliver(append(to[:], s[6:]...))
			got := drain(t, q)
			require.Len(t, got, 1)
			require.Equal(t, ring.ChecksumGood, got[0].flags, "the receive engine agrees")
		}
		require.True(t, bytes.Equal(f[54:], payload))
	}
	require.EqualValues(t, 2, m.Stats().MSSContexts, "one for each change")
	require.EqualValues(t, 3, m.Stats().TSOFrames)
}

// tcp4 is a segment with n bytes of payload, its sums left out.
func tcp4(n int) []byte {
	f := make([]byte, 54+n)
	copy(f, []byte{2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 2, 8, 0, 0x45})
	binary.BigEndian.PutUint16(f[16:], uint16(40+n))
	f[22], f[23] = 64, 6
	copy(f[26:], []byte{10, 0, 0, 2, 10, 0, 0, 1})
	f[46] = 5 << 4
	for i := range n {
		f[54+i] = byte(i * 7)
	}
	return f
}

// TestPHYAccess: both clauses of MDIO, and what a version cannot reach.
func TestPHYAccess(t *testing.T) {
	m, dev := open(t, model.Config{Version: 0x21, PHYAddress: 3, PHY: phy.Config{ID: 0x12345678}}, mac.Config{})
	bus := dev.MDIO()
	id, err := bus.Read(3, 2)
	require.NoError(t, err)
	require.EqualValues(t, 0x1234, id)
	require.NoError(t, bus.Write(3, 4, 0x0d41))
	v, err := bus.Read(3, 4)
	require.NoError(t, err)
	require.EqualValues(t, 0x0d41, v)
	require.NoError(t, bus.Write45(3, 7, 32, 0x1000))
	v, err = bus.Read45(3, 7, 32)
	require.NoError(t, err)
	require.EqualValues(t, 0x1000, v)
	require.EqualValues(t, 7<<21|3<<16|32, m.Read32(xgmac2.MACMDIOAddr))
	v, err = bus.Read(2, 2)
	require.NoError(t, err)
	require.EqualValues(t, 0xffff, v, "nobody there")
	_, err = bus.Read(4, 2)
	require.ErrorIs(t, err, mac.ErrUnsupported, "clause 22 reaches four PHYs in this version")
	_, err = bus.Read45(4, 1, 2)
	require.NoError(t, err)
	_, err = bus.Read(32, 0)
	require.ErrorIs(t, err, mac.ErrConfig)
	m.MDIO().Break(errors.New("broken"))
	_, err = bus.Read(3, 2)
	require.ErrorContains(t, err, "still busy")
	m.MDIO().Break(nil)

	_, dev = open(t, model.Config{Version: 0x22, PHYAddress: 31}, mac.Config{})
	_, err = dev.MDIO().Read(31, 2)
	require.NoError(t, err)
}

// TestLinkSpeeds: speeds of a version that knows no slow ones, and none with half
// duplex.
func TestLinkSpeeds(t *testing.T) {
	m := model.New(model.Config{Inline: true, Version: 0x21})
	bus := bussim.New(m, nil)
	defer bus.Close()
	core, err := dwxgmac2.New(bus)
	require.NoError(t, err)
	require.NoError(t, core.Reset(context.Background()))
	require.NoError(t, core.Configure(mac.Setup{RXQueues: 1, TXQueues: 1, MTU: 1500, Address: mac.HardwareAddr{2}, BufferSize: 2048}))
	for _, speed := range []int{1000, 2500, 5000, 10_000} {
		require.NoError(t, core.SetLink(mac.Link{Up: true, Speed: speed, FullDuplex: true}))
	}
	require.ErrorIs(t, core.SetLink(mac.Link{Up: true, Speed: 100, FullDuplex: true}), mac.ErrUnsupported)
	require.ErrorIs(t, core.SetLink(mac.Link{Up: true, Speed: 1000}), mac.ErrUnsupported)
	require.ErrorIs(t, core.Start(), mac.ErrConfig, "no rings")
	_, known := core.Link()
	require.False(t, known)
}

// TestStopOrder: each queue is stopped and drained, and only then the transmitter,
// which is one for all; the receiver goes before what is behind it. Nothing is left on.
func TestStopOrder(t *testing.T) {
	m := model.New(model.Config{Inline: true, Queues: 4})
	bus := bussim.New(m, nil)
	dev, err := dwxgmac2.Open(context.Background(), bus, &mac.Config{Queues: 4, Link: mac.Link{Up: true, Speed: 1000, FullDuplex: true}})
	require.NoError(t, err)
	require.NoError(t, dev.Start())
	bus.Trace().Log(1 << 16)
	require.NoError(t, dev.Close())
	at := map[string]int{}
	for i, e := range bus.Trace().Events() {
		if e.Kind == sim.RegisterWrite {
			at[e.Name] = i // the last write
		}
	}
	order := []string{"DMA_CH0_TxControl", "DMA_CH3_TxControl", "MTL_Q0_TxQOpMode", "MTL_Q3_TxQOpMode", "MAC_TxConfig", "MAC_RxConfig", "MAC_RxQCtrl0", "DMA_CH0_RxControl", "DMA_CH3_RxControl"}
	for i := 1; i < len(order); i++ {
		require.Positive(t, at[order[i]], order[i])
		require.Less(t, at[order[i-1]], at[order[i]], "%s before %s", order[i-1], order[i])
	}

	// A core that somebody else has left running is stopped in the same way.
	m = model.New(model.Config{Inline: true, Queues: 2})
	defer m.Close()
	m.Connect(sim.NewSpace(nil), func(bool) {})
	on := []struct{ off, bits uint32 }{
		{xgmac2.MACTxConfig, xgmac2.TxConfigTE}, {xgmac2.MACRxConfig, xgmac2.RxConfigRE}, {xgmac2.MACRxQCtrl0, 0xA},
		{xgmac2.QueueBase(1) + xgmac2.TxQOpMode, 2 << 2}, {xgmac2.QueueBase(1) + xgmac2.QIntEnable, xgmac2.QIntRXOVF},
		{xgmac2.ChanBase(1) + xgmac2.ChanIntEnable, 0xFFFF}, {xgmac2.MACIntEnable, 0x30},
		{xgmac2.ChanBase(1) + xgmac2.ChanTxControl, xgmac2.TxControlST}, {xgmac2.ChanBase(1) + xgmac2.ChanRxControl, xgmac2.RxControlSR},
	}
	for _, r := range on {
		m.Write32(r.off, r.bits)
	}
	core, err := dwxgmac2.New(&plainBus{regs: m})
	require.NoError(t, err)
	require.NoError(t, core.Stop())
	for _, r := range on {
		require.Zero(t, m.Read32(r.off)&r.bits, xgmac2.RegName(r.off))
	}
}

// plainBus has registers and nothing else.
type plainBus struct {
	mac.Bus
	regs mac.Registers
}

func (b *plainBus) Name() string                         { return "plain0" }
func (b *plainBus) ClockHz() int                         { return 0 }
func (b *plainBus) Registers(int) (mac.Registers, error) { return b.regs, nil }

// TestWideCounters: a count that has passed 32 bits is read whole.
func TestWideCounters(t *testing.T) {
	m, dev := open(t, model.Config{}, mac.Config{})
	before := dev.Snapshot().Hardware
	m.Write32(xgmac2.MMC+xgmac2.MMCControl, dwregs.MMCResetOnRead|dwregs.MMCPreset|dwregs.MMCPresetFull)
	m.Deliver(udp4(dev.Address(), 1, 1000, 1))
	drain(t, dev.Queues()[0])
	after := dev.Snapshot().Hardware
	require.Equal(t, uint64(0xfffffff0+1004), after.RXOctets-before.RXOctets)
	require.Equal(t, uint64(0xfffffff1), after.RXFrames-before.RXFrames)
	require.Equal(t, uint64(0xfffffff0), after.RXRunt-before.RXRunt, "32 bits wide")
	require.Equal(t, after, dev.Snapshot().Hardware, "reading changes nothing")
}

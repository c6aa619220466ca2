package dwmac1000

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac3"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
	"github.com/barewire/barewire/mac/sim/internal/offload"
)

func TestTransmit(t *testing.T) {
	each(t, func(t *testing.T, cfg Config, chained bool) {
		r := newRig(t, cfg, chained)
		r.write(gmac3.DMAIntEnable, gmac3.IntNIS|gmac3.IntTI)
		slot := 0
		for n := 40; n < 1500; n += 97 {
			f := ether(peerAddr, n)
			r.put(slot, f, whole)
			require.Empty(t, r.sent, "nothing without a poll demand")
			r.poll()
			want := append(f, make([]byte, max(0, 60-n))...)
			require.Equal(t, [][]byte{want}, r.sent)
			require.False(t, r.tx.own(slot))
			require.True(t, r.level)
			r.write(gmac3.DMAStatus, gmac3.IntTI|gmac3.IntNIS)
			require.NotZero(t, r.status()&gmac3.IntTU, "idle again")
			r.sent, slot = nil, (slot+1)%slots
		}
		require.Empty(t, r.m.Violations().List())
	})
}

// TestPieces: a frame over several descriptors, one of them with two buffers.
func TestPieces(t *testing.T) {
	each(t, func(t *testing.T, cfg Config, chained bool) {
		r := newRig(t, cfg, chained)
		f := ether(peerAddr, 1200)
		r.put(0, f[:400], txFlags{first: true})
		r.put(1, f[400:800], txFlags{})
		r.put(2, f[800:], txFlags{last: true})
		r.poll()
		require.Equal(t, [][]byte{f}, r.sent)
		require.False(t, r.tx.own(0) || r.tx.own(1) || r.tx.own(2))
		if chained {
			return
		}
		r.sent = nil
		r.put(3, f[:400], txFlags{first: true, last: true})
		second := uint32(800) << 16
		if cfg.NormalDescriptors {
			second = 800 << 11
		}
		copy(r.tx.bytes(5, 800), f[400:])
		d := r.tx.desc(3)
		d[1], d[3] = d[1]|second, r.tx.addr(5)
		r.poll()
		require.Equal(t, [][]byte{f}, r.sent)
	})
}

func TestChecksumInsertion(t *testing.T) {
	each(t, func(t *testing.T, cfg Config, chained bool) {
		r := newRig(t, cfg, chained)
		f := tcp(300)
		bare := append([]byte(nil), f...)
		bare[24], bare[25], bare[50], bare[51] = 1, 2, 3, 4
		r.put(0, bare, txFlags{first: true, last: true, cic: gmac3.CICFull})
		r.put(1, bare, txFlags{first: true, last: true})
		r.put(2, ether(peerAddr, 100), txFlags{first: true, last: true, cic: gmac3.CICFull})
		r.poll()
		require.Equal(t, f, r.sent[0])
		require.True(t, offload.Check(r.sent[0]).Good())
		require.Equal(t, bare, r.sent[1])
		const errors = gmac3.TDES0IHE | gmac3.TDES0ES
		require.EqualValues(t, errors, r.tx.desc(2)[0]&errors, "no IP")
		require.EqualValues(t, 2, r.m.Stats().Checksums)
	})
	t.Run("violations", func(t *testing.T) {
		r := newRig(t, Config{TXFIFO: 512}, false)
		r.put(0, tcp(500), txFlags{first: true, last: true, cic: gmac3.CICFull})
		r.poll()
		require.Len(t, r.sent, 1, "sent all the same")
		require.Equal(t, 1, r.m.Violations().Count(), "a frame that the FIFO does not hold")
		r.clear(gmac3.DMAOpMode, gmac3.OpST)
		r.clear(gmac3.DMAOpMode, gmac3.OpTSF)
		r.set(gmac3.DMAOpMode, gmac3.OpST)
		r.put(1, tcp(10), txFlags{first: true, last: true, cic: gmac3.CICFull})
		r.poll()
		require.Equal(t, 2, r.m.Violations().Count(), "cut through")
		r.set(gmac3.DMAOpMode, gmac3.OpTSF)
		require.Equal(t, 3, r.m.Violations().Count(), "changed while it runs")
	})
}

// TestDriverMistakes are kept as violations.
func TestDriverMistakes(t *testing.T) {
	r := newRig(t, Config{}, false)
	for what, f := range map[string]func(){
		"list":     func() { r.start(); r.write(gmac3.DMATxList, 0x1000); r.write(gmac3.DMARxList, 0x1000) },
		"speed":    func() { r.start(); r.set(gmac3.MACConfig, gmac3.ConfigPS) },
		"no first": func() { r.start(); r.put(0, ether(peerAddr, 60), txFlags{last: true}); r.poll() },
		"two firsts": func() {
			r.start()
			r.put(0, ether(peerAddr, 60), txFlags{first: true})
			r.put(1, ether(peerAddr, 60), whole)
			r.poll()
		},
		"MDIO": func() { r.write(gmac3.MACMIIAddr, 1); r.write(gmac3.MACMIIAddr, 1); r.read(gmac3.MACMIIAddr) },
	} {
		before := r.m.Violations().Count()
		f()
		require.Greater(t, r.m.Violations().Count(), before, what)
		r.write(gmac3.DMABusMode, gmac3.BusSWR)
		r.write(gmac3.DMABusMode, gmac3.BusATDS)
	}
}

// TestStuckOwn: a descriptor that is never given back is sent once.
func TestStuckOwn(t *testing.T) {
	r := newRig(t, Config{}, false)
	r.m.Faults().Once(sim.StuckOwn)
	for i := range slots {
		r.put(i, ether(peerAddr, 60+i), whole)
	}
	r.poll()
	require.Len(t, r.sent, slots)
	require.True(t, r.tx.own(0))
	r.poll()
	require.Len(t, r.sent, slots)
}

// TestStopAndStart: the position survives, the address brings it back.
func TestStopAndStart(t *testing.T) {
	each(t, func(t *testing.T, cfg Config, chained bool) {
		r := newRig(t, cfg, chained)
		for i := range 3 {
			r.put(i, ether(peerAddr, 60), whole)
		}
		r.poll()
		r.clear(gmac3.DMAOpMode, gmac3.OpST|gmac3.OpSR)
		require.NotZero(t, r.status()&gmac3.IntTPS)
		require.NotZero(t, r.status()&gmac3.IntRPS)
		require.Zero(t, r.read(gmac3.DMAStatus)&(gmac3.StatusRS|gmac3.StatusTS))
		r.put(3, ether(peerAddr, 61), whole)
		r.poll()
		require.Len(t, r.sent, 3)
		r.set(gmac3.DMAOpMode, gmac3.OpST)
		require.Len(t, r.sent, 4, "it goes on where it was")
		r.clear(gmac3.DMAOpMode, gmac3.OpST)
		r.write(gmac3.DMATxList, uint32(r.tx.mem.DeviceAddr()))
		r.put(0, ether(peerAddr, 62), whole)
		r.set(gmac3.DMAOpMode, gmac3.OpST)
		require.Len(t, r.sent, 5)
	})
}

func TestOverwrites(t *testing.T) {
	for _, chained := range []bool{false, true} {
		r := newRig(t, Config{Overwrites: true, JunkLengths: true}, chained)
		r.put(0, ether(peerAddr, 60), whole)
		r.poll()
		d := r.tx.desc(0)
		require.Zero(t, d[0]&(gmac3.TDES0OWN|gmac3.ETDES0FS|gmac3.ETDES0LS))
		r.post(1536, 0, 0)
		r.m.Deliver(ether(ownAddr, 60))
		if e := r.rx.desc(0); chained {
			require.NotEqual(t, r.tx.addr(0), d[2])
			require.NotEqual(t, r.rx.addr(0), e[2])
		} else {
			require.NotZero(t, d[6]|d[7])
			require.NotZero(t, e[6]|e[7])
			require.Equal(t, r.rx.addr(0), e[2])
		}
		require.NotZero(t, r.rx.desc(0)[1]&0x1FFF, "control of receive stays")
	}
}

func TestPause(t *testing.T) {
	r := newRig(t, Config{RXFIFO: 8192}, false)
	pause := make([]byte, 60)
	copy(pause, []byte{1, 0x80, 0xc2, 0, 0, 1})
	binary.BigEndian.PutUint32(pause[12:], 0x88080001)
	binary.BigEndian.PutUint16(pause[16:], 0x100)
	r.m.Deliver(pause)
	r.put(0, ether(peerAddr, 60), whole)
	r.poll()
	require.Len(t, r.sent, 1, "not agreed on")
	r.write(gmac3.MACFlow, gmac3.FlowRFE)
	r.m.Deliver(pause)
	r.put(1, ether(peerAddr, 60), whole)
	r.poll()
	require.Len(t, r.sent, 1)
	require.NotZero(t, r.read(gmac3.MACDebug)&gmac3.DebugTPAU)
	r.clock.Advance(132 * time.Microsecond) // 256 * 512 ns = 131.072 us
	require.Len(t, r.sent, 2)
	require.EqualValues(t, 2, r.read(mmc(dwregs.MMCRxPause)))

	r.sent = nil
	r.write(gmac3.MACFlow, gmac3.FlowTFE|0x1234<<16)
	r.set(gmac3.DMAOpMode, gmac3.OpEFC|1<<9|2<<11) // from 6 KiB, until 5 KiB
	for range 5 {
		r.m.Deliver(ether(ownAddr, 1500))
	}
	require.Len(t, r.sent, 1)
	require.True(t, bytes.HasPrefix(r.sent[0][12:], []byte{0x88, 8, 0, 1, 0x12, 0x34}))
	r.post(1536, 0, 0, 1, 2, 3, 4)
	require.Len(t, r.sent, 2)
	require.True(t, bytes.HasPrefix(r.sent[1][12:], []byte{0x88, 8, 0, 1, 0, 0}), "the pause ends")
	require.EqualValues(t, 2, r.read(mmc(dwregs.MMCTxPause)))
	r.set(gmac3.MACFlow, gmac3.FlowFCB)
	require.Len(t, r.sent, 3, "by hand")
	require.Zero(t, r.read(gmac3.MACFlow)&gmac3.FlowFCB)
}

func TestResets(t *testing.T) {
	r := newRig(t, Config{SlowReset: time.Millisecond}, false)
	r.m.Faults().Once(sim.SlowReset)
	r.write(gmac3.DMABusMode, gmac3.BusSWR)
	require.NotZero(t, r.read(gmac3.DMABusMode)&gmac3.BusSWR)
	r.write(gmac3.MACConfig, gmac3.ConfigTE)
	require.Zero(t, r.read(gmac3.MACConfig), "in reset")
	r.clock.Advance(time.Millisecond)
	require.Equal(t, uint32(0x20100), r.read(gmac3.DMABusMode))
	require.Equal(t, []uint32{0x8000FFFF, 0xFFFFFFFF}, []uint32{r.read(gmac3.AddrHigh(0)), r.read(gmac3.AddrLow(0))})
	r.m.Faults().Once(sim.DeadReset)
	r.write(gmac3.DMABusMode, gmac3.BusSWR)
	r.clock.Advance(time.Hour)
	require.NotZero(t, r.read(gmac3.DMABusMode)&gmac3.BusSWR)
	r.write(gmac3.DMABusMode, gmac3.BusSWR)
	require.Zero(t, r.read(gmac3.DMABusMode)&gmac3.BusSWR)
}

func TestLinkAndMDIO(t *testing.T) {
	r := newRig(t, Config{InBandLink: true}, false)
	r.write(gmac3.MACIntMask, 0x60F)
	r.m.SetLink(mac.Link{})
	require.False(t, r.level, "masked")
	r.write(gmac3.MACIntMask, 0x60E)
	require.True(t, r.level)
	require.NotZero(t, r.read(gmac3.DMAStatus)&gmac3.StatusGLI)
	r.write(gmac3.DMAStatus, ^uint32(0))
	require.True(t, r.level, "not cleared there")
	require.Zero(t, r.read(gmac3.MACRGSMII))
	require.False(t, r.level, "but here")
	r.m.SetLink(mac.Link{Up: true, Speed: 100, FullDuplex: true})
	require.EqualValues(t, dwregs.InBandLink|1<<1|dwregs.InBandDuplex, r.read(gmac3.MACRGSMII))

	r.write(gmac3.MACMIIData, 0)
	r.write(gmac3.MACMIIAddr, 1<<11|2<<6|1)
	require.NotZero(t, r.read(gmac3.MACMIIAddr)&gmac3.MIIGB)
	require.Zero(t, r.read(gmac3.MACMIIAddr)&gmac3.MIIGB)
	require.EqualValues(t, r.m.PHY().Read(2), r.read(gmac3.MACMIIData))
}

func TestFeatures(t *testing.T) {
	require.Zero(t, New(Config{NoFeatures: true}).Read32(gmac3.DMAFeature))
	m := New(Config{Version: 0x32, NormalDescriptors: true, NoMMC: true, NoTXChecksum: true, RXChecksum: -1, HashBins: -1, PerfectSlots: -1})
	require.Equal(t, gmac3.FeatMII|gmac3.FeatGMII|gmac3.FeatHD|gmac3.FeatSMA|gmac3.FeatRxFIFO|1<<28, m.Read32(gmac3.DMAFeature))
	require.Equal(t, []string{"snps,dwmac-3.20a", "snps,dwmac"}, m.Compatible())
	m.Write32(gmac3.DMABusMode, gmac3.BusATDS)
	require.Zero(t, m.Read32(gmac3.DMABusMode), "no extended descriptors")
	m.Write32(gmac3.MACDebug, 1)
	m.Write32(gmac3.MACVersion, 1)
	require.Equal(t, uint32(0x1032), m.Read32(gmac3.MACVersion))
	require.Zero(t, m.Read32(gmac3.WindowSize))
	m.Write32(3, 1)
	require.NoError(t, m.Close())
}

// TestWorkers: with goroutines of its own the model does the same.
func TestWorkers(t *testing.T) {
	space := sim.NewSpace(nil)
	m := New(Config{})
	got := make(chan []byte, 1)
	m.OnTransmit(func(f []byte) { got <- bytes.Clone(f) })
	m.Connect(space, func(bool) {})
	r := &rig{T: t, m: m, space: space}
	m.Write32(gmac3.DMABusMode, gmac3.BusATDS|8<<8)
	r.rx, r.tx = r.ring(8, false), r.ring(8, false)
	r.start()
	for i := range 20 {
		f := ether(peerAddr, 60+i)
		r.put(i%slots, f, whole)
		r.poll()
		require.Equal(t, f, <-got)
		r.post(1536, 0, i%slots)
		m.Deliver(ether(ownAddr, 60+i))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		for (r.rx.own(i%slots) || r.tx.own(i%slots)) && ctx.Err() == nil {
			m.Quiesce()
		}
		cancel()
		require.False(t, r.rx.own(i%slots))
	}
	require.NoError(t, m.Close())
}

// TestPauseOnTheWire: a pause that ends lets go what waited, and control frames that
// end before they say anything are nothing.
func TestPauseOnTheWire(t *testing.T) {
	r := newRig(t, Config{}, false)
	r.write(gmac3.MACFlow, gmac3.FlowRFE)
	wire := func(f []byte) []byte { return binary.LittleEndian.AppendUint32(f, crc32.ChecksumIEEE(f)) }
	pause := func(quanta uint16) []byte {
		return binary.BigEndian.AppendUint16(append(dwmac.PauseAddr[:], 2, 0, 0, 0, 0, 9, 0x88, 8, 0, 1), quanta)
	}
	r.m.DeliverWire(wire(pause(0xffff)))
	r.put(0, ether(peerAddr, 60), whole)
	r.poll()
	for pcf := range uint32(3) {
		r.write(gmac3.MACFilter, field.Put(dwregs.FilterPCF, pcf))
		for n := 14; n < 18; n++ {
			r.m.DeliverWire(wire(pause(0)[:n]))
		}
	}
	require.Empty(t, r.sent)
	r.m.DeliverWire(wire(pause(0)))
	require.Len(t, r.sent, 1)
}

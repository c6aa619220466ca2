package dwmac1000

import (
	"encoding/binary"
	"hash/crc32"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/gmac3"
	"github.com/barewire/barewire/mac/sim"
)

const statusWhole = gmac3.RDES0FS | gmac3.RDES0LS | gmac3.RDES0FT

func TestReceive(t *testing.T) {
	each(t, func(t *testing.T, cfg Config, chained bool) {
		r := newRig(t, cfg, chained)
		r.write(gmac3.DMAIntEnable, gmac3.IntNIS|gmac3.IntRI)
		for lap := range 3 {
			r.post(1536, 0, 0, 1, 2, 3, 4, 5, 6, 7)
			for i := range slots {
				f := ether(ownAddr, 60+100*i+lap)
				r.m.Deliver(f)
				require.False(t, r.rx.own(i))
				d := r.rx.desc(i)
				require.Equal(t, statusWhole|uint32(len(f)+4)<<16, d[0], "slot %d: %#x", i, d[0])
				require.Equal(t, f, r.rx.bytes(i, len(f)))
				require.Equal(t, crc32.ChecksumIEEE(f), binary.LittleEndian.Uint32(r.rx.bytes(i, len(f)+4)[len(f):]))
				require.True(t, r.level)
				require.Equal(t, gmac3.IntNIS|gmac3.IntRI, r.status()&(gmac3.IntNIS|gmac3.IntRI))
				r.write(gmac3.DMAStatus, gmac3.IntNIS|gmac3.IntRI)
				require.False(t, r.level)
			}
			require.NotZero(t, r.status()&gmac3.IntRU, "no descriptor left")
			r.write(gmac3.DMAStatus, gmac3.IntAll)
		}
		require.Empty(t, r.m.Violations().List())
	})
}

// TestSuspended: with no descriptor frames wait in the FIFO, RU comes once, and a
// poll demand or, on most cores, the next frame goes on.
func TestSuspended(t *testing.T) {
	for _, stays := range []bool{false, true} {
		r := newRig(t, Config{StaysSuspended: stays}, false)
		r.post(1536, 0, 0)
		r.m.Deliver(ether(ownAddr, 60))
		require.NotZero(t, r.status()&gmac3.IntRU)
		r.write(gmac3.DMAStatus, gmac3.IntRU)
		r.m.Deliver(ether(ownAddr, 61))
		r.write(gmac3.DMARxPoll, 1)
		require.Zero(t, r.status()&gmac3.IntRU, "not again")
		require.EqualValues(t, gmac3.RxStateSuspended, r.read(gmac3.DMAStatus)>>17&7)
		require.EqualValues(t, 1, r.read(gmac3.MACDebug)>>8&3, "a frame waits")

		d := r.rx.desc(1)
		d[1], d[2] = 1536, r.rx.addr(1)
		d[0] = gmac3.RDES0OWN
		r.m.Deliver(ether(ownAddr, 62))
		require.Equal(t, stays, r.rx.own(1), "without a poll demand")
		r.post(1536, 0, 2)
		require.Equal(t, ether(ownAddr, 61), r.rx.bytes(1, 61))
		require.Equal(t, ether(ownAddr, 62), r.rx.bytes(2, 62))
	}
}

// TestSeveralDescriptors: a frame over several buffers, with the second buffer of a
// descriptor too.
func TestSeveralDescriptors(t *testing.T) {
	each(t, func(t *testing.T, cfg Config, chained bool) {
		r := newRig(t, cfg, chained)
		f := ether(ownAddr, 1000)
		r.post(256, 0, 0, 1, 2, 3, 4)
		r.m.Deliver(f)
		require.Equal(t, gmac3.RDES0FS|256<<16, r.rx.desc(0)[0])
		require.Equal(t, uint32(768<<16), r.rx.desc(2)[0])
		require.Equal(t, gmac3.RDES0LS|gmac3.RDES0FT|1004<<16, r.rx.desc(3)[0])
		var got []byte
		for i := range 4 {
			got = append(got, r.rx.bytes(i, 256)...)
		}
		require.Equal(t, f, got[:1000])
		require.True(t, r.rx.own(4))
		if chained {
			return
		}
		r.set(gmac3.DMAOpMode, 0)
		second := uint32(256) << 16
		if cfg.NormalDescriptors {
			second = 256 << 11
		}
		d := r.rx.desc(4)
		d[1], d[3] = d[1]|second, r.rx.addr(5)
		r.clear(gmac3.DMAOpMode, gmac3.OpSR) // it has been fetched
		r.set(gmac3.DMAOpMode, gmac3.OpSR)
		f = ether(ownAddr, 400)
		r.m.Deliver(f)
		require.Equal(t, statusWhole|404<<16, r.rx.desc(4)[0])
		require.Equal(t, f[:256], r.rx.bytes(4, 256))
		require.Equal(t, f[256:], r.rx.bytes(5, 144))
	})
}

// TestTorn: a frame for which descriptors run out waits, or, without DFF, ends.
func TestTorn(t *testing.T) {
	r := newRig(t, Config{}, false)
	f := ether(ownAddr, 1000)
	r.post(256, 0, 0, 1)
	r.m.Deliver(f)
	require.False(t, r.rx.own(1))
	require.Zero(t, r.rx.desc(1)[0]&gmac3.RDES0LS)
	r.post(256, 0, 2, 3)
	require.NotZero(t, r.rx.desc(3)[0]&gmac3.RDES0LS, "it goes on")

	r.clear(gmac3.DMAOpMode, gmac3.OpDFF)
	r.post(256, 0, 4, 5)
	r.m.Deliver(f)
	require.Equal(t, gmac3.RDES0LS|gmac3.RDES0DE|gmac3.RDES0ES|512<<16, r.rx.desc(5)[0])
	r.m.Deliver(f)
	require.EqualValues(t, 1, r.read(gmac3.DMAMissed), "flushed")
	require.Zero(t, r.read(gmac3.DMAMissed))
}

func TestWatchdog(t *testing.T) {
	r := newRig(t, Config{}, false)
	r.write(gmac3.DMAWatchdog, 0xA0)
	r.post(1536, gmac3.RDES1DIC, 0, 1, 2, 3)
	r.m.Deliver(ether(ownAddr, 60))
	r.clock.Advance(300 * time.Microsecond)
	r.m.Deliver(ether(ownAddr, 60)) // does not start it again
	require.Zero(t, r.status()&gmac3.IntRI)
	r.clock.Advance(27 * time.Microsecond)
	require.Zero(t, r.status()&gmac3.IntRI)
	r.clock.Advance(time.Microsecond) // 0xA0 * 256 / 125 MHz = 327.68 us
	require.NotZero(t, r.status()&gmac3.IntRI)
	r.write(gmac3.DMAStatus, gmac3.IntRI)
	r.m.Deliver(ether(ownAddr, 60))
	r.post(1536, 0, 4)
	r.m.Deliver(ether(ownAddr, 60))
	require.Zero(t, r.status()&gmac3.IntRI)
	r.m.Deliver(ether(ownAddr, 60)) // slot 4 wants an interrupt at once
	require.NotZero(t, r.status()&gmac3.IntRI)
	require.Equal(t, []uint64{1, 1}, []uint64{r.m.Stats().Watchdog, r.m.Stats().RI})

	old := newRig(t, Config{Version: 0x34}, false)
	old.write(gmac3.DMAWatchdog, 0xA0)
	require.Zero(t, old.read(gmac3.DMAWatchdog), "none before 3.50")
}

func TestChecksumStatus(t *testing.T) {
	good := tcp(100)
	udpNone := append([]byte(nil), good...)
	udpNone[23] = 47 // GRE: a payload that nobody knows
	binary.BigEndian.PutUint16(udpNone[24:], 0)
	binary.BigEndian.PutUint16(udpNone[24:], ipSum(udpNone[14:34]))
	for _, c := range []struct {
		name            string
		f               []byte
		short, extended uint32
	}{
		{"good", good, gmac3.RDES0FT, 0x42},
		{"payload", flip(good, 60), gmac3.RDES0FT | 1, 0x52},
		{"header", flip(good, 22), gmac3.RDES0FT | 0x80, 0x48},
		{"other payload", udpNone, 1, 0x40},
		{"not IP", ether(ownAddr, 100), 0x81, 0x20},
		{"length", func() []byte { f := ether(ownAddr, 100); f[12], f[13] = 0, 86; return f }(), 0, 0x20},
	} {
		each(t, func(t *testing.T, cfg Config, chained bool) {
			r := newRig(t, cfg, chained)
			r.set(gmac3.MACConfig, gmac3.ConfigIPC)
			r.post(1536, 0, 0)
			r.m.Deliver(c.f)
			d := r.rx.desc(0)
			const mask = gmac3.RDES0FT | gmac3.RDES0Header | gmac3.RDES0Payload
			if r.rx.words == 4 {
				require.Equal(t, c.short, d[0]&mask, c.name)
				return
			}
			require.NotZero(t, d[0]&gmac3.RDES0Payload, "word 4 is valid")
			require.Equal(t, c.extended, d[4]&0xFF, c.name)
		})
	}
	t.Run("vouches for all", func(t *testing.T) {
		r := newRig(t, Config{VouchesForAll: true}, true)
		r.set(gmac3.MACConfig, gmac3.ConfigIPC)
		r.post(1536, 0, 0, 1, 2, 3)
		for _, f := range [][]byte{ether(ownAddr, 100), udpNone, flip(good, 60), flip(good, 22)} {
			r.m.Deliver(f)
		}
		for i, want := range []uint32{gmac3.RDES0FT, gmac3.RDES0FT, gmac3.RDES0FT | 1, gmac3.RDES0FT | 0x80} {
			require.Equal(t, want, r.rx.desc(i)[0]&0xA1, "errors are told all the same")
		}
	})
	t.Run("type 1", func(t *testing.T) {
		r := newRig(t, Config{RXChecksum: 1, Version: 0x34}, false)
		r.set(gmac3.MACConfig, gmac3.ConfigIPC)
		r.post(1536, 0, 0)
		r.m.Deliver(good)
		require.EqualValues(t, len(good)+6, r.rx.desc(0)[0]>>16&0x3FFF, "two bytes more")
		require.NotZero(t, r.read(gmac3.DMAFeature)&gmac3.FeatRxCOE1)
	})
	t.Run("none", func(t *testing.T) {
		r := newRig(t, Config{RXChecksum: -1}, false)
		r.set(gmac3.MACConfig, gmac3.ConfigIPC)
		require.Zero(t, r.read(gmac3.MACConfig)&gmac3.ConfigIPC)
	})
	t.Run("dropped in the FIFO", func(t *testing.T) {
		r := newRig(t, Config{}, false)
		r.set(gmac3.MACConfig, gmac3.ConfigIPC)
		r.clear(gmac3.DMAOpMode, gmac3.OpDT)
		r.post(1536, 0, 0)
		r.m.Deliver(flip(good, 60))
		require.True(t, r.rx.own(0))
		require.EqualValues(t, 1, r.read(mmc(dwregs.MMCRxTCPErr)))
	})
}

func ipSum(b []byte) uint16 {
	s := uint32(0)
	for i := 0; i < len(b); i += 2 {
		s += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for s>>16 != 0 {
		s = s>>16 + s&0xFFFF
	}
	return ^uint16(s)
}

// TestLengths: giants, the watchdog, stripping and runts.
func TestLengths(t *testing.T) {
	r := newRig(t, Config{}, false)
	r.set(gmac3.DMAOpMode, gmac3.OpFEF)
	status := func(n int) uint32 {
		i := int(r.m.Stats().RX) % slots
		d := r.rx.desc(i)
		_, end := r.rx.link(i, 0, gmac3.ERDES1RER)
		d[1], d[2], d[3] = 8184<<16|8184|end, r.rx.addr(0), r.rx.addr(0)
		atomic.StoreUint32(&d[0], gmac3.RDES0OWN)
		r.write(gmac3.DMARxPoll, 1)
		r.m.Deliver(ether(ownAddr, n))
		return d[0]
	}
	require.Zero(t, status(1514)&gmac3.RDES0ES)
	require.NotZero(t, status(1515)&gmac3.RDES0ES, "a giant")
	r.set(gmac3.MACConfig, gmac3.Config2K)
	require.Zero(t, status(1996)&gmac3.RDES0ES)
	require.NotZero(t, status(1997)&gmac3.RDES0ES)
	require.NotZero(t, status(3000)&gmac3.RDES0RWT, "cut by the watchdog")
	r.set(gmac3.MACConfig, gmac3.ConfigJE)
	require.Zero(t, status(9014)&gmac3.RDES0ES)
	require.NotZero(t, status(9015)&gmac3.RDES0ES)
	require.EqualValues(t, 3, r.read(mmc(dwregs.MMCRxOversize)))
	require.EqualValues(t, 1, r.read(mmc(dwregs.MMCRxWatchdog)))

	r.set(gmac3.MACConfig, gmac3.ConfigACS)
	r.post(1536, 0, int(r.m.Stats().RX)%slots)
	i := int(r.m.Stats().RX) % slots
	f := ether(ownAddr, 60)
	binary.BigEndian.PutUint16(f[12:], 3)
	r.m.Deliver(f)
	require.EqualValues(t, 17, r.rx.desc(i)[0]>>16&0x3FFF, "pad and FCS of a length frame stripped")

	r.m.DeliverWire(f[:10])
	r.clear(gmac3.DMAOpMode, gmac3.OpFEF)
	r.m.DeliverWire(f[:40])
	require.EqualValues(t, 2, r.read(mmc(dwregs.MMCRxRunt)))
}

func TestFilter(t *testing.T) {
	r := newRig(t, Config{HashBins: 256}, false)
	passes := func(a mac.HardwareAddr) bool {
		i := int(r.m.Stats().RX) % slots
		before := r.m.Stats().RX
		r.post(1536, 0, i)
		r.m.Deliver(ether(a, 60))
		return r.m.Stats().RX > before
	}
	other := mac.HardwareAddr{2, 9, 9, 9, 9, 9}
	group := mac.HardwareAddr{1, 0, 0x5e, 0, 0, 1}
	require.True(t, passes(ownAddr))
	require.True(t, passes(mac.Broadcast))
	require.False(t, passes(other))
	require.False(t, passes(group))
	r.write(gmac3.AddrHigh(1), dwregs.AddrHighAE|0x0100)
	require.False(t, passes(group), "High alone changes nothing")
	r.write(gmac3.AddrLow(1), 0x005E0001)
	require.True(t, passes(group))
	r.write(gmac3.AddrHigh(1), 0)
	r.write(gmac3.AddrLow(1), 0)
	r.write(gmac3.MACFilter, dwregs.FilterHMC|dwregs.FilterHPF)
	require.False(t, passes(group))
	r.write(gmac3.HashTable(256, 4), 1) // bin 128: see the table of hash indices
	require.True(t, passes(group))
	r.write(gmac3.MACFilter, dwregs.FilterPR)
	require.True(t, passes(other))
	r.write(gmac3.MACHashLow, ^uint32(0))
	require.Zero(t, r.read(gmac3.MACHashLow), "a table of 256 lies elsewhere")
	r.write(gmac3.AddrLow(31), 5)
	require.Zero(t, r.read(gmac3.AddrLow(31)), "no such slot")
}

// TestFaults: what each of them looks like.
func TestFaults(t *testing.T) {
	r := newRig(t, Config{}, false)
	r.set(gmac3.DMAOpMode, gmac3.OpFEF)
	next := func(f sim.Fault) uint32 {
		i := int(r.m.Stats().RX) % slots
		r.post(1536, 0, i)
		r.m.Faults().Once(f)
		r.m.Deliver(ether(ownAddr, 100))
		return r.rx.desc(i)[0]
	}
	require.NotZero(t, next(sim.BadCRC)&gmac3.RDES0CE)
	require.NotZero(t, next(sim.Overflow)&gmac3.RDES0OE)
	require.Zero(t, next(sim.MissingFirst)&gmac3.RDES0FS)
	require.NotEqual(t, uint32(104), next(sim.BadLength)>>16&0x3FFF)
	require.NotZero(t, next(sim.DropFrame)&gmac3.RDES0OWN)

	for fault, eb := range map[sim.Fault]uint32{sim.RXBusError: 0, sim.DescriptorBusError: 6} {
		r := newRig(t, Config{}, false)
		r.write(gmac3.DMAIntEnable, gmac3.IntAIS|gmac3.IntFBI)
		if fault == sim.DescriptorBusError {
			r.m.Faults().Once(fault)
			r.post(1536, 0, 0)
		} else {
			r.post(1536, 0, 0)
			r.m.Faults().Once(fault)
			r.m.Deliver(ether(ownAddr, 100))
		}
		require.True(t, r.level, "%v", fault)
		require.Equal(t, eb, r.read(gmac3.DMAStatus)>>23&7, "%v", fault)
		require.Zero(t, r.read(gmac3.DMAStatus)>>17&7, "stopped")
		r.write(gmac3.DMABusMode, gmac3.BusSWR)
		require.False(t, r.level)
		require.Zero(t, r.status())
	}
}

func TestCheckArmed(t *testing.T) {
	r := newRig(t, Config{CheckArmed: true}, false)
	r.post(1536, 0, 0, 1, 2)
	require.Zero(t, r.m.Violations().Count())
	d := r.rx.desc(3)
	d[1], d[2], d[0] = 1536, r.rx.addr(1)+8, gmac3.RDES0OWN
	r.write(gmac3.DMARxPoll, 1)
	require.Equal(t, 1, r.m.Violations().Count())
}

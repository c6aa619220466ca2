package dwmac4

import (
	"hash/crc32"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
)

func addr(s string) mac.HardwareAddr {
	a, err := mac.ParseHardwareAddr(s)
	if err != nil {
		panic(err)
	}
	return a
}

// passes reports whether the model takes a frame to dst.
func (r *rig) passes(dst mac.HardwareAddr) bool {
	before := r.m.Stats().Filtered
	r.m.Deliver(frame(dst, 60))
	return r.m.Stats().Filtered == before
}

func TestPacketFilter(t *testing.T) {
	var (
		group  = addr("01:00:5e:00:00:01")
		hashed = addr("33:33:00:00:00:01") // bin 1 of 64
		other  = addr("02:00:00:00:00:77")
		extra  = addr("02:00:00:00:00:88") // in slot 1
		inHash = addr("02:00:00:00:00:99")
	)
	type want map[mac.HardwareAddr]bool
	for _, c := range []struct {
		name   string
		filter uint32
		want   want
	}{
		{"perfect", 0, want{ownAddr: true, extra: true, other: false, mac.Broadcast: true, group: false, hashed: false}},
		{"promiscuous", dwregs.FilterPR, want{other: true, group: true, mac.Broadcast: true}},
		{"receive all", dwregs.FilterRA, want{other: true, group: true}},
		{"all multicast", dwregs.FilterPM, want{group: true, hashed: true, other: false}},
		{"no broadcast", dwregs.FilterDBF, want{mac.Broadcast: false, ownAddr: true}},
		{"promiscuous beats no broadcast", dwregs.FilterDBF | dwregs.FilterPR, want{mac.Broadcast: true}},
		{"hash multicast", dwregs.FilterHMC, want{hashed: true, group: false, ownAddr: true}},
		{"hash unicast", dwregs.FilterHUC, want{inHash: true, ownAddr: false, extra: false}},
		{"hash or perfect", dwregs.FilterHUC | dwregs.FilterHPF, want{inHash: true, ownAddr: true, extra: true, other: false}},
		{"inverse", dwregs.FilterDAIF, want{ownAddr: false, other: true, group: true, mac.Broadcast: true}},
		{"source", dwregs.FilterSAF, want{ownAddr: false}},
		{"source inverse", dwregs.FilterSAF | dwregs.FilterSAIF, want{ownAddr: true, other: false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, Config{})
			r.setAddr(1, extra, dwregs.AddrHighAE)
			r.write(gmac4.HashTable(0), 1<<1)
			bin := bits.Reverse32(crc32.ChecksumIEEE(inHash[:])) >> 26
			r.set(gmac4.HashTable(int(bin/32)), 1<<(bin%32))
			r.write(gmac4.MACPacketFilter, c.filter)
			for a, pass := range c.want {
				require.Equal(t, pass, r.passes(a), a.String())
			}
		})
	}
}

func TestControlFrames(t *testing.T) {
	pause, other := frame(dwmac.PauseAddr, 60), frame(ownAddr, 60)
	for _, f := range [][]byte{pause, other} {
		f[12], f[13], f[14], f[15] = 0x88, 0x08, 0, 1
	}
	other[15] = 2
	foreign := append([]byte(nil), other...)
	copy(foreign, peerAddr[:])
	for pcf, want := range [][3]bool{{false, false, false}, {false, true, true}, {true, true, true}, {false, true, false}} {
		r := newRig(t, Config{})
		r.write(gmac4.MACPacketFilter, field.Put(dwregs.FilterPCF, uint32(pcf)))
		for i, f := range [][]byte{pause, other, foreign} {
			before := r.m.Stats().Filtered
			r.m.Deliver(f)
			require.Equal(t, want[i], r.m.Stats().Filtered == before, "PCF %d, frame %d", pcf, i)
		}
	}
}

// The vectors are those of the manual's CRC.
func TestHashBins(t *testing.T) {
	for _, c := range []struct {
		addr            string
		b64, b128, b256 int
	}{
		{"01:00:5e:00:00:01", 32, 64, 128},
		{"01:00:5e:00:00:fb", 48, 96, 192},
		{"33:33:00:00:00:01", 1, 3, 6},
		{"33:33:ff:12:34:56", 61, 122, 244},
		{"01:80:c2:00:00:0e", 30, 60, 120},
	} {
		for bins, bin := range map[int]int{64: c.b64, 128: c.b128, 256: c.b256} {
			r := newRig(t, Config{HashBins: bins})
			r.write(gmac4.MACPacketFilter, dwregs.FilterHMC)
			require.False(t, r.passes(addr(c.addr)))
			r.write(gmac4.HashTable(bin/32), 1<<(bin%32))
			require.True(t, r.passes(addr(c.addr)), "%s in %d bins", c.addr, bins)
		}
	}
	r := newRig(t, Config{HashBins: -1})
	r.write(gmac4.HashTable(0), 0xffffffff)
	require.Zero(t, r.read(gmac4.HashTable(0)))
}

func TestAddressRegisters(t *testing.T) {
	r := newRig(t, Config{PerfectSlots: 2})
	a := addr("02:00:00:00:00:50")
	r.write(gmac4.AddrHigh(1), dwregs.AddrHighAE|uint32(a[5])<<8|uint32(a[4]))
	require.False(t, r.passes(a), "not before Low is written")
	r.write(gmac4.AddrLow(1), uint32(a[3])<<24|uint32(a[2])<<16|uint32(a[1])<<8|uint32(a[0]))
	require.True(t, r.passes(a))
	r.setAddr(1, a, dwregs.AddrHighAE|field.Put(dwregs.AddrHighMBC, 1<<5))
	require.True(t, r.passes(addr("02:00:00:00:00:51")), "the last byte is not compared")
	r.setAddr(1, a, 0)
	require.False(t, r.passes(a))
	r.setAddr(0, ownAddr, field.Put(dwregs.AddrHighMBC, 63))
	require.False(t, r.passes(a), "the own address has no mask")
	r.setAddr(3, a, dwregs.AddrHighAE)
	require.False(t, r.passes(a), "there is no slot 3")
	require.Zero(t, r.read(gmac4.AddrHigh(3)))
	require.NotZero(t, r.read(gmac4.AddrHigh(0))&dwregs.AddrHighAE)
}

func TestVLANFilterAndStrip(t *testing.T) {
	r := newRig(t, Config{})
	r.post(0, 0, 7, 0)
	r.write(gmac4.MACPacketFilter, dwregs.FilterVTFE)
	r.write(gmac4.MACVLANTag, gmac4.VLANTagETV|100|field.Put(gmac4.VLANTagEVLS, 3)|gmac4.VLANTagEVLRXS)
	r.m.Deliver(tag(frame(ownAddr, 80), 99))
	require.EqualValues(t, 1, r.m.Stats().Filtered)
	f := frame(ownAddr, 80)
	r.m.Deliver(tag(f, 5<<13|100))
	d := r.rx[0].w[:4]
	require.NotZero(t, d[3]&gmac4.RDES3RS0V)
	require.EqualValues(t, 5<<13|100, d[0]&gmac4.RDES0VLAN)
	require.EqualValues(t, 84, d[3]&gmac4.RDES3PL)
	require.Equal(t, f, r.rx[0].bytes(0, 80))
	r.m.Deliver(f)
	require.Zero(t, r.rx[0].w[7]&gmac4.RDES3RS0V, "untagged frames pass")
	r.write(gmac4.MACVLANTag, gmac4.VLANTagETV|100)
	r.m.Deliver(tag(f, 100))
	require.Equal(t, tag(f, 100), r.rx[0].bytes(2, 84))
}

func TestRouting(t *testing.T) {
	r := newRig(t, Config{Queues: 4})
	for c := range 4 {
		r.post(c, 0, 7, 0)
	}
	r.write(gmac4.MACPacketFilter, dwregs.FilterPM)
	r.write(gmac4.MACRxQCtrl1, field.Put(gmac4.RxQCtrl1UPQ, 2)|gmac4.RxQCtrl1MCBCQEN|field.Put(gmac4.RxQCtrl1MCBCQ, 1))
	r.write(gmac4.MACRxQCtrl2, 0xf0<<24|0x0f)
	to := func(f []byte) int {
		before := r.m.Stats().RX
		r.m.Deliver(f)
		for c, n := range r.m.Stats().RX {
			if n != before[c] {
				return c
			}
		}
		return -1
	}
	require.Equal(t, 2, to(frame(ownAddr, 60)), "untagged")
	require.Equal(t, 1, to(frame(mac.Broadcast, 60)))
	require.Equal(t, 1, to(frame(addr("33:33:00:00:00:01"), 60)))
	require.Equal(t, 3, to(tag(frame(ownAddr, 60), 6<<13)))
	require.Equal(t, 0, to(tag(frame(ownAddr, 60), 1<<13)))
	r.write(gmac4.MTLRxQDMAMap0, 0<<24|3<<16|1<<8)
	require.Equal(t, 3, to(frame(ownAddr, 60)), "queue 2 to channel 3")
	r.setAddr(1, peerAddr, dwregs.AddrHighAE|field.Put(dwregs.AddrHighDCS, 1))
	r.write(gmac4.MTLRxQDMAMap0, 0x10<<16)
	require.Equal(t, 1, to(frame(peerAddr, 60)), "channel by address")
	r.clear(gmac4.MACRxQCtrl0, gmac4.RxQEnable(2))
	require.Equal(t, -1, to(frame(ownAddr, 60)), "queue off")
	require.EqualValues(t, 1, r.m.Stats().NoQueue)
}

// A queue that nobody sized has 256 bytes.
func TestUnsizedQueue(t *testing.T) {
	r := newRig(t, Config{Queues: 2})
	r.post(0, 0, 7, 0)
	r.write(qu(0, gmac4.RxQOpMode), gmac4.RxQOpRSF)
	r.m.Deliver(frame(ownAddr, 300))
	require.True(t, r.rx[0].own(0))
	require.EqualValues(t, 1, r.m.Stats().Overflow)
	r.m.Deliver(frame(ownAddr, 252))
	require.False(t, r.rx[0].own(0))
	r.write(qu(0, gmac4.RxQOpMode), field.Put(gmac4.RxQOpRQS, 0x3ff))
	require.Equal(t, 1, r.m.Violations().Count(), "more than the FIFO has")
	ctrl := r.read(gmac4.MACRxQCtrl0)
	r.write(gmac4.MACRxQCtrl0, ctrl&^gmac4.RxQEnable(0))
	r.write(qu(0, gmac4.RxQOpMode), field.Put(gmac4.RxQOpRQS, 0x3ff))
	require.Equal(t, 1, r.m.Violations().Count(), "a queue that is off has nothing")
	r.write(gmac4.MACRxQCtrl0, ctrl)
	require.Equal(t, 2, r.m.Violations().Count())
}

func TestReceiveChecksum(t *testing.T) {
	flip := func(f []byte, at int) []byte { g := append([]byte(nil), f...); g[at] ^= 1; return g }
	good := summed(ipv4(6, tcp(0x10, 100)))
	fragment := summed(ipv4(17, udp(20)))
	fragment[20] = 0x20
	fragment[24], fragment[25] = 0, 0
	noSum := summed(ipv4(17, udp(20)))
	noSum[40], noSum[41] = 0, 0
	const ok4 = gmac4.RDES1IPV4
	for _, c := range []struct {
		name string
		f    []byte
		d1   uint32 // bits 7:0
		drop bool   // without DIS_TCP_EF
	}{
		{"TCP", good, ok4 | gmac4.PTTCP, false},
		{"TCP tagged", tag(good, 9), ok4 | gmac4.PTTCP, false},
		{"two tags", tag(tag(good, 9), 9), gmac4.RDES1IPCB, false},
		{"TCP wrong", flip(good, 60), ok4 | gmac4.PTTCP | gmac4.RDES1IPCE, true},
		{"header wrong", flip(good, 22), ok4 | gmac4.RDES1IPHE, true},
		{"UDP", summed(ipv4(17, udp(40))), ok4 | gmac4.PTUDP, false},
		{"UDP without sum", noSum, ok4 | gmac4.PTUDP | gmac4.RDES1IPCB, false},
		{"fragment", summed(fragment), ok4, false},
		{"not IP", frame(ownAddr, 80), gmac4.RDES1IPCB, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, Config{})
			r.set(gmac4.MACConfig, gmac4.ConfigIPC)
			r.post(0, 0, 7, 0)
			r.m.Deliver(c.f)
			require.NotZero(t, r.rx[0].w[3]&gmac4.RDES3RS1V)
			require.Zero(t, r.rx[0].w[3]&gmac4.RDES3ES, "a wrong sum is no error")
			require.Equal(t, c.d1, r.rx[0].w[1]&0xff)
			r.clear(qu(0, gmac4.RxQOpMode), gmac4.RxQOpDISTCPEF)
			r.m.Deliver(c.f)
			require.Equal(t, c.drop, r.rx[0].own(1))
			r.set(qu(0, gmac4.RxQOpMode), gmac4.RxQOpFEP)
			r.m.Deliver(c.f)
			require.Equal(t, c.drop, r.rx[0].own(2))
			r.clear(qu(0, gmac4.RxQOpMode), gmac4.RxQOpRSF|gmac4.RxQOpFEP)
			before := r.m.Stats().RX[0]
			r.m.Deliver(c.f)
			require.Equal(t, before+1, r.m.Stats().RX[0], "nothing is dropped without store and forward")
		})
	}
	t.Run("no engine", func(t *testing.T) {
		r := newRig(t, Config{NoRXChecksum: true})
		r.set(gmac4.MACConfig, gmac4.ConfigIPC)
		require.Zero(t, r.read(gmac4.MACConfig)&gmac4.ConfigIPC)
		require.Zero(t, r.read(gmac4.MACFeature0)&gmac4.Feat0RxCOE)
	})
	t.Run("counters", func(t *testing.T) {
		r := newRig(t, Config{})
		r.set(gmac4.MACConfig, gmac4.ConfigIPC)
		r.m.Deliver(good)
		r.m.Deliver(flip(good, 60))
		r.m.Deliver(flip(good, 22))
		require.EqualValues(t, 2, r.read(gmac4.MMC+dwregs.MMCRxIPv4Good))
		require.EqualValues(t, 1, r.read(gmac4.MMC+dwregs.MMCRxIPv4HdrErr))
		require.EqualValues(t, 1, r.read(gmac4.MMC+dwregs.MMCRxTCPErr))
		require.EqualValues(t, 280, r.read(gmac4.MMC+dwregs.MMCRxIPv4Good+dwregs.MMCIPCOctets))
		require.EqualValues(t, 120, r.read(gmac4.MMC+dwregs.MMCRxTCPErr+dwregs.MMCIPCOctets), "without the IP header")
	})
}

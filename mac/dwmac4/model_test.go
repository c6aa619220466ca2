package dwmac4_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	bussim "github.com/barewire/barewire/mac/bus/sim"
	"github.com/barewire/barewire/mac/dwmac4"
	"github.com/barewire/barewire/mac/sim"
	model "github.com/barewire/barewire/mac/sim/dwmac4"
	"github.com/barewire/barewire/ring"
)

var (
	station   = mac.HardwareAddr{2, 0, 0, 0, 0, 1}
	partner   = mac.HardwareAddr{2, 0, 0, 0, 0, 2}
	fullSpeed = mac.Link{Up: true, Speed: 1000, FullDuplex: true}
)

// bed is a driver on a model that does all DMA inline, so that every run is the
// same.
type bed struct {
	*testing.T
	model *model.Model
	bus   *bussim.Bus
	regs  mac.Registers
	core  *dwmac4.Core
	sent  [][]byte
}

func newBed(t *testing.T, cfg model.Config) *bed {
	t.Helper()
	cfg.Inline, cfg.InBandLink = true, true
	b := &bed{T: t, model: model.New(cfg)}
	b.bus = bussim.New(b.model, nil)
	b.model.OnTransmit(func(f []byte) { b.sent = append(b.sent, bytes.Clone(f)) })
	var err error
	b.regs, err = b.bus.Registers(0)
	require.NoError(t, err)
	b.core, err = dwmac4.New(b.bus)
	require.NoError(t, err)
	t.Cleanup(b.check)
	return b
}

// check fails the test when the driver did what the manual forbids.
func (b *bed) check() {
	require.Empty(b, b.model.Violations().List())
	require.Empty(b, b.bus.Space().Violations().List())
}

// device opens and starts a device on the core.
func (b *bed) device(cfg *mac.Config) *mac.Device {
	b.Helper()
	if cfg == nil {
		cfg = &mac.Config{}
	}
	if cfg.Address == (mac.HardwareAddr{}) {
		cfg.Address = station
	}
	d, err := mac.NewDevice(context.Background(), b.bus, b.core, cfg)
	require.NoError(b, err)
	require.NoError(b, d.Start())
	require.Equal(b, fullSpeed, d.Link())
	for _, q := range d.Queues() {
		require.NoError(b, q.Own())
	}
	b.Cleanup(func() {
		for _, q := range d.Queues() {
			q.Disown()
		}
		require.NoError(b, d.Close())
	})
	return d
}

// receive takes all frames from a queue, and refills it.
func receive(q *mac.Queue) (got [][]byte) {
	frames := make([]ring.Frame, 64)
	for {
		q.Ack()
		n := q.RX.Harvest(frames)
		for _, f := range frames[:n] {
			var data []byte
			for _, p := range f.Pieces {
				data = append(data, q.Pool.Bytes(p.Page)[p.Off:p.Off+p.Len]...)
				q.Pool.Recycle(p.Page)
			}
			got = append(got, data)
		}
		q.Refill()
		if n == 0 {
			return got
		}
	}
}

// send queues frames and rings the doorbell once.
func send(t *testing.T, q *mac.Queue, req ring.TXFrame, frames ...[]byte) {
	t.Helper()
	tx := q.LockTX()
	require.NotNil(t, tx)
	defer q.UnlockTX()
	defer q.FlushTX()
	for _, f := range frames {
		b := tx.Reserve(len(f))
		require.NotNil(t, b, "no space for %d bytes", len(f))
		copy(b, f)
		tx.Commit(req)
	}
}

// frame is an Ethernet frame of n bytes.
func frame(dst mac.HardwareAddr, n int) []byte {
	f := make([]byte, n)
	copy(f, dst[:])
	copy(f[6:], partner[:])
	binary.BigEndian.PutUint16(f[12:], 0x88B5)
	for i := 14; i < n; i++ {
		f[i] = byte(i * 7)
	}
	return f
}

func TestTraffic(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  model.Config
		dev  mac.Config
	}{
		{"4.00, 32 bits", model.Config{Version: 0x40, AddressBits: 32}, mac.Config{}},
		{"4.10, 40 bits", model.Config{Version: 0x41, AddressBits: 40}, mac.Config{}},
		{"5.20, 48 bits", model.Config{Version: 0x52, AddressBits: 48}, mac.Config{}},
		{"2 KiB FIFOs", model.Config{RXFIFO: 2048, TXFIFO: 2048}, mac.Config{}},
		{"small ring, jumbo over several pages", model.Config{JunkLengths: true}, mac.Config{RXRing: 16, TXRing: 7, MTU: 9000, PageSize: 2048}},
		{"nothing but the MAC", model.Config{NoRXChecksum: true, NoTXChecksum: true, NoTSO: true, NoMMC: true, HashBins: -1, PerfectSlots: -1, PHYAddress: -1}, mac.Config{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBed(t, c.cfg)
			d := b.device(&c.dev)
			q := d.Queues()[0]
			for i := range 200 {
				for _, n := range []int{60, 61, 1514, d.MTU() + 14, d.MTU() + 22} {
					f := frame(station, n)
					b.model.Deliver(f)
					require.Equal(t, [][]byte{f}, receive(q), "round %d, %d bytes", i, n)
				}
				f := frame(partner, 60+i*(d.MTU()-60)/200)
				send(t, q, ring.TXFrame{}, f, f)
				require.Equal(t, [][]byte{f, f}, b.sent, "round %d", i)
				b.sent = nil
			}
		})
	}
}

func (b *bed) alloc(use mac.Use, size int) memory {
	b.Helper()
	m, err := b.bus.Alloc(mac.Alloc{Use: use, Size: size, Align: 64, AddressBits: b.core.Info().AddressBits})
	require.NoError(b, err)
	return m
}

// TestCounts: what a frame costs in descriptor accesses, barriers and doorbells.
// Other registers are not counted: the interrupt goroutine uses them meanwhile.
func TestCounts(t *testing.T) {
	for _, checksum := range []bool{true, false} {
		b := newBed(t, model.Config{})
		q := b.device(&mac.Config{NoRXChecksum: !checksum}).Queues()[0]
		for range 32 {
			b.model.Deliver(ipFrame(station, 1000))
		}
		before := b.bus.Trace().Counts()
		frames := make([]ring.Frame, 32)
		require.Equal(t, 32, q.RX.Harvest(frames))
		d := b.bus.Trace().Counts().Sub(before)
		want := uint64(32)
		if checksum {
			want = 64 // RDES3, and RDES1 with the verdict
			require.NotZero(t, frames[0].Flags&ring.ChecksumGood)
		}
		require.Equal(t, want, d.DescriptorLoads)
		require.Equal(t, uint64(1), d.ReadBarriers)
		require.Zero(t, d.DescriptorStores+d.Doorbells)
		for _, f := range frames {
			for _, p := range f.Pieces {
				q.Pool.Recycle(p.Page)
			}
		}
		before = b.bus.Trace().Counts()
		q.Refill()
		d = b.bus.Trace().Counts().Sub(before)
		require.Equal(t, []uint64{128, 1, 1, 1, 0}, []uint64{d.DescriptorStores, d.WriteBarriers, d.DoorbellBarriers, d.Doorbells, d.DescriptorLoads})

		before = b.bus.Trace().Counts()
		send(t, q, ring.TXFrame{}, frame(partner, 1000), frame(partner, 60), frame(partner, 1514))
		d = b.bus.Trace().Counts().Sub(before)
		require.Equal(t, []uint64{12, 1, 1, 1, 0}, []uint64{d.DescriptorStores, d.WriteBarriers, d.DoorbellBarriers, d.Doorbells, d.DescriptorLoads})
	}
}

// ipFrame is a UDP datagram in IPv4 with good checksums, n bytes long.
func ipFrame(dst mac.HardwareAddr, n int) []byte {
	f := frame(dst, n)
	binary.BigEndian.PutUint16(f[12:], 0x0800)
	ip, udp := f[14:34], f[34:]
	copy(ip, []byte{0x45, 0, 0, 0, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1})
	binary.BigEndian.PutUint16(ip[2:], uint16(n-14))
	binary.BigEndian.PutUint16(ip[10:], ^sum(0, ip))
	binary.BigEndian.PutUint16(udp[4:], uint16(len(udp)))
	udp[6], udp[7] = 0, 0
	pseudo := sum(uint32(17+len(udp)), ip[12:20])
	binary.BigEndian.PutUint16(udp[6:], ^sum(uint32(pseudo), udp))
	return f
}

func sum(s uint32, b []byte) uint16 {
	for i := 0; i+1 < len(b); i += 2 {
		s += uint32(b[i])<<8 | uint32(b[i+1])
	}
	if len(b)%2 != 0 {
		s += uint32(b[len(b)-1]) << 8
	}
	for s>>16 != 0 {
		s = s>>16 + s&0xFFFF
	}
	return uint16(s)
}

func TestChecksums(t *testing.T) {
	b := newBed(t, model.Config{})
	q := b.device(nil).Queues()[0]
	good := ipFrame(station, 500)
	badIP, badUDP, fragment := bytes.Clone(good), bytes.Clone(good), bytes.Clone(good)
	badIP[24] ^= 1
	badUDP[100] ^= 1
	fragment[20] |= 0x20
	binary.BigEndian.PutUint16(fragment[24:], 0)
	binary.BigEndian.PutUint16(fragment[24:], ^sum(0, fragment[14:34]))
	for _, f := range [][]byte{good, badIP, badUDP, fragment, frame(station, 100)} {
		b.model.Deliver(f)
	}
	frames := make([]ring.Frame, 8)
	require.Equal(t, 5, q.RX.Harvest(frames))
	var got []ring.Flags
	for _, f := range frames[:5] {
		got = append(got, f.Flags)
		q.Pool.Recycle(f.Pieces[0].Page)
	}
	require.Equal(t, []ring.Flags{ring.ChecksumGood, ring.ChecksumBad, ring.ChecksumBad, 0, 0}, got)

	out := ipFrame(partner, 700)
	want := bytes.Clone(out)
	out[24], out[25], out[40], out[41] = 0xBA, 0xD0, 0xBA, 0xD1
	send(t, q, ring.TXFrame{Checksum: ring.ChecksumFull}, out)
	require.Equal(t, [][]byte{want}, b.sent, "both checksums inserted, whatever the fields held")
}

// TestFilterCapacity joins ever more groups on cores of all sizes and leaves them
// again (B050, B049).
func TestFilterCapacity(t *testing.T) {
	for _, slots := range []int{-1, 1, 3, 31} {
		for _, bins := range []int{-1, 64, 128, 256} {
			b := newBed(t, model.Config{PerfectSlots: slots, HashBins: bins})
			d := b.device(nil)
			q := d.Queues()[0]
			group := func(i int) mac.HardwareAddr { return mac.HardwareAddr{0x33, 0x33, 0xff, 0, byte(i >> 8), byte(i)} }
			stranger := mac.HardwareAddr{1, 0x1b, 0x19, 0, 0, 0}
			b.model.Deliver(frame(stranger, 60))
			require.Len(t, receive(q), 1, "every group passes until somebody joins one")
			joined := 0
			for _, n := range []int{1, 3, 4, 31, 32, 33, 200, 33, 4, 1} {
				for ; joined < n; joined++ {
					require.NoError(t, d.JoinGroup(group(joined)))
				}
				for ; joined > n; joined-- {
					require.NoError(t, d.LeaveGroup(group(joined-1)))
				}
				for i := range n {
					b.model.Deliver(frame(group(i), 60))
				}
				b.model.Deliver(frame(station, 60))
				b.model.Deliver(frame(mac.Broadcast, 60))
				require.Len(t, receive(q), n+2, "%d slots, %d bins, %d groups", slots, bins, n)
				b.model.Deliver(frame(partner, 60))
				require.Empty(t, receive(q), "somebody else's")
			}
			if slots > 0 {
				b.model.Deliver(frame(stranger, 60))
				require.Empty(t, receive(q), "a group not joined")
			}
			require.NoError(t, d.AddUnicast(partner))
			b.model.Deliver(frame(partner, 60))
			require.Len(t, receive(q), 1, "%d slots, %d bins", slots, bins)
			require.NoError(t, d.RemoveUnicast(partner))
			require.NoError(t, d.SetPromiscuous(true))
			b.model.Deliver(frame(mac.HardwareAddr{4}, 60))
			require.Len(t, receive(q), 1)
			require.NoError(t, d.SetPromiscuous(false))
			b.model.Deliver(frame(mac.HardwareAddr{4}, 60))
			require.Empty(t, receive(q))
			require.NoError(t, d.SetAddress(mac.HardwareAddr{4}))
			b.model.Deliver(frame(mac.HardwareAddr{4}, 60))
			require.Len(t, receive(q), 1)
		}
	}
}

func TestCountersAgainstModel(t *testing.T) {
	b := newBed(t, model.Config{})
	q := b.device(nil).Queues()[0]
	var c mac.Counters
	b.core.Counters(&c)
	c = mac.Counters{}
	for range 10 {
		b.model.Deliver(frame(station, 100))
		b.model.Deliver(frame(mac.Broadcast, 200))
	}
	b.model.Faults().Once(sim.BadCRC)
	b.model.Deliver(frame(station, 100))
	require.Len(t, receive(q), 20, "the bad one is dropped in the FIFO")
	send(t, q, ring.TXFrame{}, frame(partner, 100), frame(mac.Broadcast, 200))
	b.core.Counters(&c)
	require.Equal(t, []uint64{21, 10, 10, 1}, []uint64{c.RXFrames, c.RXUnicast, c.RXBroadcast, c.RXCRC})
	require.Equal(t, []uint64{2, 1}, []uint64{c.TXFrames, c.TXBroadcast})
	require.Equal(t, uint64(104+204), c.TXOctets)
	require.Equal(t, uint64(10*104+10*204+104), c.RXOctets)
}

func TestTSO(t *testing.T) {
	b := newBed(t, model.Config{})
	q := b.device(nil).Queues()[0]
	f := frame(partner, 54+10_000)
	binary.BigEndian.PutUint16(f[12:], 0x0800)
	copy(f[14:], []byte{0x45, 0, 0, 0, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2})
	copy(f[34:], []byte{0, 80, 0x30, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 1, 0, 0, 0, 0, 0})
	req := ring.TXFrame{MSS: 1448, HeaderLen: 54, L4HeaderLen: 20, Checksum: ring.ChecksumFull}
	for range 100 { // round the ring
		b.sent = nil
		send(t, q, req, f, f)
		var payload []byte
		for _, s := range b.sent {
			require.LessOrEqual(t, len(s), 54+1448)
			require.Equal(t, uint16(0xFFFF), sum(0, s[14:34]), "IP header checksum")
			payload = append(payload, s[54:]...)
		}
		require.Equal(t, append(bytes.Clone(f[54:]), f[54:]...), payload)
	}
	require.Equal(t, uint64(1), b.model.Stats().MSSContexts, "one context while the MSS stays")
	req.MSS = 500
	send(t, q, req, f)
	require.Equal(t, uint64(2), b.model.Stats().MSSContexts)
}

// TestQueues: VLAN priorities spread over the queues, everything else to queue 0.
func TestQueues(t *testing.T) {
	b := newBed(t, model.Config{Queues: 4})
	d := b.device(&mac.Config{Queues: 4})
	for p := range 8 {
		f := frame(station, 100)
		copy(f[12:], []byte{0x81, 0, byte(p << 5), 5})
		b.model.Deliver(f)
		for i, q := range d.Queues() {
			if i == p/2 {
				require.Equal(t, [][]byte{f}, receive(q), "priority %d: the tag stays in the frame (B051)", p)
			} else {
				require.Empty(t, receive(q))
			}
		}
	}
	b.model.Deliver(frame(station, 100))
	b.model.Deliver(frame(mac.Broadcast, 100))
	require.Len(t, receive(d.Queues()[0]), 2)
	for i, q := range d.Queues() {
		b.sent = nil
		send(t, q, ring.TXFrame{}, frame(partner, 100+i))
		require.Len(t, b.sent, 1, "queue %d", i)
	}
}

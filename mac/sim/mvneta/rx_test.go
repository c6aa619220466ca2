package mvneta

import (
	"encoding/binary"
	"hash/crc32"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/neta"
	"github.com/barewire/barewire/mac/sim"
)

const whole = neta.RXFirst | neta.RXLast

// Marvell header, frame, FCS; the size of the whole in the descriptor.
func TestReceivedFrame(t *testing.T) {
	r := newRig(t, Config{})
	f := frame(own, 100)
	r.m.Deliver(f)
	d := r.received()
	require.Equal(t, whole, d[neta.RXStatus]&(whole|neta.RXError))
	require.Equal(t, uint32(106), d[neta.RXSize]>>16)
	b := r.bytesAt(r.addr(0), 106)
	require.Equal(t, []byte{0, 0}, b[:2])
	require.Equal(t, f, b[2:102])
	require.Equal(t, crc32.ChecksumIEEE(f), binary.LittleEndian.Uint32(b[102:]))
	require.Nil(t, r.received())
	require.Equal(t, uint32(1), r.read(neta.RXIndex(0)))
	r.m.Deliver(frame(own, 20))
	require.Equal(t, uint32(66), r.received()[neta.RXSize]>>16, "padded by the sender")
	r.noViolations()
}

// A frame over several buffers: the first descriptor has its size, the others junk.
func TestReceivedPieces(t *testing.T) {
	r := newRig(t, Config{})
	f := frame(own, 600)
	r.m.Deliver(f)
	var got []byte
	for i, n := range []int{256, 256, 94} {
		d := r.received()
		require.NotNil(t, d)
		require.Equal(t, []bool{i == 0, i == 2}, []bool{d[0]&neta.RXFirst != 0, d[0]&neta.RXLast != 0}, "piece %d", i)
		if i == 0 {
			require.Equal(t, uint32(606), d[neta.RXSize]>>16)
		}
		got = append(got, r.bytesAt(r.addr(i), n)...)
	}
	require.Equal(t, f, got[2:602])
	r.noViolations()
}

// A frame waits for the descriptors that it still needs.
func TestReceivedFrameWaits(t *testing.T) {
	r := newRig(t, Config{})
	for range 3 {
		r.m.Deliver(frame(own, 600)) // three descriptors each
	}
	require.Equal(t, uint32(8), r.read(neta.RXQStatus(0)), "two frames and two thirds, none free")
	for range 8 {
		r.received()
	}
	r.repost(1)
	d := r.received()
	require.Equal(t, neta.RXLast, d[0]&whole, "the rest of the third one")
	r.repost(7)
	r.m.Deliver(frame(own, 100))
	require.NotNil(t, r.received())
	r.noViolations()
}

func TestReceiveErrors(t *testing.T) {
	r := newRig(t, Config{})
	for fault, code := range map[sim.Fault]uint32{sim.BadCRC: neta.RXErrorCRC, sim.Overflow: neta.RXErrorOverrun} {
		r.m.Faults().Once(fault)
		r.m.Deliver(frame(own, 100))
		d := r.received()
		require.Equal(t, whole|neta.RXError|field.Put(neta.RXErrorCode, code), d[0]&(whole|neta.RXError|neta.RXErrorCode), "%v", fault)
		r.repost(1)
	}
	r.m.Deliver(frame(own, 1517)) // 1521 with FCS, 1520 allowed
	d := r.received()
	require.Equal(t, neta.RXError|field.Put(neta.RXErrorCode, neta.RXErrorLength), d[0]&(neta.RXError|neta.RXErrorCode))
	require.Equal(t, []uint32{1, 1, 2}, []uint32{r.read(neta.MIBRXCRC), r.read(neta.MIBRXOversize), r.read(neta.MIBRXBadFrames)})
	require.Zero(t, r.read(neta.MIBRXCRC), "cleared by reading")
	wire := append(frame(own, 60), 1, 2, 3, 4)
	r.m.DeliverWire(wire)
	r.m.DeliverWire(wire[:10])
	require.Equal(t, []uint32{1, 1}, []uint32{r.read(neta.MIBRXCRC), r.read(neta.MIBRXFragments)})
}

func TestFilters(t *testing.T) {
	r := newRig(t, Config{})
	passes := func(a mac.HardwareAddr, typ uint16) bool {
		f := frame(a, 60)
		binary.BigEndian.PutUint16(f[12:], typ)
		r.m.Deliver(f)
		if r.received() == nil {
			return false
		}
		r.repost(1)
		return true
	}
	group, special := mac.HardwareAddr{0x33, 0x33, 0, 0, 0, 1}, mac.HardwareAddr{0x01, 0x00, 0x5e, 0, 0, 0xfb}
	require.True(t, passes(own, 0x88B5) && passes(mac.Broadcast, typeIPv4))
	other := own
	other[5]++
	require.False(t, passes(other, 0x88B5) || passes(peer, 0x88B5) || passes(group, 0x88B5) || passes(special, 0x88B5))
	r.write(neta.UnicastTable, 1<<8|1<<16)
	require.True(t, passes(other, 0x88B5), "another entry")
	r.write(neta.MulticastTable+4*(0x29/4), 1<<8)
	require.True(t, passes(group, 0x88B5), "entry 0x29")
	require.False(t, passes(special, 0x88B5))
	r.write(neta.SpecialTable+4*(0xfb/4), 1<<24)
	require.True(t, passes(special, 0x88B5), "entry 0xfb")
	r.write(neta.PortConfig, neta.ConfigPromiscuous)
	stranger := mac.HardwareAddr{6, 7, 8, 9, 10, 0}
	require.False(t, passes(stranger, 0x88B5), "its entry says no")
	r.write(neta.UnicastTable, 0x01010101)
	require.True(t, passes(stranger, 0x88B5))
	for _, v := range []struct {
		reject uint32
		typ    uint16
	}{{neta.ConfigRejectBcast, 0x88B5}, {neta.ConfigRejectIP, typeIPv4}, {neta.ConfigRejectARP, typeARP}} {
		r.write(neta.PortConfig, v.reject)
		for _, typ := range []uint16{0x88B5, typeIPv4, typeARP} {
			require.Equal(t, typ != v.typ, passes(mac.Broadcast, typ), "%#x of %#x", v.reject, typ)
		}
	}
	require.NotZero(t, r.m.Stats().Filtered)
	r.noViolations()
}

// Queues are chosen by priority, by protocol, by table.
func TestRoute(t *testing.T) {
	r := newRig(t, Config{})
	queue := func(change func(f []byte)) int {
		f := frame(own, 60)
		change(f)
		typ := binary.BigEndian.Uint16(f[12:])
		q, _, _ := r.m.filter(f, typ)
		return r.m.route(f, typ, typ == typeVLAN, q)
	}
	r.write(neta.PortConfig, field.Put(neta.ConfigDefault, 1)|field.Put(neta.ConfigARP, 2)|field.Put(neta.ConfigTCP, 3)|field.Put(neta.ConfigUDP, 4))
	r.write(neta.UnicastTable, (1|5<<1)<<8)
	r.write(neta.VLANPriority, 6<<(3*7))
	require.Equal(t, 5, queue(func([]byte) {}))
	require.Equal(t, 1, queue(func(f []byte) { copy(f, mac.Broadcast[:]) }))
	require.Equal(t, 2, queue(func(f []byte) { f[12], f[13] = 8, 6 }))
	require.Equal(t, 3, queue(func(f []byte) { f[12], f[13], f[23] = 8, 0, 6 }))
	require.Equal(t, 4, queue(func(f []byte) { f[12], f[13], f[23] = 8, 0, 17 }))
	require.Equal(t, 6, queue(func(f []byte) { f[12], f[13], f[14] = 0x81, 0, 0xE0 }))
}

// The cause is up while more wait than the threshold says, or once the time since
// the first of them is over.
func TestReceiveCoalescing(t *testing.T) {
	r := newRig(t, Config{ClockHz: 200_000_000})
	up := func() bool {
		require.Equal(t, r.level, r.read(neta.Cause)&neta.CauseRX != 0)
		return r.level
	}
	r.write(neta.RXThreshold(0), 2)
	for i := range 3 {
		require.False(t, up(), "%d wait", i)
		r.m.Deliver(frame(own, 60))
	}
	require.True(t, up(), "more than two")
	r.received()
	require.False(t, up(), "two are left")
	r.received()
	r.received()
	r.repost(3)

	r.write(neta.RXThreshold(0), neta.RXThreshOccupied)
	r.write(neta.RXTime(0), 20000) // 100 us
	r.m.Deliver(frame(own, 60))
	r.clock.Advance(60 * time.Microsecond)
	r.m.Deliver(frame(own, 60))
	r.clock.Advance(39 * time.Microsecond)
	require.False(t, up())
	r.clock.Advance(2 * time.Microsecond)
	require.True(t, up(), "since the first one")
	r.received()
	require.False(t, up(), "the time runs again for the one that is left")
	r.clock.Advance(101 * time.Microsecond)
	require.True(t, up())
	r.received()
	require.False(t, up())
	r.clock.Advance(time.Second)
	require.False(t, up(), "nothing waits")

	r.write(neta.RXTime(0), 0)
	r.m.Deliver(frame(own, 60))
	require.True(t, up(), "no time is over at once")
	r.noViolations()
}

// A FIFO that is full loses frames, and asks for a pause before, if that is on.
func TestFIFO(t *testing.T) {
	r := newRig(t, Config{RXFIFO: 4096})
	for range 8 {
		r.m.Deliver(frame(own, 200))
	}
	for range 4 {
		r.m.Deliver(frame(own, 1000))
	}
	require.Empty(t, r.sent, "no flow control")
	require.Equal(t, uint32(0), r.read(neta.Overrun))
	r.m.Deliver(frame(own, 1000))
	require.Equal(t, []uint32{1, 0}, []uint32{r.read(neta.Overrun), r.read(neta.Overrun)}, "one lost, and cleared by reading")
	require.NotZero(t, r.read(neta.MiscCause)&neta.MiscRXOverrun)

	r = newRig(t, Config{RXFIFO: 4096})
	r.write(neta.AN, r.read(neta.AN)|neta.ANFlow)
	for range 8 {
		r.m.Deliver(frame(own, 200))
	}
	r.m.Deliver(frame(own, 1500))
	require.Empty(t, r.sent)
	r.m.Deliver(frame(own, 1500))
	require.Len(t, r.sent, 1, "more than half full")
	require.Equal(t, append(append([]byte{}, pauseAddr[:]...), own[:]...), r.sent[0][:12])
	require.Equal(t, []byte{0x88, 0x08, 0, 1, 0xFF, 0xFF}, r.sent[0][12:18])
	for range 2 {
		require.Len(t, r.sent, 1)
		for range 8 {
			r.received()
		}
		r.repost(8)
	}
	require.Equal(t, []byte{0x88, 0x08, 0, 1, 0, 0}, r.sent[1][12:18], "and the end of it")
	require.Equal(t, uint32(2), r.read(neta.MIBTXPause))
}

// Frames for a queue that is off are thrown away and counted.
func TestQueueOff(t *testing.T) {
	r := newRig(t, Config{})
	r.write(neta.RXCommand, 1<<8)
	r.m.Deliver(frame(own, 60))
	require.Nil(t, r.received())
	require.Equal(t, uint32(1), r.read(neta.Discarded))
}

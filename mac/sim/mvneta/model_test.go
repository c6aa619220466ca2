package mvneta

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/neta"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/internal/offload"
)

func TestSentFrames(t *testing.T) {
	r := newRig(t, Config{})
	f := frame(peer, 300)
	r.put(oneFrame, f)
	require.Empty(t, r.sent)
	r.write(neta.TXUpdate(0), 1)
	require.Equal(t, [][]byte{f}, r.sent)
	require.Equal(t, uint32(1)<<16, r.read(neta.TXQStatus(0)))
	require.Equal(t, uint32(1), r.read(neta.Cause)&neta.CauseTX)

	r.put(neta.TXFirst|neta.TXL4None<<30, f[:100])
	r.put(0, f[100:101])
	r.put(neta.TXLast, f[101:])
	r.write(neta.TXUpdate(0), 2)
	require.Len(t, r.sent, 1, "its last descriptor has not come yet")
	r.write(neta.TXUpdate(0), 1)
	require.Equal(t, f, r.sent[1])
	r.write(neta.TXUpdate(0), 4<<16)
	require.Zero(t, r.read(neta.TXQStatus(0)))
	require.Zero(t, r.read(neta.Cause)&neta.CauseTX)

	r.put(oneFrame, f[:20])
	r.put(oneFrame&^neta.TXPad, f[:20])
	r.write(neta.TXUpdate(0), 2)
	require.Equal(t, [][]byte{append(bytes.Clone(f[:20]), make([]byte, 40)...), f[:20]}, r.sent[2:])
	require.Equal(t, []uint32{4, 696}, []uint32{r.read(neta.MIBTXFrames), r.read(neta.MIBTXOctets)}, "FCS counted")
	r.noViolations()
}

// A disabled queue, a link that is down and a pause hold frames back.
func TestSendingHeldBack(t *testing.T) {
	r := newRig(t, Config{})
	hold := func(off, on func()) {
		off()
		r.sent = nil
		r.put(oneFrame, frame(peer, 60))
		r.write(neta.TXUpdate(0), 1)
		require.Empty(t, r.sent)
		require.Equal(t, uint32(1), r.read(neta.TXQStatus(0))&neta.TXStatusPending)
		on()
		require.Len(t, r.sent, 1)
		r.write(neta.TXUpdate(0), 1<<16)
	}
	hold(func() { r.write(neta.TXCommandReg, 1<<8) }, func() { r.write(neta.TXCommandReg, 1) })
	up := r.read(neta.AN)
	hold(func() { r.write(neta.AN, neta.ANForceDown) }, func() { r.write(neta.AN, up) })
	hold(func() { r.m.SetLink(mac.Link{}) }, func() { r.m.SetLink(mac.Link{Up: true}) })
	r.write(neta.AN, up|neta.ANFlow)
	pause := make([]byte, 60)
	copy(pause, pauseAddr[:])
	copy(pause[12:], []byte{0x88, 8, 0, 1, 0xFF, 0xFF})
	hold(func() { r.m.Deliver(pause) }, func() { r.clock.Advance(34 * time.Millisecond) })
	hold(func() { r.m.Deliver(pause) }, func() {
		pause[16], pause[17] = 0, 0
		r.m.Deliver(pause)
	})
	require.Nil(t, r.received(), "pause frames go no further")
	require.Equal(t, uint32(3), r.read(neta.MIBRXPause))
	r.noViolations()
}

func TestThingsADriverMustNotDo(t *testing.T) {
	for what, f := range map[string]func(r *rig){
		"descriptors taken, 0 are filled": func(r *rig) { r.write(neta.RXUpdate(0), 1) },
		"1 added in a ring of 8":          func(r *rig) { r.write(neta.RXUpdate(0), 1<<16) },
		"descriptors taken, 0 are sent":   func(r *rig) { r.write(neta.TXUpdate(0), 1<<16) },
		"9 added in a ring of 8":          func(r *rig) { r.write(neta.TXCommandReg, 1<<8); r.write(neta.TXUpdate(0), 9) },
		"held in reset":                   func(r *rig) { r.write(neta.RXDMAReset, 1); r.write(neta.RXUpdate(0), 1) },
		"RXQ0_Base written":               func(r *rig) { r.write(neta.RXBase(0), 0x1000) },
		"TXQ0_Base written":               func(r *rig) { r.write(neta.TXBase(0), 0x1000) },
		"bit 15 must stay 1":              func(r *rig) { r.write(neta.GMAC0, neta.GMAC0Enable) },
		"not forced down":                 func(r *rig) { r.write(neta.GMAC2, neta.GMAC2RGMII|neta.GMAC2PCS) },
		"in band switched":                func(r *rig) { r.write(neta.AN, r.read(neta.AN)|neta.ANInBand) },
		"forced up":                       func(r *rig) { r.write(neta.AN, r.read(neta.AN)&^neta.ANGMII) },
		"SMI written":                     func(r *rig) { r.write(neta.SMI, neta.SMIRead); r.write(neta.SMI, neta.SMIRead) },
		"has FIRST false": func(r *rig) {
			r.put(neta.TXLast, frame(peer, 60))
			r.write(neta.TXUpdate(0), 1)
		},
		"has FIRST true": func(r *rig) {
			r.put(neta.TXFirst|neta.TXL4None<<30, frame(peer, 60))
			r.put(oneFrame, frame(peer, 60))
			r.write(neta.TXUpdate(0), 2)
		},
		"stalls": func(r *rig) {
			r.write(neta.PortMTU, 8*1000)
			r.put(oneFrame, frame(peer, 1000))
			r.write(neta.TXUpdate(0), 1)
		},
		"the limit is 9800": func(r *rig) {
			r.m.cfg.ChecksumLimit = 9800
			r.write(neta.PortMTU, neta.PortMTUMask)
			f := udp(9801)
			for i := 0; i < len(f); i += 4000 {
				c := uint32(0)
				if i == 0 {
					c = neta.TXFirst | 14 | 5<<8 | neta.TXIPChecksum | neta.TXUDP | neta.TXL4Full<<30
				}
				if i+4000 >= len(f) {
					c |= neta.TXLast
				}
				r.put(c, f[i:min(i+4000, len(f))])
			}
			r.write(neta.TXUpdate(0), 3)
		},
		"partial checksum": func(r *rig) {
			r.put(neta.TXFirst|neta.TXLast, frame(peer, 60))
			r.write(neta.TXUpdate(0), 1)
		},
		"headers at 60 and 80": func(r *rig) {
			r.put(neta.TXFirst|neta.TXLast|neta.TXL4Full<<30|60|5<<8, frame(peer, 60))
			r.write(neta.TXUpdate(0), 1)
		},
		"pool 0: buffer 0x1000 given while it is closed": func(r *rig) { r.write(neta.BPPIOffset, 0x1000) },
		"pool 1: 100 slots": func(r *rig) { r.write(neta.BMOffset+neta.BMPoolSize(1), 100) },
	} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t, Config{})
			r.violates(what, func() { f(r) })
		})
	}
}

// udp is a datagram with nothing in its checksums.
func udp(n int) []byte {
	f := frame(own, n)
	copy(f[12:], []byte{8, 0, 0x45, 0, byte((n - 14) >> 8), byte(n - 14), 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1})
	copy(f[38:], []byte{byte((n - 34) >> 8), byte(n - 34), 0, 0})
	return f
}

// The engine sums where it is told to, and the one of the receiver agrees.
func TestChecksums(t *testing.T) {
	r := newRig(t, Config{})
	f := udp(200)
	r.put(oneFrame&^field.Put(neta.TXL4Mode, 3)|14|5<<8|neta.TXIPChecksum|neta.TXUDP|neta.TXL4Full<<30, f)
	r.write(neta.TXUpdate(0), 1)
	require.True(t, offload.Check(r.sent[0]).Good())
	status := func(f []byte) uint32 {
		r.m.Deliver(f)
		s := r.received()[0]
		r.repost(1)
		return s
	}
	const good = neta.RXL4OK | neta.RXIPHeaderOK
	require.Equal(t, good, status(r.sent[0])&(good|neta.RXFragment))
	bad := bytes.Clone(r.sent[0])
	bad[100] ^= 1
	require.Equal(t, neta.RXIPHeaderOK, status(bad)&(good|neta.RXFragment))
	bad = bytes.Clone(r.sent[0])
	bad[14+8]--
	require.Equal(t, field.Put(neta.RXL3Type, neta.L3IPv4Bad), status(bad)&(good|neta.RXL3Type))
	require.Zero(t, status(frame(own, 60))&(good|neta.RXL3Type))
	r.write(neta.PortConfig, 0)
	require.Zero(t, status(r.sent[0])&neta.RXL4OK, "without the pseudo header it is wrong")
	r.noViolations()
}

// DMA through no window, and to memory that is not there, stops everything until
// the MAC is reset.
func TestBusErrors(t *testing.T) {
	for name, spoil := range map[string]func(r *rig){
		"window off":  func(r *rig) { r.write(neta.WindowEnable, neta.WindowsOff) },
		"read only":   func(r *rig) { r.write(neta.WindowProtect, 5) },
		"no memory":   func(r *rig) { r.rx[neta.RXBuffer] = 16 },
		"end of 4 GB": func(r *rig) { r.rx[neta.RXBuffer] = 0xFFFF_FFF0 },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Config{})
			spoil(r)
			r.m.Deliver(frame(own, 60))
			require.Nil(t, r.received())
			require.NotZero(t, r.read(neta.MiscCause)&neta.MiscInternalAddr)
			require.NotZero(t, r.read(neta.ErrorAddr))
			r.put(oneFrame, frame(peer, 60))
			r.write(neta.TXUpdate(0), 1)
			require.Empty(t, r.sent, "everything stands still")
			r.write(neta.WindowEnable, neta.WindowsOff&^3)
			r.write(neta.WindowProtect, 0xF)
			r.rx[neta.RXBuffer] = r.addr(0)
			r.write(neta.GMAC2, neta.GMAC2RGMII|neta.GMAC2Reset)
			r.write(neta.GMAC2, neta.GMAC2RGMII)
			r.write(neta.TXUpdate(0), 0)
			r.m.Deliver(frame(own, 60))
			require.NotNil(t, r.received())
		})
	}
}

// Positions survive a stop, and go with a reset of DMA.
func TestPositions(t *testing.T) {
	r := newRig(t, Config{})
	for range 3 {
		r.m.Deliver(frame(own, 60))
		r.put(oneFrame, frame(peer, 60))
	}
	r.write(neta.TXUpdate(0), 3)
	r.write(neta.RXCommand, 1<<8)
	r.write(neta.TXCommandReg, 1<<8)
	r.write(neta.RXBase(0), r.rxAddr)
	require.Equal(t, []uint32{3, 3, 5<<16 | 3}, []uint32{r.read(neta.RXIndex(0)), r.read(neta.TXIndex(0)), r.read(neta.RXQStatus(0))})
	r.write(neta.RXDMAReset, 1)
	r.write(neta.TXDMAReset, 1)
	r.write(neta.RXDMAReset, 0)
	r.write(neta.TXDMAReset, 0)
	require.Equal(t, []uint32{0, 0, 0, 0}, []uint32{r.read(neta.RXIndex(0)), r.read(neta.TXIndex(0)), r.read(neta.RXQStatus(0)), r.read(neta.TXQStatus(0))})
}

// A CPU sees and masks the queues of its map alone.
func TestQueueMaps(t *testing.T) {
	r := newRig(t, Config{CPUs: 1})
	r.write(neta.CPUMap(0), 0x0202)
	r.m.Deliver(frame(own, 60))
	require.Zero(t, r.read(neta.Cause))
	r.write(neta.CauseMask, 0)
	require.True(t, r.level, "the mask of queue 0 is out of reach")
	r.write(neta.CPUMap(0), 0x0101)
	require.NotZero(t, r.read(neta.Cause))
	r.write(neta.CauseMask, 0)
	require.False(t, r.level)
}

// A pool gives back what it was given, in any order, through memory and past it.
func TestPool(t *testing.T) {
	r := newRig(t, Config{})
	ring, err := r.space.Alloc(mac.Alloc{Use: mac.Descriptors, Size: 512, Align: 64, AddressBits: 32})
	require.NoError(t, err)
	bm := func(off, v uint32) { r.write(neta.BMOffset+off, v) }
	bm(neta.BMCommand, neta.BMStart)
	bm(neta.BMPoolSize(1), 128)
	bm(neta.BMPoolBase(1), uint32(ring.DeviceAddr())|neta.BMPoolEnable)
	want := map[uint32]bool{}
	for i := range uint32(100) {
		r.write(neta.BPPIOffset+neta.BPPI(1), 0x1000+64*i)
		want[0x1000+64*i] = true
	}
	require.Zero(t, r.read(neta.BPPIOffset+neta.BPPI(0)), "another pool")
	inOrder := true
	for i := range uint32(84) {
		addr := r.read(neta.BPPIOffset + neta.BPPI(1))
		require.True(t, want[addr], "%#x", addr)
		delete(want, addr)
		inOrder = inOrder && addr == 0x1000+64*i
	}
	require.False(t, inOrder)
	require.Zero(t, r.read(neta.BPPIOffset+neta.BPPI(1)), "the last burst stays")
	bm(neta.BMConfig, neta.BMConfigEmpty)
	for range 16 {
		require.True(t, want[r.read(neta.BPPIOffset+neta.BPPI(1))])
	}
	require.Zero(t, r.read(neta.BPPIOffset+neta.BPPI(1)))
	r.noViolations()
	r.violates("given twice", func() {
		r.write(neta.BPPIOffset+neta.BPPI(1), 0x1000)
		r.write(neta.BPPIOffset+neta.BPPI(1), 0x1000)
	})
	r.violates("written while it is open", func() { bm(neta.BMPoolSize(1), 256) })
	r.violates("not an address", func() { r.write(neta.BPPIOffset+neta.BPPI(1), 0) })
}

// With buffers of the manager: short frames in the short pool, the buffer's address
// and first bytes in the descriptor, the frame behind the packet offset.
func TestReceiveFromPools(t *testing.T) {
	r := newRig(t, Config{})
	r.write(neta.RXCommand, 1<<8)
	r.write(neta.RXConfig(0), neta.RXConfigHWBuf|0<<4|1<<6|field.Put(neta.RXConfigOffset, 8))
	r.write(neta.PoolSize(0), 256)
	r.write(neta.PoolSize(1), 1024)
	r.write(neta.RXCommand, 1)
	ring, err := r.space.Alloc(mac.Alloc{Use: mac.Descriptors, Size: 1024, Align: 64, AddressBits: 32})
	require.NoError(t, err)
	r.write(neta.BMOffset+neta.BMCommand, neta.BMStart)
	for p := range 2 {
		r.write(neta.BMOffset+neta.BMPoolSize(p), 128)
		r.write(neta.BMOffset+neta.BMPoolBase(p), uint32(ring.DeviceAddr())+uint32(512*p)|neta.BMPoolEnable)
	}
	r.m.Deliver(frame(own, 100))
	require.Nil(t, r.received(), "no buffer")
	require.NotZero(t, r.read(neta.MiscCause)&neta.MiscPool)
	for p := range 2 {
		at := r.addr(8 * p)
		copy(r.bytesAt(at, 4), []byte{1, 2, 3, byte(p)})
		r.write(neta.BPPIOffset+neta.BPPI(p), at)
	}
	d := r.received()
	require.Equal(t, []uint32{r.addr(0), 0x00030201, 0}, []uint32{d[neta.RXBuffer], d[neta.RXCookie], field.Get(neta.RXPool, d[0])})
	require.Equal(t, frame(own, 100), r.bytesAt(r.addr(0)+64+2, 100))
	r.m.Deliver(frame(own, 500))
	d = r.received()
	require.Equal(t, []uint32{r.addr(8), 0x01030201, 1}, []uint32{d[neta.RXBuffer], d[neta.RXCookie], field.Get(neta.RXPool, d[0])})
	require.Equal(t, [neta.MaxPools]uint64{1, 1}, r.m.Stats().Gets)
	r.noViolations()
}

// Without Inline a goroutine sends, and Close waits for it.
func TestAsynchronous(t *testing.T) {
	r := newRig(t, Config{})
	cfg := r.m.cfg
	cfg.Inline = false
	m := New(cfg)
	space := sim.NewSpace(nil)
	m.Connect(space, func(bool) {})
	var mu sync.Mutex
	sent := make(chan int, 1000)
	m.OnTransmit(func(f []byte) {
		mu.Lock()
		defer mu.Unlock()
		sent <- len(f)
	})
	mem, err := space.Alloc(mac.Alloc{Use: mac.Descriptors, Size: 4096, Align: 64, AddressBits: 32})
	require.NoError(t, err)
	w, _ := sim.Words(mem.Bytes())
	for off := uint32(0); off < neta.WindowSize; off += 4 { // what the rig has set up
		switch off {
		case neta.RXUpdate(0), neta.TXUpdate(0), neta.SMI, neta.GMAC2, neta.TXCommandReg, neta.RXCommand:
		default:
			m.Write32(off, r.read(off))
		}
	}
	m.Write32(neta.TXBase(0), uint32(mem.DeviceAddr()))
	m.Write32(neta.TXCommandReg, 1)
	for i := range 8 {
		w[i*8], w[i*8+1], w[i*8+2] = oneFrame, 100<<16, uint32(mem.DeviceAddr())+2048
	}
	for range 100 {
		m.Write32(neta.TXUpdate(0), 8)
		for range 8 {
			require.Equal(t, 100, <-sent)
		}
		for m.Read32(neta.TXQStatus(0)) != 8<<16 { // the last one is counted when it has left
			m.Deliver(frame(own, 60))
		}
		m.Write32(neta.TXUpdate(0), 8<<16)
	}
	require.NoError(t, m.Close())
	require.Empty(t, m.Violations().List())
}

// FuzzRegisters: whatever is written where, the model neither panics nor hangs, and
// a frame can still be delivered.
func FuzzRegisters(f *testing.F) {
	f.Add([]byte{0, 0x14, 1, 0, 0, 0, 0, 0x15, 0, 0, 8, 0})
	f.Add([]byte{4, 0x80, 1, 0, 0, 0, 0x10, 0x80, 1, 0, 0, 0x40})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := newRig(t, Config{})
		for ; len(b) >= 6; b = b[6:] {
			off := uint32(b[0])&^3 | uint32(b[1])<<8
			if b[1] >= 0xC0 {
				off = neta.BPPIOffset + uint32(b[0]&3)<<8
			}
			v := uint32(b[2]) | uint32(b[3])<<8 | uint32(b[4])<<16 | uint32(b[5])<<24
			r.m.Write32(off, v)
			r.m.Read32(off)
			r.m.Deliver(frame(own, 60+int(b[2])))
		}
		r.put(oneFrame, frame(peer, 60))
		r.m.Write32(neta.TXUpdate(0), 1)
	})
}

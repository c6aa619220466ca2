package dwmac1000

import (
	"encoding/binary"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac3"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/internal/offload"
)

var (
	ownAddr  = mac.HardwareAddr{2, 0, 0, 0, 0, 1}
	peerAddr = mac.HardwareAddr{2, 0, 0, 0, 0, 2}
)

// rig drives a model by hand: registers and descriptors, no driver.
type rig struct {
	*testing.T
	m       *Model
	space   *sim.Space
	clock   *sim.ManualClock
	level   bool
	sent    [][]byte
	rx, tx  *handRing
	chained bool
}

// handRing is a ring with one buffer of 2 KiB per descriptor.
type handRing struct {
	mem, buf *sim.Memory
	w        []uint32
	n, words int
	normal   bool
	chained  bool
}

const (
	slots   = 8
	bufSize = 2048
)

// newRig makes an inline model that receives everything for ownAddr, with rings of
// eight descriptors, nothing posted.
func newRig(t *testing.T, cfg Config, chained bool) *rig {
	t.Helper()
	cfg.Inline = true
	r := &rig{T: t, clock: sim.NewManualClock(time.Unix(1000, 0)), space: sim.NewSpace(nil), chained: chained}
	cfg.Clock = r.clock
	r.m = New(cfg)
	r.m.Connect(r.space, func(level bool) { r.level = level })
	r.m.OnTransmit(func(f []byte) { r.sent = append(r.sent, append([]byte(nil), f...)) })
	t.Cleanup(func() {
		require.NoError(t, r.m.Close())
		require.NoError(t, r.m.Close())
		require.Zero(t, r.m.Read32(gmac3.MACVersion), "closed")
	})
	bus := uint32(0)
	words := 4
	if !cfg.NormalDescriptors && r.m.facts.Extended && !chained {
		bus, words = gmac3.BusATDS, 8
	}
	r.write(gmac3.DMABusMode, bus|field.Put(gmac3.BusPBL, 8))
	r.rx, r.tx = r.ring(words, cfg.NormalDescriptors), r.ring(words, cfg.NormalDescriptors)
	r.start()
	return r
}

// start programs the rings and starts everything.
func (r *rig) start() {
	r.write(gmac3.DMARxList, uint32(r.rx.mem.DeviceAddr()))
	r.write(gmac3.DMATxList, uint32(r.tx.mem.DeviceAddr()))
	r.write(gmac3.DMAOpMode, gmac3.OpTSF|gmac3.OpRSF|gmac3.OpDFF|gmac3.OpDT)
	r.set(gmac3.DMAOpMode, gmac3.OpSR|gmac3.OpST)
	r.write(gmac3.AddrHigh(0), uint32(ownAddr[5])<<8|uint32(ownAddr[4]))
	r.write(gmac3.AddrLow(0), binary.LittleEndian.Uint32(ownAddr[:]))
	r.write(gmac3.MACConfig, gmac3.ConfigDM)
	r.set(gmac3.MACConfig, gmac3.ConfigTE|gmac3.ConfigRE)
	r.write(gmac3.DMAStatus, gmac3.IntAll)
}

func (r *rig) read(off uint32) uint32 { return r.m.Read32(off) }
func (r *rig) write(off, v uint32)    { r.m.Write32(off, v) }
func (r *rig) set(off, bits uint32)   { r.write(off, r.read(off)|bits) }
func (r *rig) clear(off, bits uint32) { r.write(off, r.read(off)&^bits) }
func (r *rig) status() uint32         { return r.read(gmac3.DMAStatus) & gmac3.IntAll }

func (r *rig) alloc(n int, use mac.Use) *sim.Memory {
	mem, err := r.space.Alloc(mac.Alloc{Use: use, Size: n, Align: 64, AddressBits: 32})
	require.NoError(r, err)
	return mem
}

func (r *rig) ring(words int, normal bool) *handRing {
	h := &handRing{
		mem: r.alloc(slots*words*4, mac.Descriptors), buf: r.alloc(slots*bufSize, mac.Buffers),
		n: slots, words: words, normal: normal, chained: r.chained,
	}
	h.w, _ = sim.Words(h.mem.Bytes())
	return h
}

func (h *handRing) desc(i int) []uint32 { return h.w[i*h.words : (i+1)*h.words] }
func (h *handRing) addr(i int) uint32   { return uint32(h.buf.DeviceAddr()) + uint32(i)*bufSize }
func (h *handRing) own(i int) bool      { return atomic.LoadUint32(&h.desc(i)[0])>>31 != 0 }

// bytes are n bytes of buffer i.
func (h *handRing) bytes(i, n int) []byte { return h.buf.Bytes()[i*bufSize : i*bufSize+n] }

// link is word 3 of slot i, and the flag that it needs: chained or last.
func (h *handRing) link(i int, chained, end uint32) (word3, flag uint32) {
	switch {
	case h.chained:
		return uint32(h.mem.DeviceAddr()) + uint32((i+1)%h.n*h.words*4), chained
	case i == h.n-1:
		return 0, end
	}
	return 0, 0
}

// post gives slots of receive to the device, with buffers of size bytes.
func (r *rig) post(size int, flags uint32, which ...int) {
	for _, i := range which {
		chained, end := gmac3.ERDES1RCH, gmac3.ERDES1RER
		if r.rx.normal {
			chained, end = gmac3.RDES1RCH, gmac3.RDES1RER
		}
		word3, flag := r.rx.link(i, chained, end)
		d := r.rx.desc(i)
		d[1], d[2], d[3] = uint32(size)|flag|flags, r.rx.addr(i), word3
		atomic.StoreUint32(&d[0], gmac3.RDES0OWN)
	}
	r.write(gmac3.DMARxPoll, 1)
}

// txFlags are control bits of a transmit descriptor, by name.
type txFlags struct {
	first, last, interrupt bool
	cic                    uint32
	extra                  uint32 // in the control word
}

// put fills a transmit descriptor with f, without ringing.
func (r *rig) put(i int, f []byte, c txFlags) {
	copy(r.tx.bytes(i, len(f)), f)
	d := r.tx.desc(i)
	pick := func(normal, enhanced uint32) uint32 {
		if r.tx.normal {
			return normal
		}
		return enhanced
	}
	control := c.extra
	for _, x := range []struct {
		on               bool
		normal, enhanced uint32
	}{
		{c.first, gmac3.TDES1FS, gmac3.ETDES0FS}, {c.last, gmac3.TDES1LS, gmac3.ETDES0LS}, {c.interrupt, gmac3.TDES1IC, gmac3.ETDES0IC},
	} {
		if x.on {
			control |= pick(x.normal, x.enhanced)
		}
	}
	control |= field.Put(pick(gmac3.TDES1CIC, gmac3.ETDES0CIC), c.cic)
	word3, flag := r.tx.link(i, pick(gmac3.TDES1TCH, gmac3.ETDES0TCH), pick(gmac3.TDES1TER, gmac3.ETDES0TER))
	control |= flag
	d[2], d[3] = r.tx.addr(i), word3
	if r.tx.normal {
		d[1] = control | uint32(len(f))
		atomic.StoreUint32(&d[0], gmac3.TDES0OWN)
	} else {
		d[1] = uint32(len(f))
		atomic.StoreUint32(&d[0], gmac3.TDES0OWN|control)
	}
}

var whole = txFlags{first: true, last: true, interrupt: true}

func (r *rig) poll() { r.write(gmac3.DMATxPoll, 1) }

// ether is a frame of n bytes.
func ether(dst mac.HardwareAddr, n int) []byte {
	f := make([]byte, n)
	copy(f, dst[:])
	copy(f[6:], peerAddr[:])
	binary.BigEndian.PutUint16(f[12:], 0x88B5)
	for i := 14; i < n; i++ {
		f[i] = byte(i * 13)
	}
	return f
}

// tcp is a segment in IPv4 with right checksums.
func tcp(payload int) []byte {
	f := ether(ownAddr, 54+payload)
	binary.BigEndian.PutUint16(f[12:], 0x0800)
	copy(f[14:], []byte{0x45, 0, 0, 0, 0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1})
	binary.BigEndian.PutUint16(f[16:], uint16(40+payload))
	f[46] = 5 << 4
	offload.Insert(f, offload.Full)
	return f
}

func flip(f []byte, at int) []byte {
	g := append([]byte(nil), f...)
	g[at] ^= 0x10
	return g
}

// variants are the layouts of descriptors.
var variants = map[string]struct {
	cfg     Config
	chained bool
}{
	"normal":           {Config{Version: 0x32, NormalDescriptors: true}, false},
	"normal chained":   {Config{Version: 0x32, NormalDescriptors: true}, true},
	"enhanced":         {Config{Version: 0x34}, false},
	"enhanced chained": {Config{}, true},
	"extended":         {Config{}, false},
}

func each(t *testing.T, f func(t *testing.T, cfg Config, chained bool)) {
	for name, v := range variants {
		t.Run(name, func(t *testing.T) { f(t, v.cfg, v.chained) })
	}
}

func mmc(off uint32) uint32 { return gmac3.MMC + off }

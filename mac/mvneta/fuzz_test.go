package mvneta

import (
	"encoding/binary"
	"testing"

	"github.com/barewire/barewire/mac/internal/neta"
	"github.com/barewire/barewire/ring"
)

// words are the 32-bit words of b.
func words(b []byte) (w []uint32) {
	for ; len(b) >= 4; b = b[4:] {
		w = append(w, binary.LittleEndian.Uint32(b))
	}
	return w
}

// FuzzDescriptors: whatever the device writes into the descriptors that it says are
// filled, no page is lost or used twice, and no byte outside of a page is looked at.
func FuzzDescriptors(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0x0C, 0, 0, 100, 0})
	f.Add([]byte{0, 0, 0, 0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 4, 0, 0, 0, 0})
	f.Add([]byte{0, 0, 0, 0x08, 0, 0, 88, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := newRig(t, rigOptions{slots: 16, page: 256})
		for w := words(b); len(w) >= 2; {
			filled := min(len(w)/2, 8)
			r.deliver(filled, 60)
			at := int(r.m.Read32(neta.RXIndex(0))) + 16 - filled
			for i := range filled {
				d := (at + i) % 16 * neta.DescriptorWords
				r.c.rx[0].words.Store(d+neta.RXStatus, w[2*i])
				r.c.rx[0].words.Store(d+neta.RXSize, w[2*i+1])
			}
			w = w[2*filled:]
			r.harvest(8)
			r.rx.Refill()
			if r.rx.Posted() < 8 {
				return // descriptors that are never filled hold the ring up
			}
		}
	})
}

// FuzzBufferIDs: whichever buffers the device names, a page is used for one frame
// at a time, and only while the device has it. A buffer that is named before it is
// filled is free too early, and no driver can know: the device may write into it
// later, which is why free pages are not watched here.
func FuzzBufferIDs(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 1, 0, 0, 0, 0, 8, 0, 0, 0, 8, 0, 0})
	all := []byte{}
	for i := range uint32(40) {
		all = binary.LittleEndian.AppendUint32(all, 2048*i)
	}
	f.Add(all)
	f.Fuzz(func(t *testing.T, b []byte) {
		r := newRig(t, rigOptions{slots: 128, pages: 140, liar: true, opts: Options{BufferManager: true}})
		r.lied = true
		base := uint32(r.pool.Addr(0))
		inUse := map[uint32]bool{}
		for _, w := range words(b) {
			addr := base + w // zeros and small numbers are near the pool
			if r.rx.Posted() == 0 {
				return
			}
			r.m.ForgeBuffers(addr)
			r.deliver(1, 100)
			frames := make([]ring.Frame, 2)
			for _, fr := range frames[:r.rx.Harvest(frames)] {
				p := fr.Pieces[0]
				if got := uint32(r.pool.Addr(p.Page)); got != addr || inUse[got] {
					t.Fatalf("page at %#x for buffer %#x, in use: %v", got, addr, inUse[got])
				}
				if w&1 == 0 && len(inUse) < 8 {
					inUse[addr] = true
					defer r.pool.Recycle(p.Page)
				} else {
					r.pool.Recycle(p.Page)
				}
			}
			if err := r.pool.Check(); err != nil {
				t.Fatal(err)
			}
			// The device keeps the buffer that it really took, and may name it later.
			r.rx.Refill()
		}
	})
}

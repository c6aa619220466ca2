// Package dwtest is what the tests of the drivers of GMAC4 and XGMAC share:
// descriptor memory that logs each access.
package dwtest

import (
	"testing"

	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// Memory is descriptor memory that logs the accesses to it.
type Memory struct {
	pagepool.Memory
	Log []Event
}

// Event is one access: a load, a store, or a barrier ("write", "read", "doorbell").
type Event struct {
	Kind  string
	Index int
	Value uint32
}

// DescriptorWatcher implements ring.Watched.
func (m *Memory) DescriptorWatcher() ring.Watcher { return m }

// DescriptorLoad, DescriptorStore and Barrier implement ring.Watcher.
func (m *Memory) DescriptorLoad(i int)            { m.Log = append(m.Log, Event{"load", i, 0}) }
func (m *Memory) DescriptorStore(i int, v uint32) { m.Log = append(m.Log, Event{"store", i, v}) }
func (m *Memory) Barrier(k ring.BarrierKind) {
	m.Log = append(m.Log, Event{Kind: [...]string{"write", "read", "doorbell"}[k]})
}

// Count is how many events of a kind there are.
func (m *Memory) Count(kind string) (n int) {
	for _, e := range m.Log {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// RingAddr is the device address of NewMemory's.
const RingAddr = 0x1_2345_0000

// NewMemory is memory for a ring.
func NewMemory(slots int) *Memory {
	return &Memory{Memory: pagepool.NewHeap(slots*dwregs.DescriptorSize, RingAddr)}
}

// plain hides that memory is watched: the device's side.
type plain struct{ pagepool.Memory }

func words(t *testing.T, m pagepool.Memory) *ring.Words {
	t.Helper()
	w, err := ring.NewWords(plain{m})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Words are the four words of slot in m, as the device reads them.
func Words(t *testing.T, m pagepool.Memory, slot int) *[4]uint32 {
	t.Helper()
	var d [4]uint32
	for i := range d {
		d[i] = words(t, m).Load(slot*4 + i)
	}
	return &d
}

// SetWords writes them as the device does.
func SetWords(t *testing.T, m pagepool.Memory, slot int, d [4]uint32) {
	t.Helper()
	for i := range d {
		words(t, m).Publish(slot*4+i, d[i])
	}
}

// CheckOwnOrder fails when a word with OWN is published before a barrier has
// ordered the other words of its descriptor.
func CheckOwnOrder(t *testing.T, log []Event) {
	t.Helper()
	dirty := map[int]bool{} // descriptors stored to since the last write barrier
	for _, e := range log {
		switch {
		case e.Kind == "write" || e.Kind == "doorbell":
			clear(dirty)
		case e.Kind == "store" && e.Index%4 == 3 && e.Value>>31 != 0:
			if dirty[e.Index/4] {
				t.Fatalf("OWN of slot %d before a barrier", e.Index/4)
			}
		case e.Kind == "store":
			dirty[e.Index/4] = true
		}
	}
}

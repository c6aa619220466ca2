package ring

import "sync/atomic"

// Words is the view of descriptor memory through which codecs read and write
// descriptors, 32 bits at a time. Words are stored in the device's byte order,
// which is little-endian on every core Barewire knows, as is every CPU it
// builds for.
//
// Words has one owner: whoever owns the ring that lies in it.
//
// Every access counts: descriptor memory may be uncached, where a load stalls
// for a round trip to memory. A Watcher sees each of them in tests; without
// one the check is a single predictable branch.
type Words struct {
	mem   []uint32
	watch Watcher
}

// Watcher observes descriptor accesses, in program order. A simulator
// implements it to count reads and to check that ownership is handed over in
// the right order. index is in words from the start of the memory.
type Watcher interface {
	DescriptorLoad(index int)
	DescriptorStore(index int, value uint32)
	Barrier(kind BarrierKind)
}

// BarrierKind names the points at which memory accesses are ordered for the
// device.
type BarrierKind uint8

const (
	// BarrierWrite orders the stores before it ahead of the stores after it, as
	// the device sees them: descriptor fields before OWN.
	BarrierWrite BarrierKind = iota
	// BarrierRead orders the loads before it ahead of the loads after it: OWN
	// before the other fields and before the frame.
	BarrierRead
	// BarrierDoorbell orders all earlier accesses to memory ahead of a
	// following register write: OWN before the doorbell.
	BarrierDoorbell
)

// Watched is implemented by memory (pagepool.Memory) that wants to see the
// descriptor accesses made in it.
type Watched interface {
	DescriptorWatcher() Watcher
}

// Len is the number of words.
func (w *Words) Len() int { return len(w.mem) }

// Load reads word i.
func (w *Words) Load(i int) uint32 {
	if w.watch != nil {
		w.watch.DescriptorLoad(i)
	}
	return atomic.LoadUint32(&w.mem[i])
}

// Store writes word i of a descriptor that the device does not own. The device
// may see it any time later, and in any order with other stores, until a
// barrier and Publish.
func (w *Words) Store(i int, v uint32) {
	if w.watch != nil {
		w.watch.DescriptorStore(i, v)
	}
	w.mem[i] = v
}

// Publish writes the word that holds OWN as one single store. The codec has
// called WriteBarrier since the last Store to that descriptor.
func (w *Words) Publish(i int, v uint32) {
	if w.watch != nil {
		w.watch.DescriptorStore(i, v)
	}
	atomic.StoreUint32(&w.mem[i], v)
}

// WriteBarrier makes earlier stores visible to the device before later ones.
// It stands between the fields of a descriptor and its OWN bit.
func (w *Words) WriteBarrier() {
	if w.watch != nil {
		w.watch.Barrier(BarrierWrite)
	}
	writeBarrier()
}

// ReadBarrier completes earlier loads before later ones. It stands between
// reading OWN and using anything else the device wrote.
func (w *Words) ReadBarrier() {
	if w.watch != nil {
		w.watch.Barrier(BarrierRead)
	}
	readBarrier()
}

// DoorbellBarrier completes earlier stores to memory before a following
// register write. It stands between OWN and the doorbell.
func (w *Words) DoorbellBarrier() {
	if w.watch != nil {
		w.watch.Barrier(BarrierDoorbell)
	}
	fullBarrier()
}

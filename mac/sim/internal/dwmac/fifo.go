package dwmac

// RXFrame is a frame as it goes into the FIFO and out to memory: its bytes, with
// FCS unless stripped, and the status of its last descriptor.
type RXFrame struct {
	Pieces   [3][]byte
	N        int // bytes in all pieces
	Channel  int
	Status   [4]uint32 // words of the descriptor, as the model will
	Cut      bool      // never write the last descriptor
	NoFirst  bool      // do not mark the first descriptor
	BadCount bool      // write a junk length
	Context  bool      // a context descriptor follows
}

// CopyTo copies the bytes from off on.
func (f *RXFrame) CopyTo(dst []byte, off int) {
	for _, p := range f.Pieces {
		if off >= len(p) {
			off -= len(p)
			continue
		}
		n := copy(dst, p[off:])
		dst, off = dst[n:], 0
	}
}

// FIFO is a receive FIFO, or one queue of it: frames that DMA has not taken yet.
// The entries and their memory are used again and again. The caller serialises its
// methods.
type FIFO struct {
	ring  []fifoEntry
	head  int
	count int
	bytes int
}

type fifoEntry struct {
	frame RXFrame
	data  []byte
}

// Footprint is the room that a frame of n bytes takes, status included.
func Footprint(n int) int { return (n + 15) &^ 7 }

// Len is the number of frames, Bytes the room that they take.
func (q *FIFO) Len() int   { return q.count }
func (q *FIFO) Bytes() int { return q.bytes }

// First is the oldest frame, valid until the next Push or Pop.
func (q *FIFO) First() *RXFrame { return &q.ring[q.head].frame }

// Push adds a copy of f.
func (q *FIFO) Push(f *RXFrame) {
	if q.count == len(q.ring) {
		ring := make([]fifoEntry, 2*len(q.ring)+8)
		for i := range q.count {
			ring[i] = q.ring[(q.head+i)%len(q.ring)]
		}
		q.ring, q.head = ring, 0
	}
	e := &q.ring[(q.head+q.count)%len(q.ring)]
	if cap(e.data) < f.N {
		e.data = make([]byte, f.N, max(f.N, 2048))
	}
	e.data = e.data[:f.N]
	f.CopyTo(e.data, 0)
	e.frame = *f
	e.frame.Pieces = [3][]byte{e.data}
	q.count++
	q.bytes += Footprint(f.N)
}

// Pop removes the oldest frame.
func (q *FIFO) Pop() {
	q.bytes -= Footprint(q.First().N)
	q.head = (q.head + 1) % len(q.ring)
	q.count--
}

// Reset empties the FIFO.
func (q *FIFO) Reset() { q.head, q.count, q.bytes = 0, 0, 0 }

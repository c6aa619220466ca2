package mvneta

import (
	"github.com/barewire/barewire/mac/internal/neta"
)

// fifo is the receive FIFO: frames that wait for descriptors. The entries and
// their memory are used again and again.
type fifo struct {
	ring   []rxFrame
	head   int
	count  int
	bytes  int
	paused bool // the partner has been sent a pause
}

// rxFrame is a frame as it goes to memory: Marvell header, frame, FCS.
type rxFrame struct {
	queue    int
	data     []byte
	status   uint32
	size     uint32 // as it is written to the descriptor
	cut      bool   // never end it
	noFirst  bool   // do not mark its first descriptor
	overflow bool
}

func (f *fifo) first() *rxFrame { return &f.ring[f.head] }

// push copies a frame to the end.
func (f *fifo) push(r *rxFrame) {
	if f.count == len(f.ring) {
		ring := make([]rxFrame, 2*len(f.ring)+8)
		for i := range f.count {
			ring[i] = f.ring[(f.head+i)%len(f.ring)]
		}
		f.ring, f.head = ring, 0
	}
	e := &f.ring[(f.head+f.count)%len(f.ring)]
	data := append(e.data[:0], r.data...)
	*e = *r
	e.data = data
	f.count++
	f.bytes += len(data)
}

func (f *fifo) pop() {
	f.bytes -= len(f.first().data)
	f.head = (f.head + 1) % len(f.ring)
	f.count--
}

func (f *fifo) reset() { f.head, f.count, f.bytes, f.paused = 0, 0, 0, false }

// queueFrame puts a frame into the FIFO and moves on what can be moved.
func (m *Model) queueFrame(r *rxFrame) {
	if m.fifo.bytes+len(r.data) > m.cfg.RXFIFO {
		m.count(neta.Overrun, 1)
		m.misc(neta.MiscRXOverrun)
		return
	}
	m.fifo.push(r)
	m.pumpRX()
}

// pumpRX moves frames from the FIFO to memory, in order: one that waits for
// descriptors holds up those behind it.
func (m *Model) pumpRX() {
	for m.fifo.count > 0 && !m.dead && m.transfer(m.fifo.first()) {
		m.fifo.pop()
	}
	m.flowControl()
}

// flowControl asks for a pause frame when the FIFO is more than half full, and
// for its end below a quarter.
func (m *Model) flowControl() {
	if !m.pauses() {
		return
	}
	switch {
	case !m.fifo.paused && m.fifo.bytes > m.cfg.RXFIFO/2:
		m.fifo.paused, m.tx.pause = true, pauseOn
	case m.fifo.paused && m.fifo.bytes <= m.cfg.RXFIFO/4:
		m.fifo.paused, m.tx.pause = false, pauseOff
	default:
		return
	}
	m.tx.wanted = true
}

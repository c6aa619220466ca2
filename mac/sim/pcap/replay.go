package pcap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/barewire/barewire/mac/sim"
)

// ErrClosed means that a replay was closed before its end.
var ErrClosed = errors.New("replay closed")

// ReplayOptions are the options of NewReplay.
type ReplayOptions struct {
	// Spaced sends the frames with the spacing they were recorded with, as Clock
	// tells. Otherwise they are sent one right after the other.
	Spaced bool
	// Clock times the spacing. nil means wall time.
	Clock sim.Clock
	// Record, when set, records what is delivered to the port.
	Record *Writer
	// Keep is how many delivered frames Received keeps, the first ones. 0 means
	// 1024, negative none.
	Keep int
}

// ReplayStats are the counts of a Replay.
type ReplayStats struct {
	Sent          uint64 `json:"sent"`
	SentBytes     uint64 `json:"sent_bytes"`
	Received      uint64 `json:"received"`
	ReceivedBytes uint64 `json:"received_bytes"`
	// Unplugged frames were read while no wire was plugged in.
	Unplugged uint64 `json:"unplugged"`
}

var _ sim.Port = (*Replay)(nil)

// Replay is a port that sends the frames of a file and keeps what it receives.
// Its methods may be called from any goroutine.
type Replay struct {
	clock  sim.Clock
	spaced bool
	record *Writer
	keep   int

	// file and frame belong to the one goroutine that plays.
	file  *reader
	frame []byte // read and not yet due
	stamp time.Time
	first time.Time // stamp of the first frame
	begin time.Time // when that was sent

	mu       sync.Mutex
	transmit func([]byte)
	timer    sim.Timer
	started  bool
	closed   bool
	err      error
	done     chan struct{}
	stats    ReplayStats
	received [][]byte
}

// NewReplay opens a recording. It reads the header at once, and the frames when
// they are sent. nil options are the defaults. Errors wrap ErrFormat or
// ErrLinkType.
func NewReplay(r io.Reader, o *ReplayOptions) (*Replay, error) {
	if o == nil {
		o = &ReplayOptions{}
	}
	file, err := newReader(r)
	if err != nil {
		return nil, err
	}
	p := &Replay{clock: o.Clock, spaced: o.Spaced, record: o.Record, keep: o.Keep, file: file, done: make(chan struct{})}
	if p.clock == nil {
		p.clock = sim.RealClock{}
	}
	if p.keep == 0 {
		p.keep = 1024
	}
	return p, nil
}

// Start begins to send. Without spacing it returns when all frames have been
// sent, which can wait for the wire. With spacing it sends what is due now and
// leaves the rest to the clock. A second Start does nothing. The end and its
// error are Wait's.
func (p *Replay) Start() {
	p.mu.Lock()
	first := !p.started && !p.closed
	p.started = true
	p.mu.Unlock()
	if first {
		p.play()
	}
}

// play sends frames until one is not due yet, or the end.
func (p *Replay) play() {
	for {
		if p.frame == nil && !p.read() {
			return
		}
		if p.spaced && p.later() {
			return
		}
		if !p.send() {
			return
		}
	}
}

// read reads the next frame. It reports false at the end.
func (p *Replay) read() bool {
	frame, stamp, err := p.file.next()
	if err != nil {
		if err == io.EOF {
			err = nil
		}
		p.mu.Lock()
		p.finish(err)
		p.mu.Unlock()
		return false
	}
	p.frame, p.stamp = frame, stamp
	if p.file.n == 1 {
		p.first, p.begin = stamp, p.clock.Now()
	}
	return true
}

// later leaves the frame to a timer when it is not due yet.
func (p *Replay) later() bool {
	wait := p.begin.Add(p.stamp.Sub(p.first)).Sub(p.clock.Now())
	if wait <= 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		p.finish(ErrClosed)
		return true
	}
	p.timer = p.clock.AfterFunc(wait, p.play)
	return true
}

// send transmits the frame. It reports false when the replay has been closed.
func (p *Replay) send() bool {
	p.mu.Lock()
	if p.closed {
		p.finish(ErrClosed)
		p.mu.Unlock()
		return false
	}
	transmit := p.transmit
	if transmit == nil {
		p.stats.Unplugged++
	} else {
		p.stats.Sent++
		p.stats.SentBytes += uint64(len(p.frame))
	}
	p.mu.Unlock()
	if transmit != nil {
		transmit(p.frame)
	}
	p.frame = nil
	return true
}

// finish ends the replay. The caller holds mu.
func (p *Replay) finish(err error) {
	select {
	case <-p.done:
	default:
		p.err = err
		close(p.done)
	}
}

// Wait waits until the last frame has been sent, or ctx is done. It returns nil
// then, an error that wraps ErrFormat, ErrLinkType or ErrCut when the file is at
// fault, and ErrClosed after Close.
func (p *Replay) Wait(ctx context.Context) error {
	select {
	case <-p.done:
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.err
	case <-ctx.Done():
		return fmt.Errorf("pcap: replay: %w", context.Cause(ctx))
	}
}

// Close ends the replay: no further frame is sent. It does not wait for a
// transmit function that has a frame; Wait does.
func (p *Replay) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if !p.started || p.timer != nil && p.timer.Stop() {
		p.finish(ErrClosed)
	}
	return nil
}

// OnTransmit implements sim.Port.
func (p *Replay) OnTransmit(f func(frame []byte)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.transmit = f
}

// Deliver implements sim.Port: it counts, records and keeps the frame.
func (p *Replay) Deliver(frame []byte) {
	if p.record != nil {
		p.record.Frame(frame)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Received++
	p.stats.ReceivedBytes += uint64(len(frame))
	if len(p.received) < p.keep {
		p.received = append(p.received, append([]byte(nil), frame...))
	}
}

// Received returns the delivered frames that were kept (ReplayOptions.Keep).
func (p *Replay) Received() [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([][]byte(nil), p.received...)
}

// Stats returns the counts so far.
func (p *Replay) Stats() ReplayStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

// Package pcap records what a wire carries, and plays recordings back onto one.
//
// Writer writes classic pcap with nanosecond stamps, which tcpdump and Wireshark
// read; it is a tap of a cable. Replay is a port that sends the frames of a pcap
// or pcapng file.
package pcap

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/cable"
)

const (
	fileHeaderLen   = 24
	recordHeaderLen = 16
	// maxSnapLen is the longest record that libpcap takes (MAXIMUM_SNAPLEN).
	maxSnapLen = 262144
)

// WriterOptions are the options of NewWriter and Create.
type WriterOptions struct {
	// Clock stamps the frames. nil means wall time.
	Clock sim.Clock
	// SnapLen is how many bytes of each frame are kept, 1 to 262144. 0 means
	// all, up to 262144.
	SnapLen int
	// MaxBytes bounds the size of the file. Frames from the first that does not
	// fit are counted and not written. 0 means no bound.
	MaxBytes int64
}

// WriterStats are the counts of a Writer.
type WriterStats struct {
	Frames uint64 `json:"frames"`
	Bytes  int64  `json:"bytes"` // of the file, with all headers
	// Cut frames were longer than SnapLen. Skipped ones were not written: the
	// file is full, closed, or could not be written.
	Cut     uint64 `json:"cut"`
	Skipped uint64 `json:"skipped"`
}

// Writer writes frames to a pcap file. Its methods may be called from any
// goroutine.
type Writer struct {
	clock    sim.Clock
	snapLen  int
	maxBytes int64

	mu     sync.Mutex
	buf    *bufio.Writer
	pcap   *pcapgo.Writer
	file   io.Closer // nil when the caller owns it
	stats  WriterStats
	full   bool
	closed bool
	err    error // the first error of the file
}

// NewWriter writes a pcap file to w, beginning with its header. w stays the
// caller's to close, after Close or Flush. nil options are the defaults.
func NewWriter(w io.Writer, o *WriterOptions) (*Writer, error) {
	if o == nil {
		o = &WriterOptions{}
	}
	if o.SnapLen < 0 || o.SnapLen > maxSnapLen {
		return nil, fmt.Errorf("pcap: snap length %d is not within 1 to %d, or 0 for all", o.SnapLen, maxSnapLen)
	}
	if o.MaxBytes < 0 || o.MaxBytes > 0 && o.MaxBytes < fileHeaderLen {
		return nil, fmt.Errorf("pcap: size limit %d is below the %d bytes of the file header", o.MaxBytes, fileHeaderLen)
	}
	p := &Writer{clock: o.Clock, snapLen: o.SnapLen, maxBytes: o.MaxBytes, buf: bufio.NewWriterSize(w, 64<<10)}
	if p.clock == nil {
		p.clock = sim.RealClock{}
	}
	if p.snapLen == 0 {
		p.snapLen = maxSnapLen
	}
	p.pcap = pcapgo.NewWriterNanos(p.buf)
	if err := p.pcap.WriteFileHeader(uint32(p.snapLen), layers.LinkTypeEthernet); err != nil {
		return nil, fmt.Errorf("pcap: write header: %w", err)
	}
	p.stats.Bytes = fileHeaderLen
	return p, nil
}

// Create makes the named file, or empties it, and writes to it. Close closes it.
func Create(name string, o *WriterOptions) (*Writer, error) {
	f, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("pcap: %w", err)
	}
	w, err := NewWriter(f, o)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	w.file = f
	return w, nil
}

// Tap records a frame that goes through a cable: pass the method in
// cable.Options.Taps.
func (w *Writer) Tap(_ cable.Direction, frame []byte) { w.Frame(frame) }

// Frame records a frame, without FCS, with the time it is now. Errors of the
// file are kept for Flush and Close.
func (w *Writer) Frame(frame []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	kept := frame[:min(len(frame), w.snapLen)]
	size := int64(recordHeaderLen + len(kept))
	if w.maxBytes > 0 && w.stats.Bytes+size > w.maxBytes {
		w.full = true
	}
	if w.full || w.closed || w.err != nil {
		w.stats.Skipped++
		return
	}
	now := w.clock.Now()
	if now.IsZero() {
		now = time.Unix(0, 0) // pcapgo takes a zero time for the wall clock's
	}
	info := gopacket.CaptureInfo{Timestamp: now, CaptureLength: len(kept), Length: len(frame)}
	if err := w.pcap.WritePacket(info, kept); err != nil {
		w.err = fmt.Errorf("pcap: write frame %d: %w", w.stats.Frames+1, err)
		w.stats.Skipped++
		return
	}
	w.stats.Frames++
	w.stats.Bytes += size
	if len(kept) < len(frame) {
		w.stats.Cut++
	}
}

// Flush writes out what is buffered and returns the first error of the file.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.flush()
}

func (w *Writer) flush() error {
	if w.err == nil && !w.closed {
		if err := w.buf.Flush(); err != nil {
			w.err = fmt.Errorf("pcap: write: %w", err)
		}
	}
	return w.err
}

// Close flushes and ends the recording: later frames are counted as skipped. It
// returns the first error of the file and may be called more than once.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return w.err
	}
	err := w.flush()
	w.closed = true
	if w.file != nil {
		w.err = errors.Join(err, w.file.Close())
	}
	return w.err
}

// Stats returns the counts so far.
func (w *Writer) Stats() WriterStats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stats
}

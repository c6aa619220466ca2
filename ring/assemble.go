package ring

import "github.com/barewire/barewire/pagepool"

// accept puts one completed descriptor into the frame in assembly and reports
// whether that finished one into f.
func (r *RX) accept(page pagepool.Page, c *Completion, f *Frame) bool {
	if c.Flags&NoData != 0 {
		r.cfg.Pool.Recycle(page)
		return false
	}
	last := c.Flags&Last != 0
	if c.Flags&First != 0 {
		if r.open && !r.skipping {
			r.drop(&r.stats.MissingLast)
		}
		r.open, r.skipping, r.length = true, false, 0
	} else if !r.open {
		// The rest of a frame whose beginning never came. It is counted once.
		if !r.skipping {
			r.stats.MissingFirst++
		}
		r.skipping = !last
		r.cfg.Pool.Recycle(page)
		return false
	}
	if r.skipping {
		r.cfg.Pool.Recycle(page)
		r.open = !last
		r.skipping = !last
		return false
	}

	size, ok := r.pieceSize(c, last)
	r.pieces = append(r.pieces, Piece{Page: page, Off: uint32(r.cfg.Headroom), Len: size})
	r.length += size
	if skip := uint32(r.cfg.Skip); skip > 0 && c.Flags&First != 0 {
		ok = ok && size > skip
		p := &r.pieces[len(r.pieces)-1]
		p.Off, p.Len = p.Off+skip, p.Len-skip
	}
	switch {
	case c.Flags&ErrAny != 0:
		r.drop(r.stats.reason(c.Flags))
	case !ok:
		r.drop(&r.stats.BadLength)
	case r.length > r.maxWire() || r.Assembling() > r.framePieces():
		r.drop(&r.stats.TooLong)
	case last:
		return r.finish(c, f)
	}
	r.open = !last
	r.skipping = r.skipping && !last
	return false
}

// pieceSize is the number of bytes of this descriptor's buffer that belong to
// the frame; ok is false when the device wrote a length that cannot be.
func (r *RX) pieceSize(c *Completion, last bool) (size uint32, ok bool) {
	room := uint32(r.cfg.BufferSize)
	size = c.Len
	if r.cfg.TotalLength {
		if !last {
			return room, true
		}
		size = c.Len - r.length // wraps to something huge when Len is too small
	}
	if size < 1 || size > room {
		return 0, false
	}
	return size, true
}

// unknown handles a descriptor whose buffer nobody knows: the frame that it
// belongs to is dropped, and counted once.
func (r *RX) unknown(c *Completion) {
	if !r.skipping || c.Flags&First != 0 {
		r.drop(&r.stats.UnknownBuffer)
	}
	last := c.Flags&Last != 0
	r.open, r.skipping, r.length = !last, !last, 0
}

// finish completes the frame in assembly into f, unless its length is wrong.
func (r *RX) finish(c *Completion, f *Frame) bool {
	r.length -= uint32(r.cfg.Skip)
	if r.length < uint32(c.Trim)+minFrame {
		r.drop(&r.stats.BadLength)
		r.open, r.skipping = false, false
		return false
	}
	trailer := uint32(0)
	if c.Flags&Trailer != 0 {
		trailer = r.trailer(min(int(c.Trim), 4))
	}
	r.trim(uint32(c.Trim))
	if r.length > uint32(r.cfg.MaxFrame) {
		r.drop(&r.stats.TooLong)
		r.open, r.skipping = false, false
		return false
	}
	pieces := r.pieces[r.start:len(r.pieces):len(r.pieces)]
	for _, p := range pieces {
		r.cfg.Pool.SyncForCPU(p.Page, int(p.Off), int(p.Len))
	}
	*f = Frame{Pieces: pieces, Len: r.length, Flags: c.Flags & (ChecksumGood | ChecksumBad | Trailer), Trailer: trailer}
	r.stats.Frames++
	r.stats.Bytes += uint64(r.length)
	r.start = len(r.pieces)
	r.open = false
	return true
}

// trailer reads the last n bytes of the frame, 4 at most, which may straddle
// buffers.
func (r *RX) trailer(n int) (v uint32) {
	for i := len(r.pieces) - 1; n > 0; i-- {
		p := r.pieces[i]
		from := max(int(p.Len)-n, 0)
		r.cfg.Pool.SyncForCPU(p.Page, int(p.Off)+from, int(p.Len)-from)
		b := r.cfg.Pool.Bytes(p.Page)[p.Off : p.Off+p.Len]
		for k := len(b) - 1; k >= from; k-- {
			v = v<<8 | uint32(b[k])
		}
		n -= len(b) - from
	}
	return v
}

// trim takes n bytes off the end of the frame, going back over pieces where the
// trailer straddles buffers.
func (r *RX) trim(n uint32) {
	r.length -= n
	for n > 0 {
		p := &r.pieces[len(r.pieces)-1]
		if p.Len > n {
			p.Len -= n
			return
		}
		n -= p.Len
		r.cfg.Pool.Recycle(p.Page)
		r.pieces = r.pieces[:len(r.pieces)-1]
	}
}

// drop recycles the pages of the frame in assembly, counts it, and has the rest
// of it skipped.
func (r *RX) drop(count *uint64) {
	*count++
	for _, p := range r.pieces[r.start:] {
		r.cfg.Pool.Recycle(p.Page)
	}
	r.pieces = r.pieces[:r.start]
	r.skipping = true
}

func (s *RXStats) reason(f Flags) *uint64 {
	switch {
	case f&ErrOverflow != 0:
		return &s.Overflow
	case f&ErrCRC != 0:
		return &s.CRC
	case f&ErrLength != 0:
		return &s.Length
	case f&ErrFrame != 0:
		return &s.Framing
	default:
		return &s.Receive
	}
}

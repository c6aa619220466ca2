// Package fifo is a bounded queue of frames in pooled buffers, with one reader
// that takes whatever is queued at once.
package fifo

import "sync"

// Queue holds copies of frames, in order. Any number of goroutines put frames
// in, one takes them out.
//
// A buffer is owned by the queue while it is free or queued, and by the reader
// from the Next that returned it until the next Next. Free buffers are reused
// last in, first out, so that a queue that is mostly empty stays in cache.
type Queue struct {
	mu       sync.Mutex
	notEmpty sync.Cond
	notFull  sync.Cond

	ring   [][]byte // queued frames, a power of two in length
	head   uint     // next to take
	tail   uint     // next to fill
	depth  uint     // most frames queued
	free   [][]byte
	out    [][]byte // the reader's batch
	closed bool
}

// New returns a queue of at most depth frames, whose Next returns at most batch
// of them. Both are at least 1.
func New(depth, batch int) *Queue {
	depth, batch = max(depth, 1), max(batch, 1)
	size := 1
	for size < depth {
		size <<= 1
	}
	q := &Queue{
		ring:  make([][]byte, size),
		depth: uint(depth),
		free:  make([][]byte, depth+batch),
		out:   make([][]byte, 0, batch),
	}
	q.notEmpty.L = &q.mu
	q.notFull.L = &q.mu
	return q
}

// Put queues a copy of frame. When the queue is full it waits for space if wait
// is set, and fails otherwise. It fails on a closed queue, and when the queue is
// closed while it waits. waited reports whether it had to wait.
func (q *Queue) Put(frame []byte, wait bool) (ok, waited bool) {
	q.mu.Lock()
	for q.tail-q.head == q.depth && wait && !q.closed {
		waited = true
		q.notFull.Wait()
	}
	if q.closed || q.tail-q.head == q.depth {
		q.mu.Unlock()
		return false, waited
	}
	// At most depth buffers are queued and batch are the reader's, so that there
	// is always a free one.
	last := len(q.free) - 1
	buf := q.free[last]
	q.free = q.free[:last]
	q.ring[q.tail&uint(len(q.ring)-1)] = append(buf[:0], frame...)
	q.tail++
	first := q.tail-q.head == 1
	q.mu.Unlock()
	if first {
		q.notEmpty.Signal()
	}
	return true, waited
}

// Next returns the next frames, at most limit of them. They are valid until the
// next call. When none is queued it waits if wait is set, and returns none
// otherwise. After Close it returns none at once.
func (q *Queue) Next(limit int, wait bool) [][]byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.free = append(q.free, q.out...)
	q.out = q.out[:0]
	for q.head == q.tail && wait && !q.closed {
		q.notEmpty.Wait()
	}
	if q.closed {
		return nil
	}
	full := q.tail-q.head == q.depth
	for q.head != q.tail && len(q.out) < min(limit, cap(q.out)) {
		slot := &q.ring[q.head&uint(len(q.ring)-1)]
		q.out = append(q.out, *slot)
		*slot = nil
		q.head++
	}
	if full {
		q.notFull.Broadcast()
	}
	return q.out
}

// Len returns how many frames are queued.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return int(q.tail - q.head)
}

// Close discards what is queued, returns how much that was, and ends every wait.
func (q *Queue) Close() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	left := int(q.tail - q.head)
	q.closed = true
	q.head = q.tail
	clear(q.ring)
	q.notEmpty.Broadcast()
	q.notFull.Broadcast()
	return left
}

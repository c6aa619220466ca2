package mvneta

import (
	"encoding/binary"
	"sync/atomic"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/neta"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/internal/offload"
)

// transmitter is the transmit half. running says that somebody runs the engine;
// others leave it to him, since he looks again after each frame for which he let
// go of mu.
type transmitter struct {
	running bool
	wanted  bool   // the engine is to look, as soon as mu is free
	gen     uint64 // changes with every reset
	out     func(frame []byte)
	control [60]byte // a pause frame
	scratch []byte   // a frame on its way in

	pause  uint32    // a pause frame to send: pauseOn or pauseOff
	until  time.Time // paused by the partner; zero: not
	resume sim.Timer
}

const (
	pauseOn  = 1
	pauseOff = 2
	opPause  = 1
)

// txQueue is one transmit queue.
type txQueue struct {
	pending, sent int
	index         int
	data          []byte // the frame gathered
	busy          bool   // it is on its way
	stopping      bool   // disabled with a frame on its way
	stuck         bool   // a frame that cannot leave
}

// commandTX enables and disables queues. One that is at a frame ends it first.
func (m *Model) commandTX(v uint32) {
	on := m.load(neta.TXCommandReg)
	for q := range m.txq {
		bit := uint32(1) << q
		switch {
		case field.Get(neta.CommandDisable, v)&bit != 0:
			if m.txq[q].stopping = m.txq[q].busy; !m.txq[q].busy {
				on &^= bit
			}
		case v&bit != 0:
			m.txq[q].stopping = false
			on |= bit
		}
	}
	m.store(neta.TXCommandReg, on)
	m.tx.wanted = true
}

// updateTX is a write to the update register of queue q.
func (m *Model) updateTX(q int, v uint32) {
	if m.inReset(neta.TXDMAReset) {
		return
	}
	t := &m.txq[q]
	taken, added := int(field.Get(neta.TXUpdateTaken, v)), int(field.Get(neta.TXUpdateAdded, v))
	if taken > t.sent {
		m.bad.Record("transmit queue %d: %d descriptors taken, %d are sent", q, taken, t.sent)
		taken = t.sent
	}
	t.sent -= taken
	if slots := m.txSlots(q); t.pending+t.sent+added > slots {
		m.bad.Record("transmit queue %d: %d descriptors pending, %d sent and %d added in a ring of %d", q, t.pending, t.sent, added, slots)
		added = max(slots-t.pending-t.sent, 0)
	}
	t.pending += added
	m.tx.wanted = m.tx.wanted || added > 0
}

func (m *Model) txSlots(q int) int {
	return int(field.Get(neta.TXSizeSlots, m.load(neta.TXRingSize(q))))
}

// pumpTX is the transmit engine: it sends what the queues hold, one frame of each
// in turn.
func (m *Model) pumpTX() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tx.running {
		return
	}
	m.tx.running = true
	for more := true; more && !m.closed.Load(); {
		m.tx.wanted = false
		more = m.sendPause()
		for q := range m.txq {
			more = m.sendOne(q) || more
		}
		more = more || m.tx.wanted
	}
	m.tx.running = false
	m.updateLine()
}

// sendOne sends the next frame of queue q and reports whether there was one.
func (m *Model) sendOne(q int) bool {
	t := &m.txq[q]
	off := m.load(neta.TXCommandReg)>>q&1 == 0 || m.load(neta.TokenConfig(q)) == 0 || m.load(neta.TokenCount(q)) == 0
	if off || t.stuck || m.dead || !m.up() || !m.link.Up || !m.tx.until.IsZero() {
		return false
	}
	used, command, ok := m.gather(q)
	if !ok {
		return false
	}
	f := t.data
	if command&neta.TXPad != 0 {
		for len(f) < minFrame-fcsLen {
			f = append(f, 0)
		}
	}
	bits := uint32(8 * (len(f) + fcsLen))
	if limit := m.load(neta.PortMTU); bits > limit || m.load(neta.PortTokenSize) < limit || m.load(neta.TokenSize(q)) < limit {
		t.stuck = true
		m.bad.Record("transmit queue %d: a frame of %d bytes stalls: largest %d bits, buckets %#x and %#x", q, len(f), limit, m.load(neta.PortTokenSize), m.load(neta.TokenSize(q)))
		return false
	}
	m.insert(q, f, command)
	gen := m.tx.gen
	t.busy = true
	m.emit(f)
	if m.tx.gen != gen {
		return true
	}
	t.data, t.busy = f[:0], false
	m.stats.TX[q]++
	t.index = (t.index + used) % max(m.txSlots(q), 1)
	t.pending -= used
	if !m.faults.Hit(sim.StuckOwn) {
		t.sent += used
	}
	if t.stopping {
		t.stopping = false
		m.store(neta.TXCommandReg, m.load(neta.TXCommandReg)&^(1<<q))
	}
	m.updateLine()
	return true
}

// gather collects the next frame of queue q if all of it is there. It returns how
// many descriptors that took and the command of the first.
func (m *Model) gather(q int) (used int, command uint32, ok bool) {
	t := &m.txq[q]
	t.data = t.data[:0]
	for used < t.pending {
		w, ok := m.descriptor(m.load(neta.TXBase(q)), (t.index+used)%m.txSlots(q), false)
		if !ok {
			return 0, 0, false
		}
		c := atomic.LoadUint32(&w[neta.TXCommand])
		if first := c&neta.TXFirst != 0; first != (used == 0) {
			m.bad.Record("transmit queue %d: descriptor %d of a frame has FIRST %v", q, used, first)
			t.stuck = true
			return 0, 0, false
		}
		b, ok := m.reach(w[neta.TXBuffer], int(field.Get(neta.TXSizeBytes, w[neta.TXSize])), false, sim.TXBusError)
		if !ok {
			return 0, 0, false
		}
		if used == 0 {
			command = c
		}
		t.data = append(t.data, b...)
		used++
		if c&neta.TXLast != 0 {
			return used, command | c&neta.TXPad, len(t.data) >= 14
		}
	}
	return 0, 0, false
}

// insert puts checksums into a frame, where the descriptor says that the headers
// are. Beyond the limit of the engine they come out wrong.
func (m *Model) insert(q int, f []byte, command uint32) {
	l4 := field.Get(neta.TXL4Mode, command)
	layout := offload.Layout{
		L3: int(field.Get(neta.TXL3Offset, command)), Header: 4 * int(field.Get(neta.TXIPHeader, command)),
		IPv6: command&neta.TXIPv6 != 0, UDP: command&neta.TXUDP != 0,
		InsertHeader: command&neta.TXIPChecksum != 0, InsertPayload: l4 == neta.TXL4Full,
	}
	if l4 == neta.TXL4Partial {
		m.bad.Record("transmit queue %d: partial checksum asked for", q)
	}
	if !layout.InsertHeader && !layout.InsertPayload {
		return
	}
	m.stats.Checksums++
	if !offload.InsertAt(f, layout) {
		m.bad.Record("transmit queue %d: checksum asked for with headers at %d and %d", q, layout.L3, layout.L3+layout.Header)
	}
	if len(f) > m.cfg.ChecksumLimit {
		m.bad.Record("transmit queue %d: checksum asked for in a frame of %d bytes, the limit is %d", q, len(f), m.cfg.ChecksumLimit)
		f[len(f)-1] ^= 0xFF
	}
}

// emit counts a frame and puts it on the wire with the lock released.
func (m *Model) emit(f []byte) {
	n := len(f) + fcsLen
	m.count(neta.MIBTXFrames, 1)
	m.count(neta.MIBTXOctets, n)
	m.countFrame(n)
	switch a := mac.HardwareAddr(f[:6]); {
	case a == mac.Broadcast:
		m.count(neta.MIBTXBroadcast, 1)
	case a.Multicast():
		m.count(neta.MIBTXMulticast, 1)
	}
	out, wire := m.tx.out, m.onWire()
	m.mu.Unlock()
	if out != nil && wire {
		out(f)
	}
	m.mu.Lock()
}

// pauseAddr is the group address of IEEE 802.3 Annex 31B.
var pauseAddr = mac.HardwareAddr{0x01, 0x80, 0xc2, 0x00, 0x00, 0x01}

// sendPause sends the pause frame that the receiver asked for. A pause from the
// partner does not hold it up.
func (m *Model) sendPause() bool {
	if m.tx.pause == 0 || !m.up() || !m.link.Up {
		return false
	}
	kind := m.tx.pause
	m.tx.pause = 0
	f := m.tx.control[:]
	clear(f)
	copy(f, pauseAddr[:])
	binary.BigEndian.PutUint32(f[6:], m.load(neta.MACHigh))
	binary.BigEndian.PutUint16(f[10:], uint16(m.load(neta.MACLow)))
	binary.BigEndian.PutUint16(f[12:], typeControl)
	binary.BigEndian.PutUint16(f[14:], opPause)
	if kind == pauseOn {
		binary.BigEndian.PutUint16(f[16:], 0xFFFF)
	}
	m.count(neta.MIBTXPause, 1)
	m.emit(f)
	return true
}

// control looks at a received MAC control frame, which goes no further.
func (m *Model) control(f []byte, good bool) {
	switch a := mac.HardwareAddr(f[:6]); {
	case !good:
		m.count(neta.MIBRXBadPause, 1)
		return
	case binary.BigEndian.Uint16(f[14:]) != opPause || a != pauseAddr:
		m.count(neta.MIBRXUnknownCtrl, 1)
		return
	}
	m.count(neta.MIBRXPause, 1)
	if !m.pauses() {
		return
	}
	if m.tx.resume != nil {
		m.tx.resume.Stop()
	}
	quanta := time.Duration(binary.BigEndian.Uint16(f[16:]))
	if quanta == 0 {
		m.tx.until = time.Time{}
		m.tx.wanted = true
		return
	}
	// One quantum is 512 bit times.
	d := quanta * 512 * time.Microsecond / time.Duration(max(m.link.Speed, 10))
	m.tx.until = m.clock.Now().Add(d)
	if m.tx.resume == nil {
		m.tx.resume = m.clock.AfterFunc(d, m.pauseOver)
	} else {
		m.tx.resume.Reset(d)
	}
}

func (m *Model) pauseOver() {
	m.mu.Lock()
	over := !m.tx.until.IsZero() && !m.clock.Now().Before(m.tx.until)
	if over {
		m.tx.until = time.Time{}
	}
	m.mu.Unlock()
	if over {
		m.kickTX()
	}
}

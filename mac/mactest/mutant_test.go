package mactest

import (
	"context"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// mutant is a driver with one fault. Each field that is set replaces a method.
type mutant struct {
	mac.Core
	rx          func(ring.RXCodec, *ring.Words, int) ring.RXCodec
	tx          func(ring.TXCodec) ring.TXCodec
	info        func(mac.Info) mac.Info
	reset, stop func() error
	filter      func(mac.Filter) error
	setAddress  func(mac.HardwareAddr) error
	configure   func(mac.Setup) mac.Setup
	ack, unmask func(int)
	unmaskTX    func(int)
	watchdog    func(q, usecs int) (int, error)
	counters    func(*mac.Counters)
	interrupt   func(mac.Events) mac.Events
}

func (m *mutant) NewRX(q int, desc pagepool.Memory, slots, size int) (ring.RXCodec, error) {
	c, err := m.Core.NewRX(q, desc, slots, size)
	if err == nil && m.rx != nil {
		words, werr := ring.NewWords(desc)
		return m.rx(c, words, slots), werr
	}
	return c, err
}

func (m *mutant) NewTX(q int, desc pagepool.Memory, slots int) (ring.TXCodec, error) {
	c, err := m.Core.NewTX(q, desc, slots)
	if err == nil && m.tx != nil {
		c = m.tx(c)
	}
	return c, err
}

func (m *mutant) Info() mac.Info {
	if m.info != nil {
		return m.info(m.Core.Info())
	}
	return m.Core.Info()
}

func (m *mutant) Reset(ctx context.Context) error {
	if m.reset != nil {
		return m.reset()
	}
	return m.Core.Reset(ctx)
}

func (m *mutant) Stop() error {
	if m.stop != nil {
		return m.stop()
	}
	return m.Core.Stop()
}

func (m *mutant) SetFilter(f mac.Filter) error {
	if m.filter != nil {
		return m.filter(f)
	}
	return m.Core.SetFilter(f)
}

func (m *mutant) SetAddress(a mac.HardwareAddr) error {
	if m.setAddress != nil {
		return m.setAddress(a)
	}
	return m.Core.SetAddress(a)
}

func (m *mutant) Configure(s mac.Setup) error {
	if m.configure != nil {
		s = m.configure(s)
	}
	return m.Core.Configure(s)
}

func (m *mutant) Ack(q int) {
	if m.ack != nil {
		m.ack(q)
		return
	}
	m.Core.Ack(q)
}

func (m *mutant) Unmask(q int) {
	if m.unmask != nil {
		m.unmask(q)
		return
	}
	m.Core.Unmask(q)
}

func (m *mutant) UnmaskTX(q int) {
	if m.unmaskTX != nil {
		m.unmaskTX(q)
		return
	}
	m.Core.UnmaskTX(q)
}

func (m *mutant) SetWatchdog(q, usecs int) (int, error) {
	if m.watchdog != nil {
		return m.watchdog(q, usecs)
	}
	return m.Core.SetWatchdog(q, usecs)
}

func (m *mutant) Counters(c *mac.Counters) {
	if m.counters != nil {
		m.counters(c)
		return
	}
	m.Core.Counters(c)
}

func (m *mutant) Interrupt() mac.Events {
	ev := m.Core.Interrupt()
	if m.interrupt != nil {
		ev = m.interrupt(ev)
	}
	return ev
}

// rxMutant and txMutant are codecs with one method replaced.
type rxMutant struct {
	ring.RXCodec
	post    func(from int, bufs []ring.Buffer)
	kick    func(next int)
	harvest func(from int, out []ring.Completion) int
}

func (m rxMutant) Post(from int, bufs []ring.Buffer) {
	if m.post != nil {
		m.post(from, bufs)
		return
	}
	m.RXCodec.Post(from, bufs)
}

func (m rxMutant) Kick(next int) {
	if m.kick != nil {
		m.kick(next)
		return
	}
	m.RXCodec.Kick(next)
}

func (m rxMutant) Harvest(from int, out []ring.Completion) int {
	if m.harvest != nil {
		return m.harvest(from, out)
	}
	return m.RXCodec.Harvest(from, out)
}

type txMutant struct {
	ring.TXCodec
	fill func(at int, frames []ring.TXFrame)
	kick func(next int)
	done func(from, mark, pending int) int
}

func (m txMutant) Fill(at int, frames []ring.TXFrame) {
	if m.fill != nil {
		m.fill(at, frames)
		return
	}
	m.TXCodec.Fill(at, frames)
}

func (m txMutant) Kick(next int) {
	if m.kick != nil {
		m.kick(next)
		return
	}
	m.TXCodec.Kick(next)
}

func (m txMutant) Done(from, mark, pending int) int {
	if m.done != nil {
		return m.done(from, mark, pending)
	}
	return m.TXCodec.Done(from, mark, pending)
}

// deafMemory is descriptor memory whose watcher does not hear barriers of one kind:
// to the suite it is as if the driver had left them out.
type deafMemory struct {
	pagepool.Memory
	kind ring.BarrierKind
}

func (m deafMemory) DescriptorWatcher() ring.Watcher {
	return deafWatcher{m.Memory.(ring.Watched).DescriptorWatcher(), m.kind}
}

type deafWatcher struct {
	ring.Watcher
	kind ring.BarrierKind
}

func (w deafWatcher) Barrier(k ring.BarrierKind) {
	if k != w.kind {
		w.Watcher.Barrier(k)
	}
}

// deaf is a driver on such memory.
type deaf struct {
	mac.Core
	kind ring.BarrierKind
}

func (d deaf) NewRX(q int, desc pagepool.Memory, slots, size int) (ring.RXCodec, error) {
	return d.Core.NewRX(q, deafMemory{desc, d.kind}, slots, size)
}

func (d deaf) NewTX(q int, desc pagepool.Memory, slots int) (ring.TXCodec, error) {
	return d.Core.NewTX(q, deafMemory{desc, d.kind}, slots)
}

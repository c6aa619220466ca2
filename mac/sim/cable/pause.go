package cable

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/sim"
)

// pauser holds a direction back while its receiver wants a pause (IEEE 802.3
// Annex 31B).
type pauser struct {
	clock sim.Clock
	held  atomic.Bool // until may be in the future

	mu    sync.Mutex
	over  sync.Cond // until has come, or was changed
	until time.Time // the end of the pause; zero: none
	ended bool      // for good: the cable is unplugged
}

func newPauser(clock sim.Clock) *pauser {
	if clock == nil {
		clock = sim.RealClock{}
	}
	p := &pauser{clock: clock}
	p.over.L = &p.mu
	return p
}

// pause holds frames back for so long from now, in place of what was left of the
// last pause. 0 ends it.
func (p *pauser) pause(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.until = time.Time{}
	if d > 0 {
		p.until = p.clock.Now().Add(d)
	}
	p.held.Store(d > 0 && !p.ended)
	p.over.Broadcast()
}

// end ends all pauses.
func (p *pauser) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.held.Store(false)
	p.over.Broadcast()
}

// paused reports whether frames are held back now.
func (p *pauser) paused() bool {
	if !p.held.Load() {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left() > 0
}

// left is what remains of the pause. The caller holds mu.
func (p *pauser) left() time.Duration {
	if p.ended || p.until.IsZero() {
		return 0
	}
	left := p.until.Sub(p.clock.Now())
	if left <= 0 {
		p.until = time.Time{}
		p.held.Store(false)
	}
	return left
}

// wait returns when there is no pause.
func (p *pauser) wait() {
	if !p.held.Load() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for left := p.left(); left > 0; left = p.left() {
		timer := p.clock.AfterFunc(left, func() {
			p.mu.Lock() // so that it does not come before Wait
			defer p.mu.Unlock()
			p.over.Broadcast()
		})
		p.over.Wait()
		timer.Stop()
	}
}

// pauseTime reports whether a frame is a pause frame, and how long a pause it asks
// for on a link of speed Mbit/s: so many times of 512 bits.
func pauseTime(f []byte, speed int) (d time.Duration, ok bool) {
	const (
		macControl = 0x8808
		opPause    = 1
	)
	if len(f) < 18 || mac.HardwareAddr(f[:6]) != (mac.HardwareAddr{0x01, 0x80, 0xc2, 0, 0, 1}) ||
		binary.BigEndian.Uint16(f[12:]) != macControl || binary.BigEndian.Uint16(f[14:]) != opPause {
		return 0, false
	}
	return time.Duration(binary.BigEndian.Uint16(f[16:])) * 512 * time.Microsecond / time.Duration(max(speed, 1)), true
}

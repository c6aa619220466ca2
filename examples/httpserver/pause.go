package main

import (
	"encoding/binary"
	"sync/atomic"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/sim"
)

// link is the fake MAC's: a switch that obeys pause frames (IEEE 802.3 Annex
// 31B). The cable itself has no speed, so that a burst of a user-mode network or
// a TAP device, which know no flow control, would overflow the MAC's FIFO
// whenever the server is not scheduled at once. TCP repairs that, but slowly.
var link = mac.Link{Up: true, Speed: 1000, FullDuplex: true, TXPause: true}

// pausePort is a MAC's socket at such a switch: a pause frame from the MAC is for
// the switch, which then holds back what goes to the MAC.
type pausePort struct {
	sim.LinkPort
	speed  int           // of the link in Mbit/s
	until  atomic.Int64  // end of the pause in Unix nanoseconds, 0: none
	resume chan struct{} // told when a pause has been ended early
}

func newPausePort(p sim.LinkPort, speed int) *pausePort {
	return &pausePort{LinkPort: p, speed: speed, resume: make(chan struct{}, 1)}
}

// Deliver implements sim.Port. It waits while the MAC wants a pause, and with it
// the sender, as soon as the cable is full.
func (p *pausePort) Deliver(frame []byte) {
	for until := p.until.Load(); until != 0; until = p.until.Load() {
		timer := time.NewTimer(time.Until(time.Unix(0, until)))
		select {
		case <-p.resume:
		case <-timer.C:
			p.until.CompareAndSwap(until, 0)
		}
		timer.Stop()
	}
	p.LinkPort.Deliver(frame)
}

// OnTransmit implements sim.Port.
func (p *pausePort) OnTransmit(f func(frame []byte)) {
	if f == nil {
		p.LinkPort.OnTransmit(nil)
		return
	}
	p.LinkPort.OnTransmit(func(frame []byte) {
		if quanta, ok := pauseQuanta(frame); ok {
			p.pause(quanta)
			return
		}
		f(frame)
	})
}

// pause holds frames back for so many times of 512 bits, or ends that.
func (p *pausePort) pause(quanta uint16) {
	if quanta > 0 {
		length := time.Duration(quanta) * 512 * time.Microsecond / time.Duration(p.speed)
		p.until.Store(time.Now().Add(length).UnixNano())
		return
	}
	p.until.Store(0)
	select {
	case p.resume <- struct{}{}:
	default:
	}
}

// pauseQuanta reports what a pause frame asks for.
func pauseQuanta(f []byte) (quanta uint16, ok bool) {
	const (
		macControl = 0x8808
		opPause    = 1
	)
	if len(f) < 18 || mac.HardwareAddr(f[:6]) != (mac.HardwareAddr{0x01, 0x80, 0xc2, 0, 0, 1}) ||
		binary.BigEndian.Uint16(f[12:]) != macControl || binary.BigEndian.Uint16(f[14:]) != opPause {
		return 0, false
	}
	return binary.BigEndian.Uint16(f[16:]), true
}

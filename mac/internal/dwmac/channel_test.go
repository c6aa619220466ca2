package dwmac

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
)

const (
	chStatus, chEnable = 0x60, 0x34

	tx, txStopped, rx, starved, fatal, sum = 1, 2, 0x40, 0x80, 0x1000, 0xC000
)

func newChannel(regs *fakeRegs) *Channel {
	regs.w1c = map[uint32]bool{chStatus: true}
	c := &Channel{}
	c.Init(regs, 2, chStatus, chEnable, Causes{RX: rx | starved, Starved: starved, TX: tx, Fatal: fatal, TXStopped: txStopped, Summary: sum})
	return c
}

func TestChannel(t *testing.T) {
	const enable = rx | starved | fatal | txStopped | sum
	for _, c := range []struct {
		name   string
		status uint32
		want   mac.Events
		enable uint32 // afterwards
		left   uint32
	}{
		{"receive", 0x8000 | rx, mac.Events{RX: 4}, enable &^ (rx | starved), 0},
		{"starved", 0x4000 | starved, mac.Events{RX: 4, Starved: 4}, enable &^ (rx | starved), 0},
		{"transmit masked: left latched", tx, mac.Events{}, enable, tx},
		{"bus error", 0x4000 | fatal, mac.Events{Fatal: 4}, enable &^ fatal, 0},
		{"all", 0xFFFF, mac.Events{RX: 4, Starved: 4, Fatal: 4, TXStopped: 4}, sum, 0xFFFF &^ enable},
		{"gone", 0xFFFFFFFF, mac.Events{}, enable, 0xFFFFFFFF},
	} {
		regs := &fakeRegs{regs: map[uint32]uint32{chStatus: 0x8FF}}
		ch := newChannel(regs)
		ch.Open(sum)
		require.Zero(t, regs.regs[chStatus], "what was there before is cleared")
		require.Equal(t, uint32(enable), regs.regs[chEnable])
		regs.regs[chStatus] = c.status
		var ev mac.Events
		require.Equal(t, c.status, ch.Interrupt(&ev), c.name)
		require.Equal(t, c.want, ev, c.name)
		require.Equal(t, c.enable, regs.regs[chEnable], c.name)
		require.Equal(t, c.left, regs.regs[chStatus], c.name)
	}

	regs := &fakeRegs{regs: map[uint32]uint32{}}
	ch := newChannel(regs)
	ch.Open(sum)
	regs.regs[chStatus] = rx | starved | tx | 0x8000
	ch.Ack()
	require.Equal(t, uint32(tx|0x8000), regs.regs[chStatus], "only receive causes")
	ch.Close()
	require.Zero(t, regs.regs[chStatus])
	ch.UnmaskRX()
	ch.UnmaskTX()
	require.Zero(t, regs.regs[chEnable], "a late unmask does nothing after Close")
}

// TestChannelRace: masking and unmasking from three goroutines never loses a bit.
func TestChannelRace(t *testing.T) {
	regs := &fakeRegs{regs: map[uint32]uint32{}}
	ch := newChannel(regs)
	ch.Open(sum)
	var wg sync.WaitGroup
	for _, f := range []func(){
		func() { var ev mac.Events; ch.Interrupt(&ev) },
		func() { ch.Ack(); ch.UnmaskRX() },
		ch.UnmaskTX,
		func() {
			regs.mu.Lock()
			regs.regs[chStatus] |= 0x8000 | rx | tx
			regs.mu.Unlock()
		},
	} {
		wg.Go(func() {
			for range 2000 {
				f()
			}
		})
	}
	wg.Wait()
	ch.UnmaskRX()
	ch.UnmaskTX()
	require.Equal(t, uint32(rx|starved|fatal|txStopped|sum|tx), regs.regs[chEnable])
}

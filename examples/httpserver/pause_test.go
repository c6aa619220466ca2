package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
)

// socket is a MAC's port that remembers.
type socket struct {
	transmit func([]byte)
	got      chan byte // last byte of each delivered frame
}

func (s *socket) Deliver(frame []byte)      { s.got <- frame[len(frame)-1] }
func (s *socket) OnTransmit(f func([]byte)) { s.transmit = f }
func (s *socket) SetLink(mac.Link)          {}

func pauseFrame(quanta uint16) []byte {
	f := make([]byte, 60)
	copy(f, []byte{0x01, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 0x08, 0, 1, byte(quanta >> 8), byte(quanta)})
	return f
}

func TestPause(t *testing.T) {
	s := &socket{got: make(chan byte, 8)}
	p := newPausePort(s, 10)
	var sent [][]byte
	p.OnTransmit(func(f []byte) { sent = append(sent, f) })

	// Held back until the MAC ends the pause, which at 10 Mbit/s lasts 3.4 s.
	s.transmit(pauseFrame(0xffff))
	until := p.until.Load()
	go p.Deliver([]byte{1})
	s.transmit(pauseFrame(0))
	require.EqualValues(t, 1, <-s.got)
	require.Less(t, time.Now().UnixNano(), until)

	// A pause ends by itself. What the last one left behind does not end it.
	s.transmit(pauseFrame(0))
	s.transmit(pauseFrame(100)) // 5.12 ms
	until = p.until.Load()
	p.Deliver([]byte{2})
	require.EqualValues(t, 2, <-s.got)
	require.GreaterOrEqual(t, time.Now().UnixNano(), until)

	// Pause frames stay here, all others go on.
	require.Empty(t, sent)
	other := pauseFrame(1)
	other[15] = 2 // another operation
	s.transmit(other)
	s.transmit([]byte{1, 2, 3})
	require.Equal(t, [][]byte{other, {1, 2, 3}}, sent)
	p.OnTransmit(nil)
	require.Nil(t, s.transmit)
}

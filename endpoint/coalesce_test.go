package endpoint_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/fake"
	"github.com/barewire/barewire/mac/sim"
	model "github.com/barewire/barewire/mac/sim/sun8i"
	"github.com/barewire/barewire/mac/sun8i"
	"github.com/barewire/barewire/ring"
)

// TestReceiveInterruptsWithoutWatchdog counts interrupts of a core that has no
// receive watchdog and interrupts for every frame: rx-usecs holds there, too. In the
// bubble the poll goroutine takes no time, so that each figure is exact.
func TestReceiveInterruptsWithoutWatchdog(t *testing.T) {
	const gap = 12304 * time.Nanosecond // a full-size frame at 1 Gbit/s
	for _, c := range []struct {
		name             string
		usecs            int
		bursts, perBurst int
		pause            time.Duration // between bursts
		interrupts       uint64
	}{
		{"every frame by itself", 0, 1, 1000, 0, 1000},
		{"bulk, one frame each 12 us", 200, 1, 4000, 0, 1},
		{"bulk at 100 Mbit/s", 200, 1000, 1, 10*gap - gap, 1},
		{"bursts of eight, further apart than rx-usecs", 200, 100, 8, time.Millisecond, 100},
		{"single frames further apart than rx-usecs", 50, 100, 1, time.Millisecond, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := fake.Options{
					Core:   fake.Core{Driver: sun8i.Driver(), Build: model.Config{}.Build},
					Build:  sim.Build{Inline: true},
					Config: mac.Config{Coalesce: &ring.Coalesce{RXUsecs: c.usecs}},
				}
				m, _, r := single(t, nodeOptions{fake: o}, false)
				frame := udpFrame(m, 1472)
				synctest.Wait()
				before, sent := m.Snapshot().Queues[0].RXInterrupts, 0
				for range c.bursts {
					for range c.perBurst {
						m.Send(frame)
						sent++
						time.Sleep(gap)
						synctest.Wait()
					}
					time.Sleep(c.pause)
				}
				time.Sleep(time.Millisecond)
				synctest.Wait()
				require.EqualValues(t, sent, r.count.Load(), "frames delivered")
				require.Equal(t, c.interrupts, m.Snapshot().Queues[0].RXInterrupts-before)
				require.Zero(t, m.Snapshot().Queues[0].Starved)
			})
		})
	}
}

// TestFullPassIsNotDelayed: frames that are there already wait for no timer.
func TestFullPassIsNotDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := fake.Options{
			Core:   fake.Core{Driver: sun8i.Driver(), Build: model.Config{}.Build},
			Build:  sim.Build{Inline: true},
			Config: mac.Config{Coalesce: &ring.Coalesce{RXUsecs: 1000}},
		}
		m, _, r := single(t, nodeOptions{fake: o}, false)
		frame := udpFrame(m, 100)
		m.Send(frame)
		synctest.Wait() // the poll goroutine waits, masked
		for range 400 {
			m.Send(frame)
		}
		began := time.Now()
		for r.count.Load() < 401 {
			time.Sleep(10 * time.Microsecond)
			synctest.Wait()
		}
		require.LessOrEqual(t, time.Since(began), 1010*time.Microsecond, "one delay for all of them")
		require.EqualValues(t, 1, m.Snapshot().Queues[0].RXInterrupts)
	})
}

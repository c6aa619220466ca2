package endpoint_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/barewire/barewire/endpoint"
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/fake"
)

// TestCloseDuringAttach: when Close returns, nothing runs any more, however far
// the first Attach had come.
func TestCloseDuringAttach(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	defer goleak.VerifyNone(t, ignore)
	for range 8 {
		m, err := fake.New(&fake.Options{Config: mac.Config{Queues: 2}})
		require.NoError(t, err)
		ep, err := endpoint.New(m.Device, nil)
		require.NoError(t, err)
		var wg sync.WaitGroup
		wg.Add(2)
		go func() {
			defer wg.Done()
			ep.Attach(&receiver{ep: ep})
		}()
		go func() {
			defer wg.Done()
			ep.Close()
		}()
		within(t, "Attach and Close", wg.Wait)
		ep.Wait()
		require.False(t, ep.IsAttached())
	}
}

// TestLinkCallbackMayUseStack: netstack attaches with its lock held, so whoever
// waits for the link must not be called from there.
func TestLinkCallbackMayUseStack(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	m, err := fake.New(nil)
	require.NoError(t, err)
	ep, err := endpoint.New(m.Device, nil)
	require.NoError(t, err)
	s := newStack(t)
	up := make(chan struct{})
	var once sync.Once
	m.OnLink(func(l mac.Link) {
		s.HasNIC(1) // takes the stack's lock
		if l.Up {
			once.Do(func() { close(up) })
		}
	})
	within(t, "CreateNIC", func() { require.Nil(t, s.CreateNIC(1, ep)) })
	within(t, "link up", func() { <-up })
	s.Destroy()
	ep.Close()
	require.NoError(t, ep.Err())
	goleak.VerifyNone(t, ignore)
}

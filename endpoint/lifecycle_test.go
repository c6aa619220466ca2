package endpoint_test

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/barewire/barewire/endpoint"
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/fake"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/ring"
)

// within fails the test with all goroutines' stacks when f does not return.
func within(t testing.TB, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(patience):
		panic("locked up: " + what)
	}
}

// flood has the wire send frames to m until stop is closed.
func flood(m *fake.MAC, stop <-chan struct{}) *sync.WaitGroup {
	var wg sync.WaitGroup
	frames := [][]byte{udpFrame(m, 1400), udpFrame(m, 18), make([]byte, 60)}
	wg.Add(1)
	go func() {
		defer wg.Done()
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				m.Send(frames[i%len(frames)])
			}
		}
	}()
	return &wg
}

func newStack(t testing.TB) *stack.Stack {
	return stack.New(stack.Options{
		NetworkProtocols: []stack.NetworkProtocolFactory{ipv4.NewProtocol},
		// Stray datagrams are answered, from the poll goroutine.
		HandleLocal: false,
	})
}

// TestTeardownOrders takes a NIC down in every order that netstack allows, with
// frames coming in all the time, and each must end, leave no goroutine and no
// page.
func TestTeardownOrders(t *testing.T) {
	orders := map[string]func(t *testing.T, s *stack.Stack, ep *endpoint.Endpoint){
		"RemoveNIC": func(t *testing.T, s *stack.Stack, ep *endpoint.Endpoint) {
			require.Nil(t, s.RemoveNIC(1))
		},
		"Close of the endpoint": func(t *testing.T, s *stack.Stack, ep *endpoint.Endpoint) {
			ep.Close()
			require.False(t, s.HasNIC(1), "the NIC goes with its endpoint")
		},
		"Destroy": func(t *testing.T, s *stack.Stack, ep *endpoint.Endpoint) { s.Destroy() },
		"Attach(nil), Wait, Close": func(t *testing.T, s *stack.Stack, ep *endpoint.Endpoint) {
			ep.Attach(nil)
			ep.Wait()
			ep.Close()
		},
		"device first": func(t *testing.T, s *stack.Stack, ep *endpoint.Endpoint) {
			require.NoError(t, ep.Device().Close())
			require.Nil(t, s.RemoveNIC(1))
		},
		"Close from many goroutines": func(t *testing.T, s *stack.Stack, ep *endpoint.Endpoint) {
			var wg sync.WaitGroup
			for range 8 {
				wg.Add(1)
				go func() {
					defer wg.Done()
					ep.Close()
				}()
			}
			wg.Wait()
		},
		"Close twice, RemoveNIC after": func(t *testing.T, s *stack.Stack, ep *endpoint.Endpoint) {
			ep.Close()
			ep.Close()
			require.NotNil(t, s.RemoveNIC(1))
		},
	}
	for name, order := range orders {
		t.Run(name, func(t *testing.T) {
			ignore := goleak.IgnoreCurrent()
			for round := range 6 {
				m, err := fake.New(nil)
				require.NoError(t, err)
				ep, err := endpoint.New(m.Device, nil)
				require.NoError(t, err)
				s := newStack(t)
				require.Nil(t, s.CreateNIC(1, ep))
				require.Nil(t, s.AddProtocolAddress(1, tcpip.ProtocolAddress{
					Protocol: ipv4.ProtocolNumber, AddressWithPrefix: addr4(192, 0, 2, 1).WithPrefix(),
				}, stack.AddressProperties{}))
				stop := make(chan struct{})
				wg := flood(m, stop)
				if round%2 == 0 {
					eventually(t, "traffic", func() bool { return m.Stats().RXPackets > 100 })
				}
				within(t, name, func() { order(t, s, ep) })
				close(stop)
				wg.Wait()
				within(t, "cleaning up", func() {
					s.Destroy()
					ep.Close()
				})
				require.NoError(t, ep.Err())
				require.Zero(t, m.Snapshot().Queues[0].Pool.Lent)
				require.Empty(t, m.Model().Violations().List())
			}
			goleak.VerifyNone(t, ignore)
		})
	}
}

// TestAttachAgain attaches and detaches under traffic. After Attach(nil) nothing
// more is begun to be delivered to the old dispatcher, and each Wait ends with
// its attachment.
func TestAttachAgain(t *testing.T) {
	m, ep, first := single(t, nodeOptions{}, false)
	stop := make(chan struct{})
	defer flood(m, stop).Wait()
	defer close(stop)
	ep.Attach(nil)
	ep.Wait() // returns at once
	require.False(t, ep.IsAttached())
	before := ep.Stats().RXDetached
	eventually(t, "frames dropped while detached", func() bool { return ep.Stats().RXDetached > before+100 })
	// What was being delivered when Attach(nil) came has been by now: the poll
	// goroutine has dropped frames since.
	was := first.count.Load()
	for range 500 {
		r := &receiver{ep: ep}
		ep.Attach(r)
		require.True(t, ep.IsAttached())
		waited := make(chan struct{})
		go func() {
			ep.Wait()
			close(waited)
		}()
		ep.Attach(nil)
		within(t, "Wait", func() { <-waited })
	}
	r := &receiver{ep: ep}
	ep.Attach(r)
	eventually(t, "delivery to the new dispatcher", func() bool { return r.count.Load() > 10 })
	require.Equal(t, was, first.count.Load(), "delivered to a dispatcher after it was detached")
}

// TestNICCannotBeMade: an endpoint whose NIC could not be made has started
// nothing that Close does not end.
func TestNICCannotBeMade(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	s := newStack(t)
	var eps []*endpoint.Endpoint
	for i := range 2 {
		m, err := fake.New(nil)
		require.NoError(t, err)
		ep, err := endpoint.New(m.Device, nil)
		require.NoError(t, err)
		eps = append(eps, ep)
		if err := s.CreateNIC(1, ep); (err != nil) != (i == 1) {
			t.Fatalf("CreateNIC %d: %v", i, err)
		}
	}
	s.Destroy()
	for _, ep := range eps {
		ep.Close()
		require.NoError(t, ep.Err())
	}
	goleak.VerifyNone(t, ignore)
}

// TestFullRing: with a device that sends nothing, writers come back after a
// bounded wait with an error, everything is counted, and Close ends.
func TestFullRing(t *testing.T) {
	for _, usecs := range []int{0, 200} {
		c := ring.DefaultCoalesce()
		c.TXUsecs = usecs
		m, ep, _ := single(t, nodeOptions{fake: fake.Options{Config: mac.Config{TXRing: 16, Coalesce: &c}}}, false)
		block := make(chan struct{})
		m.Model().OnTransmit(func([]byte) { <-block })
		var wg sync.WaitGroup
		var mu sync.Mutex
		sent, refused := 0, 0
		for range 4 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				pkt := packet(udpFrame(m, 100))
				defer pkt.DecRef()
				for range 50 {
					var list stack.PacketBufferList
					list.PushBack(pkt)
					n, err := ep.WritePackets(list)
					mu.Lock()
					sent += n
					if err != nil {
						refused++
					}
					mu.Unlock()
				}
			}()
		}
		within(t, "writers", wg.Wait)
		require.Equal(t, 200, sent+refused)
		require.LessOrEqual(t, sent, 16)
		require.EqualValues(t, refused, ep.Stats().TXRingFull)
		require.EqualValues(t, refused, m.Stats().TXDropped)
		close(block)
		// The ring comes back to life by itself.
		pkt := packet(udpFrame(m, 100))
		defer pkt.DecRef()
		var list stack.PacketBufferList
		list.PushBack(pkt)
		eventually(t, "space", func() bool {
			n, _ := ep.WritePackets(list)
			return n == 1
		})
	}
}

// TestSlowReader: a reader that never reads holds pages up to the loan limit, and
// another flow goes on regardless.
func TestSlowReader(t *testing.T) {
	o := nodeOptions{fake: fake.Options{Config: mac.Config{RXRing: 64, Pages: 96, CopyBreak: 1}}}
	a, b := pair(t, o, o)
	ctx := testContext(t)
	stuck, err := b.host.Listen(ctx, "tcp", netip.AddrPortFrom(b.ip4, 1).String())
	require.NoError(t, err)
	defer stuck.Close()
	c, err := a.host.DialContext(ctx, "tcp", stuck.Addr().String())
	require.NoError(t, err)
	defer c.Close()
	held, err := stuck.Accept() // and never read
	require.NoError(t, err)
	defer held.Close()
	go func() {
		buf := make([]byte, 64<<10)
		for {
			if _, err := c.Write(buf); err != nil {
				return
			}
		}
	}()
	limit := b.mac.Config().MaxLent
	eventually(t, "all loans taken", func() bool { return b.mac.Snapshot().Queues[0].Pool.CopiedLimit > 0 })
	require.NoError(t, transfer(ctx, a, b, b.ip4, 1<<20))
	s := b.mac.Snapshot().Queues[0]
	require.LessOrEqual(t, s.Pool.LentHighWater, limit)
	require.Greater(t, s.RXPosted, s.RXRing*3/4-1, "the ring stays full of pages, but for a refill batch")
	c.Close()
}

// TestReset: a fatal bus error resets the device in place; TCP connections go on.
func TestReset(t *testing.T) {
	a, b := pair(t, nodeOptions{}, nodeOptions{})
	ctx := testContext(t)
	done := make(chan error, 1)
	var enough atomic.Bool // traffic goes on until both faults have met some
	go func() {
		err := transfer(ctx, a, b, b.ip4, 4<<20)
		for err == nil && !enough.Load() {
			err = transfer(ctx, a, b, b.ip4, 1<<20)
		}
		done <- err
	}()
	eventually(t, "traffic", func() bool { return b.mac.Stats().RXPackets > 200 })
	for i, f := range []func(){
		func() { b.mac.Faults().Once(sim.RXBusError) },
		func() { b.mac.Faults().Once(sim.TXBusError) },
	} {
		f()
		eventually(t, "reset", func() bool { return b.mac.Snapshot().Recoveries.FatalBusError > uint64(i) })
	}
	enough.Store(true)
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-ctx.Done():
		t.Fatal("transfer did not survive the resets")
	}
}

// TestLinkDown: frames are refused and counted while the link is down, and the
// connection goes on when it is back.
func TestLinkDown(t *testing.T) {
	m, ep, _ := single(t, nodeOptions{}, false)
	pkt := packet(udpFrame(m, 100))
	defer pkt.DecRef()
	var list stack.PacketBufferList
	list.PushBack(pkt)
	m.SetLink(mac.Link{})
	eventually(t, "link down", func() bool { return !m.Link().Up })
	n, err := ep.WritePackets(list)
	require.Zero(t, n)
	require.NotNil(t, err)
	require.EqualValues(t, 1, ep.Stats().TXLinkDown)
	m.SetLink(mac.Link{Up: true, Speed: 100, FullDuplex: true})
	eventually(t, "link up", func() bool { return m.Link().Up && m.Link().Speed == 100 })
	eventually(t, "sending", func() bool {
		n, _ := ep.WritePackets(list)
		return n == 1
	})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, ferr := m.Next(ctx)
	require.NoError(t, ferr)
}

// TestLostInterrupt: an interrupt that never comes delays frames, by the
// monitor's period, and loses none.
func TestLostInterrupt(t *testing.T) {
	m, _, r := single(t, nodeOptions{fake: fake.Options{Config: mac.Config{Coalesce: immediate}}}, false)
	frame := udpFrame(m, 100)
	for sent := range int64(2) {
		loads, same := uint64(0), 0
		eventually(t, "poll goroutine asleep", func() bool {
			now := m.Trace().Counts().DescriptorLoads
			if same++; now != loads {
				loads, same = now, 0
			}
			return same > 10000
		})
		m.Faults().Once(sim.LostInterrupt)
		m.Send(frame)
		eventually(t, "delivery", func() bool { return r.count.Load() == sent+1 })
	}
	require.Positive(t, m.Faults().Hits(sim.LostInterrupt))
}

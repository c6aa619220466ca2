package endpoint_test

import (
	"crypto/sha256"
	"net/netip"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/fake"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// pageWriter is an application's buffer that looks at where its bytes come from.
type pageWriter struct {
	lo, hi          uintptr
	inside, outside int
	hash            interface{ Write([]byte) (int, error) }
}

func (w *pageWriter) Write(b []byte) (int, error) {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	if at >= w.lo && at+uintptr(len(b)) <= w.hi {
		w.inside += len(b)
	} else {
		w.outside += len(b)
	}
	return w.hash.Write(b)
}

// TestSocketReadsPages: what a TCP socket hands to the application are the bytes
// in the DMA pages, for every segment that was lent.
func TestSocketReadsPages(t *testing.T) {
	o := nodeOptions{fake: fake.Options{Config: mac.Config{CopyBreak: pagepool.LendAlways}}}
	a, b := pair(t, o, o)
	ctx := testContext(t)

	// A socket of netstack itself: net.Conn would copy before we could look.
	var wq waiter.Queue
	we, ch := waiter.NewChannelEntry(waiter.ReadableEvents)
	wq.EventRegister(&we)
	ln, terr := b.host.Stack().NewEndpoint(tcp.ProtocolNumber, ipv4.ProtocolNumber, &wq)
	require.Nil(t, terr)
	defer ln.Close()
	require.Nil(t, ln.Bind(tcpip.FullAddress{Port: 99}))
	require.Nil(t, ln.Listen(1))
	c, err := a.host.DialContext(ctx, "tcp", netip.AddrPortFrom(b.ip4, 99).String())
	require.NoError(t, err)
	defer c.Close()
	<-ch
	s, swq, terr := ln.Accept(nil)
	require.Nil(t, terr)
	defer s.Close()
	se, readable := waiter.NewChannelEntry(waiter.ReadableEvents | waiter.EventHUp)
	swq.EventRegister(&se)

	const n = 1 << 20
	sent := make(chan []byte, 1)
	go func() {
		h, err := send(c, n, 3)
		if err != nil {
			t.Error(err)
		}
		sent <- h.Sum(nil)
	}()
	pool := b.mac.Queues()[0].Pool
	lo := uintptr(unsafe.Pointer(unsafe.SliceData(pool.Bytes(0))))
	h := sha256.New()
	w := &pageWriter{lo: lo, hi: lo + uintptr(pool.Pages()*pool.PageSize()), hash: h}
	for w.inside+w.outside < n {
		_, terr := s.Read(w, tcpip.ReadOptions{})
		if _, wait := terr.(*tcpip.ErrWouldBlock); wait {
			select {
			case <-readable:
			case <-ctx.Done():
				t.Fatalf("read %d bytes of %d", w.inside+w.outside, n)
			}
			continue
		}
		require.Nil(t, terr)
	}
	require.Equal(t, <-sent, h.Sum(nil))
	copied := b.mac.Snapshot().Queues[0].Pool.CopiedLimit
	require.LessOrEqual(t, w.outside, int(copied)*1460, "only what was over the loan limit was copied")
	require.Greater(t, w.inside, n/2)
	t.Logf("%d bytes read in the DMA pages, %d from copies", w.inside, w.outside)
}

// TestPayloadLiesInPage: what netstack is given of a lent frame are the very
// bytes that the device wrote, at their place in the DMA page.
func TestPayloadLiesInPage(t *testing.T) {
	for _, pageSize := range []int{2048, 512} {
		o, _ := deterministic(mac.Config{CopyBreak: pagepool.LendAlways, PageSize: pageSize, Coalesce: &ring.Coalesce{RXFrames: 1}})
		m, _, r := single(t, nodeOptions{fake: o}, true)
		frame := udpFrame(m, 1400)
		m.Send(frame)
		eventually(t, "delivery", func() bool { return r.count.Load() == 1 })

		pool := m.Queues()[0].Pool
		lo := uintptr(unsafe.Pointer(unsafe.SliceData(pool.Bytes(0))))
		hi := lo + uintptr(pool.Pages()*pool.PageSize())
		pkt := r.pkts[0]
		_, ok := pkt.NetworkHeader().Consume(20)
		require.True(t, ok)
		_, ok = pkt.TransportHeader().Consume(8)
		require.True(t, ok)
		clone := pkt.Clone() // as TCP and UDP do
		defer clone.DecRef()
		seen := 0
		views, skip := clone.AsViewList()
		for v := views.Front(); v != nil; v = v.Next() {
			b := v.AsSlice()
			if seen == 0 && len(b) == 42+skip {
				continue // the headers, in a view of their own
			}
			at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
			require.True(t, at >= lo && at+uintptr(len(b)) <= hi, "payload outside of the pool's pages")
			require.Equal(t, frame[42+seen:42+seen+len(b)], b)
			seen += len(b)
		}
		require.Equal(t, 1400, seen)
		pages := (1400 + 42 + pageSize - 1) / pageSize
		eventually(t, "pages counted as lent", func() bool { return m.Snapshot().Queues[0].Pool.Lent == pages })
	}
}

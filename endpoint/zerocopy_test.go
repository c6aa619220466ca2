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

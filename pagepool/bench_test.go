package pagepool

import (
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// headers is the length of all headers of the test frames.
const headers = header.EthernetMinimumSize + header.IPv4MinimumSize + header.TCPMinimumSize

// packetCopy copies the frame into one view, as most link endpoints do. The
// stack then copies it again, when it parses a header of the shared view.
func packetCopy(p *Pool, pg Page, n int) *stack.PacketBuffer {
	v := buffer.NewViewWithData(p.Bytes(pg)[:n])
	p.Recycle(pg)
	return stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithView(v)})
}

// packetSplit copies the frame too, with the headers in a view of their own.
func packetSplit(p *Pool, pg Page, n int) *stack.PacketBuffer {
	b := p.Bytes(pg)
	pkt := packetOf(b[:headers], buffer.NewViewWithData(b[headers:n]))
	p.Recycle(pg)
	return pkt
}

// packetLend lends the payload. It is nil when the pool refuses.
func packetLend(p *Pool, pg Page, n int) *stack.PacketBuffer {
	payload, ok := p.Lend(pg, headers, n-headers)
	if !ok {
		return nil
	}
	return packetOf(p.Bytes(pg)[:headers], payload)
}

func packetOf(head []byte, payload *buffer.View) *stack.PacketBuffer {
	b := buffer.MakeWithView(buffer.NewViewWithData(head))
	tail := buffer.MakeWithView(payload)
	b.Merge(&tail)
	return stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: b})
}

// consume parses the three headers.
func consume(pkt *stack.PacketBuffer) {
	pkt.LinkHeader().Consume(header.EthernetMinimumSize)
	pkt.NetworkHeader().Consume(header.IPv4MinimumSize)
	view := pkt.NetworkHeader().View() // IPv4 and IPv6 keep one while they handle the packet
	pkt.TransportHeader().Consume(header.TCPMinimumSize)
	view.Release()
}

// discard counts bytes that it does not read; reader copies them.
type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

type reader struct{ buf [16384]byte }

func (r *reader) Write(b []byte) (int, error) { return copy(r.buf[:], b), nil }

// BenchmarkHandoff is the cost of one frame on its own from the page to the
// application and back: a PacketBuffer, the buffer operations of IPv4 and TCP,
// the read, the release. "hot" reuses 64 pages last-in first-out, "cold" goes
// through 64 MiB in random order.
func BenchmarkHandoff(b *testing.B) {
	for _, size := range []int{64, 1514, 9014} {
		pageSize := 2048
		if size > pageSize {
			pageSize = 16384
		}
		for _, temp := range []string{"hot", "cold"} {
			pages := 64
			if temp == "cold" {
				pages = 64 << 20 / pageSize
			}
			for _, way := range []struct {
				name   string
				packet func(p *Pool, pg Page, n int) *stack.PacketBuffer
			}{{"copy", packetCopy}, {"split", packetSplit}, {"lend", packetLend}} {
				for _, app := range []struct {
					name string
					w    io.Writer
				}{{"discard", discard{}}, {"read", &reader{}}} {
					b.Run(fmt.Sprintf("%d/%s/%s/%s", size, temp, way.name, app.name), func(b *testing.B) {
						benchmarkHandoff(b, pages, pageSize, temp == "cold", func(p *Pool, pg Page) {
							pkt := way.packet(p, pg, size)
							consume(pkt)
							segment := pkt.Clone()
							pkt.DecRef()
							segment.Data().ReadTo(app.w, true)
							segment.DecRef()
						})
						b.SetBytes(int64(size))
					})
				}
			}
		}
	}
}

func benchmarkHandoff(b *testing.B, pages, pageSize int, cold bool, frame func(p *Pool, pg Page)) {
	mem, err := NewMmap(pages*pageSize, 0)
	if err != nil {
		b.Fatal(err)
	}
	p, err := New(mem, Config{PageSize: pageSize, CopyBreak: LendAlways})
	if err != nil {
		b.Fatal(err)
	}
	if cold {
		r := rand.New(rand.NewPCG(1, 2))
		r.Shuffle(len(p.free), func(i, j int) { p.free[i], p.free[j] = p.free[j], p.free[i] })
	}
	// Every page passes through the ring, so that all are in play.
	slots := pages
	if !cold {
		slots = pages / 2
	}
	ring := make([]Page, slots)
	for i := range ring {
		ring[i], _ = p.Alloc()
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		pg := ring[i%slots]
		p.Claim(pg)
		frame(p, pg)
		if i%16 == 15 || len(p.free) == 0 {
			p.Reclaim()
		}
		var ok bool
		if ring[i%slots], ok = p.Alloc(); !ok {
			b.Fatal("no page")
		}
	}
	b.StopTimer()
	for _, pg := range ring {
		p.Claim(pg)
		p.Recycle(pg)
	}
	if err := p.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkLend is a loan and its return, without netstack.
func BenchmarkLend(b *testing.B) {
	p, err := New(NewHeap(64*2048, 0), Config{PageSize: 2048, CopyBreak: LendAlways})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		pg, _ := p.Alloc()
		p.Claim(pg)
		v, _ := p.Lend(pg, headers, 1448)
		v.Release()
		p.Reclaim()
	}
}

// BenchmarkReclaimStuck is one call of Reclaim while readers hold many pages:
// the price that every batch pays for them.
func BenchmarkReclaimStuck(b *testing.B) {
	for _, n := range []int{64, 512, 4096} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p, _ := newTestPool(b, n, 64, n)
			views := make([]*buffer.View, n)
			for i := range views {
				_, views[i] = lend(b, p)
			}
			for b.Loop() {
				p.Reclaim()
			}
			for _, v := range views {
				v.Release()
			}
		})
	}
}

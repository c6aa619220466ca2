// Package leaktest runs endpoints under gVisor's leak checker. The checker is
// global to a process and must be on before any buffer exists, so this is a test
// binary of its own.
package leaktest

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/refs"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/barewire/barewire/endpoint"
	"github.com/barewire/barewire/endpoint/netstack"
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/fake"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// patience bounds every wait; a test that reaches it has failed.
const patience = 20 * time.Second

func TestMain(m *testing.M) {
	refs.SetLeakMode(refs.LeaksPanic)
	os.Exit(m.Run())
}

// noLeak waits until nothing is left, as netstack releases some of its packets in
// goroutines that outlive Destroy, and then has the checker say so.
func noLeak(t *testing.T) {
	t.Helper()
	clean := func() (ok bool) {
		defer func() { ok = recover() == nil }()
		refs.DoRepeatedLeakCheck()
		return true
	}
	for end := time.Now().Add(2 * time.Second); !clean() && time.Now().Before(end); {
		runtime.Gosched()
	}
	require.NotPanics(t, refs.DoRepeatedLeakCheck)
}

type host struct {
	*netstack.Host
	mac *fake.MAC
	ep  *endpoint.Endpoint
	ip  netip.Addr
}

func newHost(t *testing.T, m *fake.MAC, ip string, o endpoint.Options) *host {
	t.Helper()
	ep, err := endpoint.New(m.Device, &o)
	require.NoError(t, err)
	h := &host{mac: m, ep: ep, ip: netip.MustParseAddr(ip)}
	h.Host, err = netstack.New(ep, &netstack.Options{Addresses: []netip.Prefix{netip.PrefixFrom(h.ip, 24)}, NoLinkLocal6: true})
	require.NoError(t, err)
	return h
}

func newPair(t *testing.T, c mac.Config, o endpoint.Options) (a, b *host) {
	t.Helper()
	x, y, err := fake.Pair(&fake.Options{Config: c}, &fake.Options{Config: c})
	require.NoError(t, err)
	return newHost(t, x, "192.0.2.1", o), newHost(t, y, "192.0.2.2", o)
}

func (h *host) close(t *testing.T) {
	t.Helper()
	require.NoError(t, h.Close())
	require.NoError(t, h.ep.Err())
	require.Zero(t, h.mac.Snapshot().Queues[0].Pool.Lent)
}

// TestTraffic carries TCP both ways, datagrams whole and in fragments, and streams
// into a reader that never reads, and closes everything while it flows.
func TestTraffic(t *testing.T) {
	for _, c := range []struct {
		name   string
		config mac.Config
		o      endpoint.Options
		fault  sim.Fault
	}{
		{"lent", mac.Config{CopyBreak: pagepool.LendAlways}, endpoint.Options{}, 0},
		{"copied, software checksums", mac.Config{CopyBreak: pagepool.CopyAlways, NoRXChecksum: true, NoTXChecksum: true}, endpoint.Options{}, 0},
		{"GRO and GSO", mac.Config{CopyBreak: pagepool.LendAlways}, endpoint.Options{GRO: true, GSO: true}, 0},
		{"GRO and GSO, two queues", mac.Config{Queues: 2, CopyBreak: pagepool.LendAlways}, endpoint.Options{GRO: true, GSO: true}, 0},
		{"small pages, few of them", mac.Config{PageSize: 256, RXRing: 64, Pages: 80, CopyBreak: pagepool.LendAlways}, endpoint.Options{GRO: true}, 0},
		{"small transmit ring", mac.Config{TXRing: 16, Coalesce: &ring.Coalesce{RXFrames: 1}}, endpoint.Options{GSO: true}, 0},
		{"dropped frames", mac.Config{CopyBreak: pagepool.LendAlways}, endpoint.Options{GRO: true}, sim.DropFrame},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := newPair(t, c.config, c.o)
			if c.fault != 0 {
				b.mac.Faults().Rate(c.fault, 30)
			}
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			ln, err := b.Listen(ctx, "tcp", netip.AddrPortFrom(b.ip, 80).String())
			require.NoError(t, err)
			var wg sync.WaitGroup
			both := func(c net.Conn) {
				wg.Go(func() { io.Copy(io.Discard, c) })
				wg.Go(func() {
					for data := make([]byte, 64<<10); ; {
						if _, err := c.Write(data); err != nil {
							return
						}
					}
				})
			}
			accepted := make(chan net.Conn, 2)
			wg.Go(func() {
				for {
					c, err := ln.Accept()
					if err != nil {
						close(accepted)
						return
					}
					accepted <- c
				}
			})
			live, err := a.DialContext(ctx, "tcp", ln.Addr().String())
			require.NoError(t, err)
			peer := <-accepted
			both(live)
			both(peer)
			stuck, err := a.DialContext(ctx, "tcp", ln.Addr().String())
			require.NoError(t, err)
			wg.Go(func() {
				for data := make([]byte, 64<<10); ; {
					if _, err := stuck.Write(data); err != nil {
						return
					}
				}
			})
			pc, err := b.ListenPacket(ctx, "udp", netip.AddrPortFrom(b.ip, 7).String())
			require.NoError(t, err)
			uc, err := a.DialContext(ctx, "udp", pc.LocalAddr().String())
			require.NoError(t, err)
			for i := range 200 {
				uc.Write(bytes.Repeat([]byte{byte(i)}, 1+i*47%20000))
			}
			for b.mac.Stats().RXPackets < 600 && ctx.Err() == nil {
				runtime.Gosched()
			}
			require.NoError(t, ctx.Err())
			a.close(t)
			b.close(t)
			for _, c := range []io.Closer{live, peer, stuck, uc, pc, ln} {
				c.Close()
			}
			wg.Wait()
			for c := range accepted {
				c.Close()
			}
			noLeak(t)
		})
	}
}

// TestOddFrames sends frames that are dropped at every place where one can be, in
// and out, with and without somebody attached.
func TestOddFrames(t *testing.T) {
	for _, cb := range []int{pagepool.LendAlways, pagepool.CopyAlways} {
		m, err := fake.New(&fake.Options{Config: mac.Config{CopyBreak: cb, Coalesce: &ring.Coalesce{RXFrames: 1}}})
		require.NoError(t, err)
		h := newHost(t, m, "192.0.2.1", endpoint.Options{GRO: true})
		frames := oddFrames(m)
		send := func(count int) {
			before := m.Stats().RXPackets
			for range count {
				for _, f := range frames {
					m.Send(f)
				}
			}
			for end := time.Now().Add(patience); m.Stats().RXPackets == before && time.Now().Before(end); {
				runtime.Gosched()
			}
		}
		send(50)
		require.NoError(t, m.SetPromiscuous(true))
		send(50)
		h.ep.Attach(nil)
		send(50)

		// Out: too long, parts of datagrams, the link down.
		write := func(f []byte) {
			pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(f)})
			defer pkt.DecRef()
			var list stack.PacketBufferList
			list.PushBack(pkt)
			h.ep.WritePackets(list)
		}
		write(make([]byte, 9000))
		for id := range 40 {
			write(firstFragment(uint16(id)))
			write(firstFragment(uint16(id % 7)))
		}
		for _, f := range frames {
			write(f)
		}
		m.SetLink(mac.Link{})
		for end := time.Now().Add(patience); m.Link().Up && time.Now().Before(end); {
			runtime.Gosched()
		}
		write(frames[0])
		h.close(t)
		write(firstFragment(1))
		noLeak(t)
	}
}

func firstFragment(id uint16) []byte {
	f := make([]byte, 14+20+8+72)
	f[12], f[13] = 0x08, 0x00
	ip := header.IPv4(f[14:])
	ip.Encode(&header.IPv4Fields{TotalLength: uint16(len(f) - 14), ID: id, Flags: header.IPv4FlagMoreFragments, TTL: 1, Protocol: uint8(header.UDPProtocolNumber)})
	ip.SetChecksum(^ip.CalculateChecksum())
	return f
}

func oddFrames(m *fake.MAC) [][]byte {
	own := m.Address()
	var frames [][]byte
	for _, dst := range []mac.HardwareAddr{own, mac.Broadcast, {2, 9, 9, 9, 9, 9}, {1, 0, 0x5e, 1, 2, 3}} {
		for _, src := range []mac.HardwareAddr{{2, 0, 0, 0, 0, 9}, own} {
			for _, ethertype := range []uint16{0x0800, 0x86dd, 0x0806, 0x8100, 0x88cc, 0x0020} {
				for _, length := range []int{14, 60, 1514} {
					f := append(append([]byte(nil), dst[:]...), src[:]...)
					f = append(f, byte(ethertype>>8), byte(ethertype))
					frames = append(frames, append(f, make([]byte, length-14)...))
				}
			}
		}
		f := firstFragment(9)
		copy(f, dst[:])
		copy(f[6:], []byte{2, 0, 0, 0, 0, 9})
		frames = append(frames, f)
	}
	return frames
}

// TestLeakIsSeen: the checker is on.
func TestLeakIsSeen(t *testing.T) {
	pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData([]byte("leak"))})
	require.Panics(t, refs.DoRepeatedLeakCheck)
	pkt.DecRef()
	require.NotPanics(t, refs.DoRepeatedLeakCheck)
}

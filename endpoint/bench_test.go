//go:build unix

package endpoint_test

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/barewire/barewire/endpoint"
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/fake"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// BenchmarkTransmit sends lists of packets to a model that takes them inline: the
// driver's and the endpoint's cost, with the model's in it. The model alone is
// the last line of each size.
func BenchmarkTransmit(b *testing.B) {
	for _, size := range []int{64, 1514, 9014} {
		for _, list := range []int{1, 8, 32} {
			b.Run(fmt.Sprintf("size=%d/list=%d", size, list), func(b *testing.B) {
				o, _ := deterministic(mac.Config{MTU: 9000})
				o.Build.FIFO = 64 << 10
				m, ep, _ := single(b, nodeOptions{fake: o}, false)
				m.Model().OnTransmit(func([]byte) {})
				pkt := packet(udpFrame(m, size-42))
				defer pkt.DecRef()
				var pkts stack.PacketBufferList
				for range list {
					pkts.PushBack(pkt)
				}
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for i := 0; i < b.N; i += list {
					if _, err := ep.WritePackets(pkts); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkReceive has the model receive frames inline and the poll goroutine
// deliver them to a dispatcher that drops them, copied and lent.
func BenchmarkReceive(b *testing.B) {
	for _, size := range []int{64, 1514, 9014} {
		for _, mode := range []struct {
			name string
			cb   int
		}{{"copy", pagepool.CopyAlways}, {"lend", pagepool.LendAlways}, {"auto", pagepool.CopyBreakAuto}} {
			b.Run(fmt.Sprintf("size=%d/%s", size, mode.name), func(b *testing.B) {
				o, _ := deterministic(mac.Config{MTU: 9000, CopyBreak: mode.cb, Coalesce: &ring.Coalesce{RXFrames: 32}})
				o.Build.FIFO = 64 << 10
				m, _, r := single(b, nodeOptions{fake: o}, false)
				frame := udpFrame(m, size-42)
				b.SetBytes(int64(size))
				b.ReportAllocs()
				sent := int64(0)
				for b.Loop() {
					m.Send(frame)
					sent++
					for sent-r.count.Load() > 256 {
						runtime.Gosched()
					}
				}
			})
		}
	}
}

// BenchmarkTCPBulk carries one TCP stream between two hosts over two modelled
// MACs, with each combination of offloads. Both stacks, both drivers and both
// models run in this process; cpu-ns/KiB is its CPU time.
func BenchmarkTCPBulk(b *testing.B) {
	for _, mtu := range []int{1500, 9000} {
		for _, checksum := range []bool{false, true} {
			for _, gso := range []bool{false, true} {
				for _, gro := range []bool{false, true} {
					if gro && !checksum {
						continue // gVisor's GRO needs verified checksums
					}
					for _, mode := range []struct {
						name string
						cb   int
					}{{"copy", pagepool.CopyAlways}, {"lend", pagepool.LendAlways}} {
						name := fmt.Sprintf("mtu=%d/csum=%t/gso=%t/gro=%t/%s", mtu, checksum, gso, gro, mode.name)
						o := nodeOptions{
							endpoint: endpoint.Options{GRO: gro, GSO: gso},
							fake: fake.Options{
								Config: mac.Config{MTU: mtu, CopyBreak: mode.cb, NoRXChecksum: !checksum, NoTXChecksum: !checksum},
								Build:  sim.Build{FIFO: 64 << 10},
							},
						}
						b.Run(name, func(b *testing.B) { bulk(b, o) })
					}
				}
			}
		}
	}
}

func bulk(b *testing.B, o nodeOptions) {
	x, y := pair(b, o, o)
	ctx := context.Background()
	ln, err := y.host.Listen(ctx, "tcp", netip.AddrPortFrom(y.ip4, 0).String())
	require.NoError(b, err)
	defer ln.Close()
	c, err := x.host.DialContext(ctx, "tcp", ln.Addr().String())
	require.NoError(b, err)
	defer c.Close()
	s, err := ln.Accept()
	require.NoError(b, err)
	defer s.Close()
	buf := make([]byte, 256<<10)
	go func() {
		for {
			if _, err := c.Write(buf); err != nil {
				return
			}
		}
	}()
	into := make([]byte, 256<<10)
	_, err = io.ReadFull(s, into) // slow start is over soon
	require.NoError(b, err)
	b.SetBytes(64 << 10)
	before := cpuTime()
	b.ResetTimer()
	for range b.N {
		if _, err := io.ReadFull(s, into[:64<<10]); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(cpuTime()-before)/float64(b.N)/64, "cpu-ns/KiB")
}

// cpuTime is the CPU time of this process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/barewire/barewire/endpoint"
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/sim/cable"
	"github.com/barewire/barewire/pagepool"
)

// statistics is what /stats.json sends. Names are added, never changed.
type statistics struct {
	Process  process        `json:"process"`
	Device   mac.Snapshot   `json:"device"`
	Endpoint endpoint.Stats `json:"endpoint"`
	Cable    struct {
		FromMAC cable.Stats `json:"from_mac"`
		ToMAC   cable.Stats `json:"to_mac"`
	} `json:"cable"`
}

// process is about the program itself.
type process struct {
	Go            string    `json:"go"`
	Started       time.Time `json:"started"`
	UptimeSeconds float64   `json:"uptime_seconds"`
	Goroutines    int       `json:"goroutines"`
	HeapBytes     uint64    `json:"heap_bytes"`
	Requests      uint64    `json:"requests"`
	Connections   int       `json:"connections"`
}

func (m *machine) statistics() statistics {
	s := statistics{
		Process: process{
			Go:            runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH,
			Started:       m.started,
			UptimeSeconds: time.Since(m.started).Seconds(),
			Goroutines:    runtime.NumGoroutine(),
			HeapBytes:     heapBytes(),
			Requests:      m.site.requests.Load(),
			Connections:   m.conns.open(),
		},
		Device:   m.dev.Snapshot(),
		Endpoint: m.ep.Stats(),
	}
	if m.cable != nil {
		s.Cable.FromMAC, s.Cable.ToMAC = m.cable.Stats(cable.AToB), m.cable.Stats(cable.BToA)
	}
	return s
}

func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// connections counts open connections.
type connections struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed when n is 0; nil while nobody waits
}

// observe is http.Server.ConnState.
func (c *connections) observe(_ net.Conn, s http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch s {
	case http.StateNew:
		c.n++
	case http.StateClosed:
		c.n--
	}
	if c.n == 0 && c.none != nil {
		close(c.none)
		c.none = nil
	}
}

func (c *connections) open() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// wait returns when the last connection has ended, and with it its request. The
// server accepts no more.
func (c *connections) wait() {
	c.mu.Lock()
	none := make(chan struct{})
	if c.n == 0 {
		close(none)
	} else {
		c.none = none
	}
	c.mu.Unlock()
	<-none
}

// report says what was started, one line a thing.
func (m *machine) report(w io.Writer) {
	info, cfg, pool := m.dev.Info(), m.dev.Config(), m.dev.Queues()[0].Pool
	line := func(what, format string, args ...any) {
		fmt.Fprintf(w, "%-11s"+format+"\n", append([]any{what}, args...)...)
	}
	kind, memory := "simulated", "; Go heap, coherent"
	if m.bus != nil {
		line("bus", "%s", m.bus)
		kind, memory = fmt.Sprintf("clock %s", clock(m.clockHz)), ""
	}
	line("core", "%s %s, %s, rx checksum %s, tx checksum %s, fifo rx %s tx %s", info.Core, info.Version, kind,
		onOff(m.dev.RXChecksum()), onOff(m.dev.TXChecksum()), size(info.RXFIFO), size(info.TXFIFO))
	line("address", "%s, stack %s", m.dev.Address(), join(m.host.Addresses()))
	line("queues", "%d, rings of rx %d tx %d descriptors, MTU %d", cfg.Queues, cfg.RXRing, cfg.TXRing, cfg.MTU)
	c := m.dev.Coalesce()
	line("coalesce", "rx-usecs %d rx-frames %d tx-usecs %d tx-frames %d", c.RXUsecs, c.RXFrames, c.TXUsecs, c.TXFrames)
	line("page pool", "%d pages of %d bytes a queue, %d at most lent, %s", cfg.Pages, cfg.PageSize, cfg.MaxLent, describeBreak(cfg.CopyBreak, pool))
	line("memory", "%s a queue: %s of pages, %s of transmit arena, %s of descriptors%s",
		size(cfg.Pages*cfg.PageSize+cfg.Arena+(cfg.RXRing+cfg.TXRing)*info.Ring.DescriptorSize),
		size(cfg.Pages*cfg.PageSize), size(cfg.Arena), size((cfg.RXRing+cfg.TXRing)*info.Ring.DescriptorSize), memory)
	if m.tap != nil {
		line("wire", "TAP device %s; the kernel's end needs an address, for example: ip addr add %s dev %s", m.tap.Name(), neighbour(m.opts.ips[0]), m.tap.Name())
	} else if m.user != nil {
		line("wire", "user-mode network, TCP and UDP echo forwarded to %s", m.user.Guest(stackPort))
	}
	if m.pcap != nil {
		line("pcap", "%s", m.opts.pcap)
	}
	line("link", "%s", m.dev.Link())
	for _, u := range m.urls {
		fmt.Fprintf(w, "listening on %s\n", u)
	}
}

// describeBreak says which frames are copied.
func describeBreak(set int, pool *pagepool.Pool) string {
	if err := pool.CanLend(); err != nil {
		return "all frames copied: " + err.Error()
	}
	switch set {
	case pagepool.CopyBreakAuto:
		return fmt.Sprintf("frames below %d bytes copied (measured)", pool.CopyBreak())
	case pagepool.LendAlways:
		return "no frames copied"
	case pagepool.CopyAlways:
		return "all frames copied"
	}
	return fmt.Sprintf("frames below %d bytes copied", set)
}

// neighbour is another address of p's prefix.
func neighbour(p netip.Prefix) netip.Prefix {
	a := p.Masked().Addr().Next()
	if a == p.Addr() {
		a = a.Next()
	}
	return netip.PrefixFrom(a, p.Bits())
}

func clock(hz int) string {
	if hz == 0 {
		return "unknown (-clock)"
	}
	return fmt.Sprintf("%g MHz", float64(hz)/1e6)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// size is a number of bytes for people.
func size(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.0f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}

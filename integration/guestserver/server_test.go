//go:build linux

package guestserver

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/integration/internal/guest"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/dwmac4"
)

// Binding a device, as packages uio and vfio document it.
const (
	bindUIO = `
		echo uio_pci_generic > $p/driver_override
		echo $d > /sys/bus/pci/drivers_probe
		[ "$(basename $(readlink $p/driver))" = uio_pci_generic ]`
	bindVFIO = `
		[ -e $p/iommu_group ] || exit 1
		echo vfio-pci > $p/driver_override
		echo $d > /sys/bus/pci/drivers_probe
		[ "$(basename $(readlink $p/driver))" = vfio-pci ]`
)

var uioModules = []string{"uio_pci_generic"}

func TestServer(t *testing.T) {
	needQEMU(t)
	t.Run("uio", func(t *testing.T) {
		testServer(t, setup{
			title: "UIO, arm64", core: "dwmac4", fetch: guest.Fetch, model: big(dwmac4.Config{InBandLink: true}),
			modules: uioModules, bind: bindUIO, flags: "-bus uio -unsafe-hugepages", irq: "uio_pci_generic",
			line: `uio 0000:00:04.0 \(uio0\): DMA memory from huge pages without IOMMU \(unsafe\), coherent`,
		})
	})
	t.Run("vfio", func(t *testing.T) {
		testServer(t, setup{
			title: "VFIO, virtio-iommu, arm64", core: "dwmac4", fetch: guest.Fetch, model: big(dwmac4.Config{}), iommu: true, ram: ramARM,
			boot:    "allow_unsafe_interrupts=1",
			modules: []string{"virtio_iommu", "vfio_pci", "vfio_iommu_type1"}, bind: bindVFIO, flags: "-bus vfio -link 100", irq: "vfio",
			line: `vfio 0000:00:04.0 \(group \d+\): DMA memory from huge pages, kept to by the IOMMU`,
		})
	})
	t.Run("vfio-amd64", func(t *testing.T) {
		testServer(t, setup{
			title: "VFIO, Intel IOMMU, amd64", core: "dwmac4", fetch: guest.FetchPC, model: big(dwmac4.Config{InBandLink: true, Queues: 2}), iommu: true, ram: ramPC,
			boot:    "intel_iommu=on",
			modules: []string{"vfio_pci", "vfio_iommu_type1"}, bind: bindVFIO, flags: "-bus vfio -queues 2", irq: "vfio",
			line: `vfio 0000:00:04.0 \(group \d+\): DMA memory from huge pages, kept to by the IOMMU`,
		})
	})
}

// big is a GMAC5 with FIFOs for a slow guest.
func big(c dwmac4.Config) sim.Model {
	c.RXFIFO, c.TXFIFO = fifoSize, fifoSize
	return dwmac4.New(c)
}

func testServer(t *testing.T, s setup) {
	m := start(t, s)
	for _, c := range []struct {
		name string
		f    func(t *testing.T)
	}{
		{"start the server", m.startServer},
		{"GET /", m.page},
		{"download of 4 MiB", func(t *testing.T) { m.download(t, 4<<20) }},
		{"upload of 4 MiB", func(t *testing.T) { m.upload(t, 4<<20) }},
		{"20 connections at once", m.atOnce},
		{"UDP echoes of 1 to 8000 bytes", m.echoes},
		{"interrupts through the kernel", m.interruptsUsed},
		{"no rule of the hardware broken, no DMA refused", m.clean},
		{"a stray DMA write", m.strayWrite},
		{"kill -9: no DMA into memory that was released", m.killed},
		{"start again after kill -9", m.startServer},
		{"download and upload after kill -9", func(t *testing.T) { m.download(t, 1<<20); m.upload(t, 1<<20) }},
		{"SIGTERM: no page lent, exit code 0, DMA has ended", m.terminated},
		{"start again after SIGTERM", func(t *testing.T) { m.startServer(t); m.download(t, 1<<18); m.terminated(t) }},
		{"no warning of the kernel", m.quiet},
	} {
		if !check(t, m.title, c.name, c.f) {
			return // what follows would say nothing new
		}
	}
}

// quiet makes sure that the guest's kernel has complained of nothing.
func (m *machine) quiet(t *testing.T) {
	require.Empty(t, m.run(t, `dmesg | grep -E 'WARNING:|Oops|BUG:|nobody cared|timed out|Call trace' || true`))
}

func (m *machine) page(t *testing.T) {
	require.Contains(t, string(m.get(t, "/")), "<html")
	require.Equal(t, m.core, m.counters(t).Device.Core)
}

// download compares what arrives with the sum that the server makes of what it
// sends.
func (m *machine) download(t *testing.T, n int) {
	begin := time.Now()
	require.NoError(t, m.client.Download(t.Context(), n, 1))
	t.Logf("%d bytes in %.1f s", n, time.Since(begin).Seconds())
}

func (m *machine) upload(t *testing.T, n int) {
	begin := time.Now()
	require.NoError(t, m.client.Upload(t.Context(), n))
	t.Logf("%d bytes in %.1f s", n, time.Since(begin).Seconds())
}

func (m *machine) atOnce(t *testing.T) {
	require.NoError(t, m.client.AtOnce(t.Context(), 20, 64<<10))
}

// echoes sends datagrams that fill a frame, and ones that are fragments.
func (m *machine) echoes(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), commandTime)
	defer cancel()
	for _, network := range []string{"udp4", "udp6"} {
		c, err := m.net.DialContext(ctx, network, ":80")
		require.NoError(t, err)
		defer c.Close()
		for _, n := range []int{1, 17, 18, 19, 64, 1000, 1451, 1452, 1453, 1471, 1472, 1473, 4000, 8000} {
			data := bytes.Repeat([]byte{byte(n)}, n)
			require.NoError(t, c.SetDeadline(time.Now().Add(commandTime)))
			_, err := c.Write(data)
			require.NoError(t, err)
			got := make([]byte, 9000)
			k, err := c.Read(got)
			require.NoError(t, err, "%s %d", network, n)
			require.Equal(t, data, got[:k], "%s %d", network, n)
		}
	}
}

// interruptsUsed sends datagrams to a server that has nothing else to do, until
// its kernel has counted so many interrupts, and compares that with the counts of
// the server and of the PCI function. A datagram may come without one: the poll
// goroutine also wakes up by itself now and then.
func (m *machine) interruptsUsed(t *testing.T) {
	const enough, rounds = 10, 30
	c, err := m.net.DialContext(t.Context(), "udp4", ":80")
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(commandTime)))
	server, kernel, sent := m.serverInterrupts(t), m.interrupts(t), m.server.Stats().INTxSent
	got := uint64(0)
	for i := 0; i < rounds && got < enough; i++ {
		_, err := c.Write([]byte("wake up"))
		require.NoError(t, err)
		_, err = c.Read(make([]byte, 16))
		require.NoError(t, err)
		got = m.interrupts(t) - kernel // much later there is nothing to poll for any more
	}
	server = m.serverInterrupts(t) - server
	sent = m.server.Stats().INTxSent - sent
	t.Logf("interrupts: %d counted by the kernel, %d sent by the function, %d for receive counted by the server", got, sent, server)
	require.GreaterOrEqual(t, got, uint64(enough), "after %d datagrams", rounds)
	require.GreaterOrEqual(t, server, uint64(enough/2), "one may be about something else, or find its frame taken already")
	require.GreaterOrEqual(t, sent, got)
}

func (m *machine) serverInterrupts(t *testing.T) (n uint64) {
	for _, q := range m.counters(t).Device.Queues {
		n += q.RXInterrupts
	}
	return n
}

func (m *machine) clean(t *testing.T) {
	require.Empty(t, m.dev.Violations().List())
	require.Zero(t, m.server.Stats().Errors)
	require.Zero(t, m.server.Stats().DMAFaults)
	require.Zero(t, m.dev.refused.Load())
	require.Zero(t, m.counters(t).Device.Recoveries.FatalBusError)
}

// Addresses in the memory of the two boards, which a device without an IOMMU
// would reach, and one outside of all memory.
const (
	ramARM = 0x5000_0000
	ramPC  = 0x1000_0000
	beyond = 1 << 38
)

// strayWrite has the core write a frame where the server has given it no memory:
// with an IOMMU into the guest's RAM. It is refused, the core reports a fatal bus
// error, the driver resets it, and the server goes on.
func (m *machine) strayWrite(t *testing.T) {
	stray := uint64(beyond)
	if m.iommu {
		stray = m.ram
	}
	before, refused := m.counters(t).Device.Recoveries, m.dev.refused.Load()
	m.client.Close() // whose end is the next frame at the latest
	m.dev.stray.Store(stray)
	deadline := time.Now().Add(commandTime)
	for m.counters(t).Device.Recoveries.FatalBusError == before.FatalBusError {
		require.True(t, time.Now().Before(deadline), "no fatal bus error is counted")
	}
	require.Zero(t, m.dev.stray.Load())
	require.False(t, m.dev.strayed.Load(), "the write went through")
	require.Greater(t, m.dev.refused.Load(), refused)
	require.NotZero(t, m.server.Stats().DMAFaults)
	after := m.counters(t).Device.Recoveries
	require.Equal(t, before.FatalBusError+1, after.FatalBusError)
	require.Equal(t, before.Failed, after.Failed)
	m.download(t, 1<<20)
	m.upload(t, 1<<20)
}

// killed kills the server while it works, and has the wire go on.
func (m *machine) killed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = m.client.Get(ctx, "/bytes?n=1G") // cut off
	}()
	defer func() { cancel(); <-done }()
	deadline := time.Now().Add(commandTime)
	for begin := m.dev.transmitted(); m.dev.transmitted() < begin+100; time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "no traffic")
	}
	maps := m.server.Stats().Maps
	m.run(t, `kill -9 $(cat /tmp/pid); for i in $(seq 900); do grep -q 'exit code 137' /tmp/log && exit 0; sleep 0.1; done; exit 1`)
	if m.iommu {
		require.Less(t, m.server.Stats().Maps, maps, "the IOMMU's mappings are gone")
	}
	granted, refused, rx := m.dev.granted.Load(), m.dev.refused.Load(), m.dev.stats().RX
	frame := make([]byte, 60)
	copy(frame, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 9, 0x88, 0xb5})
	for range 100 {
		m.dev.Deliver(frame)
	}
	m.run(t, "true") // so much later
	m.dev.Quiesce()
	t.Logf("after the kill: DMA %d granted, %d refused; mappings %d, before %d; command register %s", m.dev.granted.Load()-granted, m.dev.refused.Load()-refused, m.server.Stats().Maps, maps, m.command(t))
	require.Equal(t, granted, m.dev.granted.Load(), "DMA into memory of others")
	require.Equal(t, rx, m.dev.stats().RX)
}

// command is the PCI command register.
func (m *machine) command(t *testing.T) string {
	return m.run(t, "od -An -tx2 -j4 -N2 /sys/bus/pci/devices/"+guest.PCIAddress(0)+"/config")
}

// terminated ends the server as an init system does.
func (m *machine) terminated(t *testing.T) {
	m.client.Close()
	out := m.run(t, `kill -TERM $(cat /tmp/pid); for i in $(seq 900); do grep -q 'exit code' /tmp/log && break; sleep 0.1; done
		cat /tmp/log`)
	require.Contains(t, out, "exit code 0")
	require.Contains(t, out, "; 0 pages lent")
	require.NotContains(t, out, "httpserver: ")
	granted := m.dev.granted.Load()
	m.dev.Deliver(make([]byte, 60))
	m.run(t, "true")
	m.dev.Quiesce()
	require.Equal(t, granted, m.dev.granted.Load())
}

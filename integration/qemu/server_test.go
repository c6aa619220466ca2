//go:build linux

package qemu

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/integration/internal/site"
)

func TestBoards(t *testing.T) {
	needQEMU(t)
	for _, b := range boards() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			testBoard(t, b)
		})
	}
}

const (
	bulk = 16 << 20
	some = 1 << 20
)

func testBoard(t *testing.T, b board) {
	m := prepare(t, b, "examples/httpserver", "integration/qemu/cmd/devicememory")
	score.Machine(t, b.name)
	down := func(n int) func(*testing.T) {
		return func(t *testing.T) { require.NoError(t, m.client.Download(t.Context(), n, 1)) }
	}
	up := func(n int) func(*testing.T) {
		return func(t *testing.T) { require.NoError(t, m.client.Upload(t.Context(), n)) }
	}
	var keys string
	for _, c := range []struct {
		name string
		f    func(t *testing.T)
	}{
		{"boot", func(inner *testing.T) { m.start(inner, t) }},
		{"memory that the kernel does not own takes aligned words", m.deviceMemory},
		{"start the server, with interrupts", func(t *testing.T) {
			keys = m.keys(t)
			m.startServer(t, "-v "+keys)
		}},
		{"curl of the page", m.page},
		{"link state from the PHY", m.linkState},
		{"16 MiB down", down(bulk)},
		{"16 MiB up: at most one interrupt for 8 frames", m.deferral},
		{"20 connections at once", func(t *testing.T) { require.NoError(t, m.client.AtOnce(t.Context(), 20, 64<<10)) }},
		{"UDP echoes of 1 to 1472 bytes", m.echoes},
		{"interrupts wake the server", m.wakes},
		{"a second server is refused", m.second},
		{"cable out and in", m.cable},
		{"kill -9 and start again", func(t *testing.T) { m.killed(t); m.startServer(t, keys) }},
		{"download and upload after kill -9", func(t *testing.T) { down(some)(t); up(some)(t) }},
		{"SIGTERM: no page lent, exit code 0", m.terminated},
		{"MTU 1280, without interrupts", m.smallMTU},
		{"wrong use explains itself", m.refusals},
		{"no warning of the kernel", m.quiet},
	} {
		if !check(t, b.name, c.name, c.f) {
			return // what follows would say nothing new
		}
	}
}

// page has curl fetch the page, as the README says.
func (m *machine) page(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "curl", "-fsS", "--noproxy", "*", "--max-time", "60", m.client.URL+"/").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "<html")
	s := m.snapshot(t)
	require.Equal(t, m.core, s.Core)
	require.Equal(t, m.addr, s.Address)
}

func (m *machine) linkState(t *testing.T) {
	s := m.snapshot(t)
	require.Equal(t, m.link, s.Link.Speed)
	require.True(t, s.Link.Up)
	require.True(t, s.Link.FullDuplex)
	require.Zero(t, s.PHYErrors)
}

// deferral counts the interrupts of a bulk receive. MTU 1500 shows in the frames on
// the wire.
func (m *machine) deferral(t *testing.T) {
	before, kernel, wire := m.snapshot(t), m.interrupts(t), m.wire(t)
	require.NoError(t, m.client.Upload(t.Context(), bulk))
	after := m.snapshot(t)
	frames, fired := after.Stats.RXPackets-before.Stats.RXPackets, m.interrupts(t)-kernel
	t.Logf("%d frames received, %d interrupts; %d looks after an interrupt found some", frames, fired, after.Queues[0].RXInterrupts-before.Queues[0].RXInterrupts)
	require.NotZero(t, fired)
	require.LessOrEqual(t, 8*fired, frames)
	require.NoError(t, m.client.Download(t.Context(), some, 2))
	in, out := m.longest(t, wire)
	require.Equal(t, 1514, in)
	require.Equal(t, 1514, out)
}

// udp is a socket to the server's port.
func (m *machine) udp(t *testing.T) net.Conn {
	c, err := net.Dial("udp", fmt.Sprintf("127.0.0.1:%d", m.port))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func (m *machine) echoes(t *testing.T) {
	c := m.udp(t)
	for n := 1; n <= 1472; n++ {
		require.NoError(t, site.Echo(c, n, commandTime))
	}
}

// wakes sends datagrams to a server that has nothing else to do. A datagram may come
// without an interrupt of its own: the server looks by itself now and then.
func (m *machine) wakes(t *testing.T) {
	const enough, rounds = 10, 100
	c, before := m.udp(t), m.interrupts(t)
	fired := uint64(0)
	for i := 0; i < rounds && fired < enough; i++ {
		require.NoError(t, site.Echo(c, 64, commandTime))
		fired = m.interrupts(t) - before
	}
	require.GreaterOrEqual(t, fired, uint64(enough), "after %d datagrams", rounds)
}

// cable takes the cable out, as far as the PHY can tell, and puts it back.
func (m *machine) cable(t *testing.T) {
	m.monitor(t, "set_link net off")
	m.logged(t, `msg=link .*state=down`)
	m.monitor(t, "set_link net on")
	m.run(t, `for i in $(seq 300); do tail -n 1 /tmp/log | grep 'msg=link .*state="up' && exit 0; sleep 0.1; done; exit 1`)
	require.NoError(t, m.client.Download(t.Context(), some, 3))
}

// killed kills the server while it works.
func (m *machine) killed(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), transferTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.client.URL+"/bytes?n=1G", nil)
	require.NoError(t, err)
	res, err := m.client.HTTP.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	_, err = io.CopyN(io.Discard, res.Body, some)
	require.NoError(t, err)
	m.run(t, `kill -9 $(cat /tmp/pid); for i in $(seq 300); do grep -q 'exit code 137' /tmp/log && exit 0; sleep 0.1; done; exit 1`)
	m.client.Close()
}

// terminated ends the server as an init system does.
func (m *machine) terminated(t *testing.T) {
	m.client.Close()
	out := m.run(t, `kill -TERM $(cat /tmp/pid); for i in $(seq 600); do grep -q 'exit code' /tmp/log && break; sleep 0.1; done
		cat /tmp/log`)
	require.Contains(t, out, "exit code 0")
	require.Contains(t, out, "; 0 pages lent")
	require.NotContains(t, out, "httpserver: ")
}

// smallMTU has frames no longer than an MTU allows, sent, and TCP to say so to the
// other end.
func (m *machine) smallMTU(t *testing.T) {
	require.Contains(t, m.startServer(t, "-mtu 1280"), "no interrupt, since the kernel passes none on")
	wire := m.wire(t)
	require.NoError(t, m.client.Download(t.Context(), some, 4))
	require.NoError(t, m.client.Upload(t.Context(), some))
	in, out := m.longest(t, wire)
	require.Equal(t, 1294, out)
	require.LessOrEqual(t, in, 1294)
	m.terminated(t)
}

// quiet makes sure that the kernel has complained of nothing.
func (m *machine) quiet(t *testing.T) {
	require.Empty(t, m.run(t, `dmesg | grep -E 'WARNING:|Oops|BUG:|nobody cared|timed out|Call trace' || true`))
}

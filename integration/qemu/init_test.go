//go:build linux

package qemu

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/integration/internal/guest"
	"github.com/barewire/barewire/mac"
)

// TestInit boots the boards with the server as the only program.
func TestInit(t *testing.T) {
	needQEMU(t)
	for _, b := range boards() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			m := prepare(t, b, "examples/httpserver")
			check(t, b.name, "the server as /init", m.serveAsInit)
			check(t, b.name, "/init with wrong flags says why, and switches off", m.failAsInit)
		})
	}
}

// bootAlone starts the board with nothing but the server. What it says comes when
// QEMU has ended.
func (m *machine) bootAlone(ctx context.Context, t *testing.T, flags string) (console chan string) {
	files := &guest.Initrd{}
	files.File("init", m.programs["httpserver"])
	cmd := m.qemu(ctx, t, files, "-- "+flags)
	console = make(chan string, 1)
	go func() {
		out, err := cmd.CombinedOutput()
		console <- fmt.Sprintf("%s(QEMU: %v)", out, err)
	}()
	return console
}

// serveAsInit prints how long it takes from power-on to the first response.
func (m *machine) serveAsInit(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), bootTime)
	defer cancel()
	begin := time.Now()
	console := m.bootAlone(ctx, t, m.flags())
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 2 * time.Second}
	for err := error(io.EOF); err != nil; {
		select {
		case out := <-console:
			t.Fatal(out)
		case <-time.After(50 * time.Millisecond):
		}
		var res *http.Response
		if res, err = client.Get(m.client.URL + "/"); err == nil {
			_, err = io.Copy(io.Discard, res.Body)
			require.NoError(t, res.Body.Close())
		}
	}
	fmt.Printf("     %s: first response %.1f s after power-on\n", m.name, time.Since(begin).Seconds())
	require.NoError(t, m.client.Download(ctx, some, 1))
	require.NoError(t, m.client.Upload(ctx, some))
	m.client.Close()
	cancel() // nothing on it switches it off
	out := <-console
	require.Contains(t, out, "init       process 1: mounted /proc, /sys, /dev")
	require.Contains(t, out, "listening on http://10.0.2.15:80/")
	require.Contains(t, out, "link       "+mac.Link{Up: true, Speed: m.link, FullDuplex: true}.String())
}

func (m *machine) failAsInit(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), bootTime)
	defer cancel()
	out := <-m.bootAlone(ctx, t, "-bus auto -dev nosuch")
	require.NoError(t, ctx.Err(), out)
	require.Contains(t, out, `httpserver: -dev nosuch: auto: find: no device "nosuch"`)
	require.Contains(t, out, "init: switching off")
	require.True(t, strings.HasSuffix(out, "(QEMU: <nil>)"), out)
}

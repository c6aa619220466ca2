package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	bussim "github.com/barewire/barewire/mac/bus/sim"
	"github.com/barewire/barewire/mac/cores"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/models"
)

// TestCores has the server serve on each core.
func TestCores(t *testing.T) {
	for _, name := range cores.Names() {
		t.Run(name, func(t *testing.T) {
			s := launch(t, "-core", name)
			require.Equal(t, page, string(s.get("")))
			require.Equal(t, name, s.stats().Device.Core)
			for _, n := range []int64{1, 1447, 64 << 10, 2 << 20} {
				s.download(n)
			}
			s.upload(1 << 20)
			s.atOnce(20, 100_000)
			s.echo(1, 1472, 1473, 8000)
			require.Contains(t, s.stop(), " 0 pages lent")
			require.Empty(t, s.stderr.String())
		})
		t.Run(name+" with its largest MTU", func(t *testing.T) {
			s := launch(t, "-core", name, "-mtu", strconv.Itoa(largestMTU(t, name)))
			s.download(256 << 10)
			s.upload(256 << 10)
			s.echo(1, 1500, 9000)
			require.Contains(t, s.stop(), " 0 pages lent")
		})
	}
}

// largestMTU is what the core can carry and -mtu allows.
func largestMTU(t *testing.T, name string) int {
	m, err := models.Find(name)
	require.NoError(t, err)
	d, err := cores.Find(name)
	require.NoError(t, err)
	bus := bussim.New(m.Build(sim.Build{FIFO: fifoSize}), nil)
	defer bus.Close()
	core, err := d.New(bus)
	require.NoError(t, err)
	return min(core.Info().MaxMTU, maxMTU)
}

func TestListCores(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"-cores"}, &stdout, &stderr))
	require.Equal(t, cores.Names(), strings.Fields(stdout.String()))
	require.Equal(t, len(cores.Names()), strings.Count(stdout.String(), "\n"), "one a line")
	require.Empty(t, stderr.String())
}

// download compares n bytes with the pattern that they should be.
func (s *running) download(n int64) {
	got, sum := s.sumOf("bytes?n=" + strconv.FormatInt(n, 10))
	require.Equal(s.t, n, got)
	want, err := patternSum(s.t.Context(), n, 1)
	require.NoError(s.t, err)
	require.Equal(s.t, want, sum)
}

// atOnce has clients download n bytes each at the same time.
func (s *running) atOnce(clients int, n int64) {
	want, err := patternSum(s.t.Context(), n, 1)
	require.NoError(s.t, err)
	got := make([]string, clients)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			res, err := s.client.Get(s.url + "bytes?n=" + strconv.FormatInt(n, 10))
			if err != nil {
				got[i] = err.Error()
				return
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			if got[i] = sumHex(body); err != nil {
				got[i] = err.Error()
			}
		})
	}
	wg.Wait()
	for _, sum := range got {
		require.Equal(s.t, want, sum)
	}
}

// upload compares what the server says that it got with n bytes of the pattern.
func (s *running) upload(n int64) {
	res, err := s.client.Post(s.url+"upload", "", &patternReader{left: n, seed: 3})
	require.NoError(s.t, err)
	defer res.Body.Close()
	var got uploaded
	require.NoError(s.t, json.NewDecoder(res.Body).Decode(&got))
	want, err := patternSum(s.t.Context(), n, 3)
	require.NoError(s.t, err)
	require.Equal(s.t, uploaded{n, want}, got)
}

// echo sends a datagram of each size and wants it back.
func (s *running) echo(sizes ...int) {
	c, err := net.Dial("udp", strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/"))
	require.NoError(s.t, err)
	defer c.Close()
	require.NoError(s.t, c.SetDeadline(time.Now().Add(30*time.Second)))
	for _, n := range sizes {
		want := make([]byte, n)
		fillPattern(want, uint64(n), 0)
		_, err := c.Write(want)
		require.NoError(s.t, err)
		got := make([]byte, 64<<10)
		k, err := c.Read(got)
		require.NoError(s.t, err)
		require.Equal(s.t, want, got[:k])
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// The page comes through the whole chain: a client of this machine's kernel,
// user-mode network, cable, model, driver, endpoint, stack, net/http.
func TestPageThroughTheChain(t *testing.T) {
	s := launch(t)
	require.Equal(t, page, string(s.get("")))
	for _, says := range []string{"core ", "address ", "queues ", "coalesce ", "page pool ", "memory ", "wire ", "link       up 1000 Mb/s full duplex"} {
		require.Contains(t, "\n"+s.stdout.String(), "\n"+says)
	}
	require.Regexp(t, `^closed: received [1-9]\d* frames, \d+ bytes; sent [1-9]\d* frames, \d+ bytes; 0 pages lent$`, s.stop())
	require.Empty(t, s.stderr.String())
}

func TestBytesThroughTheChain(t *testing.T) {
	s := launch(t)
	for _, size := range []struct {
		text string
		n    int64
	}{{"0", 0}, {"1", 1}, {"1447", 1447}, {"64K", 64 << 10}, {"64M", 64 << 20}} {
		n, got := s.sumOf("bytes?n=" + size.text)
		require.Equal(t, size.n, n)
		want, err := patternSum(t.Context(), n, 1)
		require.NoError(t, err)
		require.Equal(t, want, got, size.text)
		if n < 1<<20 {
			require.Equal(t, want, strings.TrimSpace(string(s.get("bytes?sum=1&n="+size.text))))
		}
	}
	res, err := s.client.Head(s.url + "bytes?n=1T")
	require.NoError(t, err)
	res.Body.Close()
	require.Equal(t, int64(1<<40), res.ContentLength)
}

func TestUploadThroughTheChain(t *testing.T) {
	for flags, n := range map[string]int64{
		"":                                   32 << 20,
		"-copybreak never":                   4 << 20,
		"-copybreak always -queues 2":        4 << 20,
		"-copybreak never -mtu 9000":         4 << 20,
		"-rx-usecs 0 -rx-frames 1 -mtu 1280": 4 << 20,
	} {
		t.Run(flags, func(t *testing.T) {
			s := launch(t, strings.Fields(flags)...)
			s.upload(n)
			var lentPages, copied uint64
			for _, q := range s.stats().Device.Queues {
				lentPages += uint64(q.Pool.LentHighWater)
				copied += q.Pool.CopiedShort
			}
			if strings.Contains(flags, "never") {
				require.NotZero(t, lentPages)
			}
			if strings.Contains(flags, "always") {
				require.NotZero(t, copied)
				require.Zero(t, lentPages)
			}
			require.Contains(t, s.stop(), " 0 pages lent")
		})
	}
}

// 200 connections are open at the same time, and then all ask at once.
func TestManyConnections(t *testing.T) {
	const clients, n = 200, 100_000
	s := launch(t, "-queues", "2")
	want, err := patternSum(t.Context(), n, 1)
	require.NoError(t, err)
	conns := make([]net.Conn, clients)
	for i := range conns {
		conns[i], err = net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/"))
		require.NoError(t, err)
		// Half a request, so that the server has accepted when it answers below.
		_, err = io.WriteString(conns[i], "GET /bytes?n="+itoa(n)+" HTTP/1.1\r\nHost: x\r\n")
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { return s.stats().Process.Connections > clients }, 10*time.Second, 10*time.Millisecond)
	var wg sync.WaitGroup
	sums := make([]string, clients)
	for i, c := range conns {
		wg.Go(func() {
			defer c.Close()
			io.WriteString(c, "Connection: close\r\n\r\n")
			raw, _ := io.ReadAll(c)
			if _, body, ok := bytes.Cut(raw, []byte("\r\n\r\n")); ok {
				sums[i] = sumHex(body)
			}
		})
	}
	wg.Wait()
	for _, got := range sums {
		require.Equal(t, want, got)
	}
	require.Contains(t, s.stop(), " 0 pages lent")
}

// The counters move with the traffic, and those of hardware, driver and cable
// say the same once all is quiet.
func TestCountersAgree(t *testing.T) {
	o, err := parseFlags([]string{"-addr", "127.0.0.1:0"})
	require.NoError(t, err)
	m, err := boot(t.Context(), o, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	before := m.statistics()
	s := &running{t: t, url: m.urls[0], client: &http.Client{Transport: &http.Transport{}}}
	s.sumOf("bytes?n=8M")
	after := s.stats()
	require.Greater(t, after.Device.Stats.TXBytes, before.Device.Stats.TXBytes+8<<20)
	require.Greater(t, after.Device.Stats.RXPackets, before.Device.Stats.RXPackets)
	require.EqualValues(t, 2, after.Process.Requests)
	require.True(t, before.Process.Started.Equal(after.Process.Started))

	s.client.CloseIdleConnections()
	agree := func(s statistics) bool {
		hw, st := s.Device.Hardware, s.Device.Stats
		return hw.TXFrames == st.TXPackets && hw.TXFrames == s.Cable.FromMAC.Delivered &&
			hw.RXFrames == st.RXPackets+st.RXFIFOErrors && hw.RXFrames == s.Cable.ToMAC.Delivered && s.Process.Connections == 0
	}
	require.Eventually(t, func() bool { return agree(m.statistics()) }, 10*time.Second, 5*time.Millisecond)
	require.NoError(t, m.close())
	for _, q := range m.statistics().Device.Queues {
		require.Zero(t, q.Pool.Posted)
		require.Equal(t, q.Pool.Pages, q.Pool.Free)
	}
}

// A server that is stopped while it sends and receives ends all of it, says so
// to the clients, and keeps no page and no goroutine.
func TestShutdownUnderLoad(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := launch(t, "-grace", "0s")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	moving := make(chan struct{}, 8)
	for i := range cap(moving) {
		wg.Go(func() {
			req, _ := http.NewRequestWithContext(ctx, "GET", s.url+"bytes?n=1T", nil)
			if i%2 == 1 {
				req, _ = http.NewRequestWithContext(ctx, "POST", s.url+"upload", &patternReader{left: 1 << 40})
			}
			if i%2 == 1 {
				moving <- struct{}{}
			}
			res, err := s.client.Do(req)
			if err != nil {
				return
			}
			defer res.Body.Close()
			if i%2 == 0 {
				moving <- struct{}{}
			}
			if _, err = io.Copy(io.Discard, res.Body); err == nil && res.StatusCode == http.StatusOK {
				t.Errorf("transfer %d ended as if it were whole", i)
			}
		})
	}
	for range cap(moving) {
		<-moving
	}
	require.Contains(t, s.stop(), " 0 pages lent")
	wg.Wait()
}

// A request that is under way when the server is stopped gets its whole answer.
func TestShutdownIsGraceful(t *testing.T) {
	const n = 4 << 20
	s := launch(t)
	body, w := io.Pipe()
	sent := make(chan uploaded, 1)
	go func() {
		defer close(sent)
		res, err := s.client.Post(s.url+"upload", "", body)
		if err != nil {
			return
		}
		defer res.Body.Close()
		var got uploaded
		json.NewDecoder(res.Body).Decode(&got)
		sent <- got
	}()
	half := make([]byte, n)
	fillPattern(half, 1, 0)
	_, err := w.Write(half[:n/2])
	require.NoError(t, err)
	require.Eventually(t, func() bool { return s.stats().Device.Stats.RXBytes > n/2 }, 10*time.Second, 5*time.Millisecond)
	s.cancel()
	_, err = w.Write(half[n/2:])
	require.NoError(t, err)
	require.NoError(t, w.Close())
	got := <-sent
	require.Equal(t, uploaded{n, sumHex(half)}, got)
	require.Contains(t, s.stop(), " 0 pages lent")
}

// The program can be run again and again in one process, with idle and half-open
// connections at each stop.
func TestRunAgain(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for i := range 20 {
		s := launch(t, "-grace", "10ms", "-queues", itoa(1+i%3))
		host := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/")
		idle, err := net.Dial("tcp", host)
		require.NoError(t, err)
		slow, err := net.Dial("tcp", host)
		require.NoError(t, err)
		_, err = io.WriteString(slow, "GET /bytes?n=1G HTTP/1.1\r\nHost: x\r\n\r\n") // and never reads
		require.NoError(t, err)
		s.get("stats.json")
		if i%2 == 0 {
			require.NoError(t, slow.Close())
		}
		require.Contains(t, s.stop(), " 0 pages lent")
		require.NoError(t, idle.Close())
		slow.Close()
	}
}

// Interrupted before it is up, the program ends without a word of failure.
func TestInterruptedAtStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	require.Zero(t, run(ctx, []string{"-addr", "127.0.0.1:0"}, &stdout, &stderr))
	require.Empty(t, stderr.String())
}

// The recording holds the requests and answers.
func TestPcap(t *testing.T) {
	file := filepath.Join(t.TempDir(), "http.pcap")
	s := launch(t, "-pcap", file)
	s.get("bytes?n=100K")
	var received, sent, rb, sb int
	_, err := fmt.Sscanf(s.stop(), "closed: received %d frames, %d bytes; sent %d frames, %d bytes", &received, &rb, &sent, &sb)
	require.NoError(t, err)
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(b), "GET /bytes?n=100K HTTP/1.1")
	require.Contains(t, string(b), "HTTP/1.1 200 OK")
	frames := 0
	for at := 24; at < len(b); frames++ { // file header, then records
		at += 16 + int(binary.LittleEndian.Uint32(b[at+8:]))
	}
	require.InDelta(t, received+sent, frames, 4) // the last resets may still be on the cable
}

// Nothing in the log below Warn without -v; with it, the device's life.
func TestVerbose(t *testing.T) {
	s := launch(t, "-v")
	s.stop()
	require.Regexp(t, regexp.MustCompile(`msg="device open".*\n(?s:.*)msg="device closed"`), s.stderr.String())
}

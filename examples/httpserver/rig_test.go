package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// running is a server that runs in this process.
type running struct {
	t      testing.TB
	url    string
	client *http.Client
	cancel context.CancelFunc
	code   int
	done   chan struct{}
	stdout lines
	stderr lines
	once   sync.Once
}

// lines is what a program has written.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// launch runs the program on a free port until the end of the test, or until
// stop.
func launch(t testing.TB, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := &running{t: t, cancel: cancel, done: make(chan struct{}), client: &http.Client{Transport: &http.Transport{}}}
	r, w := io.Pipe()
	go func() {
		defer close(s.done)
		s.code = run(ctx, append([]string{"-addr", "127.0.0.1:0"}, args...), io.MultiWriter(&s.stdout, w), &s.stderr)
		w.Close()
	}()
	t.Cleanup(func() { s.stop() })
	up := make(chan string, 1)
	go func() {
		for scan := bufio.NewScanner(r); scan.Scan(); {
			if url, ok := strings.CutPrefix(scan.Text(), "listening on "); ok {
				up <- url
			}
		}
		close(up)
	}()
	url, ok := <-up
	require.True(t, ok, "the server has not come up: %s", &s.stderr)
	s.url = url
	return s
}

// stop interrupts the server and returns the last line of its output.
func (s *running) stop() string {
	s.once.Do(func() {
		s.client.CloseIdleConnections()
		s.cancel()
		<-s.done
	})
	require.Zero(s.t, s.code, "%s", &s.stderr)
	out := strings.Split(strings.TrimSpace(s.stdout.String()), "\n")
	return out[len(out)-1]
}

// get fetches a path with status 200.
func (s *running) get(path string) []byte {
	res, err := s.client.Get(s.url + path)
	require.NoError(s.t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusOK, res.StatusCode, "%s", body)
	return body
}

func (s *running) stats() (st statistics) {
	require.NoError(s.t, json.Unmarshal(s.get("stats.json"), &st))
	return st
}

// sumOf fetches a path and returns the length and the SHA-256 of what comes.
func (s *running) sumOf(path string) (int64, string) {
	res, err := s.client.Get(s.url + path)
	require.NoError(s.t, err)
	defer res.Body.Close()
	hash := sha256.New()
	n, err := io.Copy(hash, res.Body)
	require.NoError(s.t, err)
	return n, hex.EncodeToString(hash.Sum(nil))
}

func sumHex(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// patternReader reads left bytes of the pattern.
type patternReader struct {
	left int64
	seed uint64
	at   uint64
}

func (p *patternReader) Read(b []byte) (int, error) {
	if p.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(b))&^7, p.left)
	if n == 0 {
		return 0, io.ErrShortBuffer
	}
	fillPattern(b[:n], p.seed, p.at)
	p.at += uint64(n)
	p.left -= n
	return int(n), nil
}

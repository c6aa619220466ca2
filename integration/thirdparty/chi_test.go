package thirdparty

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/endpoint/netstack"
)

// served is a site on its way over the wire.
type served struct {
	*site
	url    string
	server *http.Server
	host   *netstack.Host
	client *netstack.Host
	web    *http.Client
}

// serve starts a site on one host and a client on the other.
func serve(t *testing.T, address string) *served {
	t.Helper()
	s := &served{site: newSite()}
	s.host, s.client = pair(t)
	ln, err := s.host.Listen(testContext(t), "tcp", address)
	require.NoError(t, err)
	s.server = &http.Server{Handler: s.site}
	ended := make(chan struct{})
	go func() { s.server.Serve(ln); close(ended) }()
	t.Cleanup(func() { s.server.Close(); <-ended })
	s.url, s.web = "http://"+ln.Addr().String(), newClient(t, s.client)
	return s
}

// do makes a request and returns status and body.
func (s *served) do(ctx context.Context, method, path string, body io.Reader, change ...func(*http.Request)) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, body)
	if err != nil {
		return 0, "", err
	}
	for _, f := range change {
		f(req)
	}
	res, err := s.web.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, string(b), err
}

func TestRoutesAndMiddleware(t *testing.T) {
	var numbers strings.Builder
	for i := range 20_000 {
		fmt.Fprintln(&numbers, i)
	}
	for _, address := range []string{"192.0.2.1:80", "[fd00::1]:80"} {
		t.Run(address, func(t *testing.T) {
			s := serve(t, address)
			for _, c := range []struct {
				method, path string
				password     string
				status       int
				body         string
			}{
				{method: "GET", path: "/alive", status: 200, body: "."},
				{method: "GET", path: "/hello/wire", status: 200, body: "hello wire"},
				{method: "GET", path: "/hello/wire/", status: 200, body: "hello wire"},
				{method: "GET", path: "/nowhere", status: 404, body: "404 page not found\n"},
				{method: "DELETE", path: "/hello/wire", status: 405},
				{method: "GET", path: "/panic", status: 500},
				{method: "GET", path: "/slow", status: 504},
				{method: "GET", path: "/private", status: 401},
				{method: "GET", path: "/private", password: "wrong", status: 401},
				{method: "GET", path: "/private", password: "secret", status: 200, body: "welcome"},
				{method: "GET", path: "/long", status: 200, body: numbers.String()}, // by gzip
			} {
				status, body, err := s.do(testContext(t), c.method, c.path, nil, func(r *http.Request) {
					if c.password != "" {
						r.SetBasicAuth("bare", c.password)
					}
				})
				require.NoError(t, err, c.path)
				require.Equal(t, c.status, status, c.path)
				require.Equal(t, c.body, body, c.path)
			}
			require.Equal(t, []any{"at the disco"}, s.journal.panicked())
		})
	}
}

// Many clients at a time, each with a body of its own, and each request seen once.
func TestConcurrentRequests(t *testing.T) {
	const clients, requests = 64, 8
	s := serve(t, "192.0.2.1:80")
	ctx := testContext(t)
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for i := range requests {
				want := strings.Repeat(fmt.Sprintf("client %d request %d. ", c, i), 1+c*i)
				status, body, err := s.do(ctx, "POST", "/echo", strings.NewReader(want))
				if err != nil || status != http.StatusOK || body != want {
					t.Errorf("client %d request %d: status %d, %d bytes of %d: %v", c, i, status, len(body), len(want), err)
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, s.server.Shutdown(ctx)) // the handlers have written their log
	require.Equal(t, map[int]int{200: clients * requests}, s.journal.finished())
}

// Throttle lets four through and refuses the fifth.
func TestThrottle(t *testing.T) {
	s := serve(t, "192.0.2.1:80")
	ctx := testContext(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if status, body, err := s.do(ctx, "GET", "/throttled", nil); status != http.StatusOK || body != "done" {
				t.Errorf("%d %s %v", status, body, err)
			}
		})
		<-s.entered
	}
	status, _, err := s.do(ctx, "GET", "/throttled", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusTooManyRequests, status)
	close(s.leave)
	wg.Wait()
}

// Request and answer stream at the same time: each line is answered before the
// next is sent.
func TestStreamBothWays(t *testing.T) {
	s := serve(t, "[fd00::1]:80")
	r, w := io.Pipe()
	req, err := http.NewRequestWithContext(testContext(t), "POST", s.url+"/lines", r)
	require.NoError(t, err)
	res, err := s.web.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	answers := bufio.NewReader(res.Body)
	for i := range 500 {
		_, err := fmt.Fprintf(w, "line %d\n", i)
		require.NoError(t, err)
		got, err := answers.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("got line %d\n", i), got)
	}
	require.NoError(t, w.Close())
	_, err = answers.ReadByte()
	require.Equal(t, io.EOF, err)
}

// A client that goes away in the middle ends its handler.
func TestClientGoesAway(t *testing.T) {
	s := serve(t, "192.0.2.1:80")
	ctx, cancel := context.WithCancel(testContext(t))
	req, err := http.NewRequestWithContext(ctx, "GET", s.url+"/endless", nil)
	require.NoError(t, err)
	res, err := s.web.Do(req)
	require.NoError(t, err)
	_, err = io.CopyN(io.Discard, res.Body, 1<<20)
	require.NoError(t, err)
	cancel()
	res.Body.Close()
	select {
	case err := <-s.gone:
		require.ErrorIs(t, err, context.Canceled)
	case <-testContext(t).Done():
		t.Fatal("the handler goes on")
	}
}

// Shutdown waits for the request under way and lets no further one in.
func TestGracefulShutdown(t *testing.T) {
	s := serve(t, "192.0.2.1:80")
	ctx := testContext(t)
	type answer struct {
		status int
		body   string
	}
	answers := make(chan answer, 1)
	go func() {
		status, body, _ := s.do(ctx, "GET", "/wait", nil)
		answers <- answer{status, body}
	}()
	<-s.entered
	closing := make(chan struct{})
	s.server.RegisterOnShutdown(func() { close(closing) })
	down := make(chan error, 1)
	go func() { down <- s.server.Shutdown(ctx) }()
	<-closing // listeners are closed before this is called
	_, _, err := s.do(ctx, "GET", "/alive", nil)
	require.Error(t, err)
	close(s.leave)
	require.Equal(t, answer{http.StatusOK, "done"}, <-answers)
	require.NoError(t, <-down)
}

// TLS and HTTP/2 of the standard library, on one connection.
func TestHTTP2(t *testing.T) {
	host, client := pair(t)
	ln, err := host.Listen(testContext(t), "tcp", "192.0.2.1:443")
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(newSite())
	require.NoError(t, server.Listener.Close())
	server.Listener, server.EnableHTTP2 = ln, true
	server.StartTLS()
	t.Cleanup(server.Close)

	transport := server.Client().Transport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	transport.DialContext = client.DialContext
	transport.TLSClientConfig.ServerName = "example.com" // in httptest's certificate
	s := &served{url: server.URL, web: &http.Client{Transport: transport}}
	res, err := s.web.Get(s.url + "/hello/h2")
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, "HTTP/2.0", res.Proto)
	ctx := testContext(t)
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			want := bytes.Repeat([]byte{byte(i)}, 100_000)
			status, body, err := s.do(ctx, "POST", "/echo", bytes.NewReader(want))
			if err != nil || status != http.StatusOK || body != string(want) {
				t.Errorf("stream %d: status %d, %d bytes: %v", i, status, len(body), err)
			}
		})
	}
	wg.Wait()
}

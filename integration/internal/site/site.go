// Package site is a client of examples/httpserver that checks what the server sends.
package site

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"
)

// Client asks one server. Its methods may be called from any goroutine.
type Client struct {
	URL  string // without / at its end
	HTTP *http.Client
}

// New returns a client whose exchanges take no longer than timeout.
func New(url string, timeout time.Duration) *Client {
	return &Client{URL: url, HTTP: &http.Client{Transport: &http.Transport{}, Timeout: timeout}}
}

// Close closes idle connections.
func (c *Client) Close() { c.HTTP.CloseIdleConnections() }

// Get fetches a path.
func (c *Client) Get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL+path, nil)
	if err != nil {
		return nil, fmt.Errorf("site: %w", err)
	}
	return c.do(req)
}

func (c *Client) do(req *http.Request) ([]byte, error) {
	res, err := c.HTTP.Do(req)
	if err != nil {
		return nil, fmt.Errorf("site: %w", err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %s: %s", res.Status, body)
	}
	if err != nil {
		return body, fmt.Errorf("site: %s %s: %w", req.Method, req.URL, err)
	}
	return body, nil
}

// Download fetches n bytes and compares them with the sum that the server makes of
// what it sends.
func (c *Client) Download(ctx context.Context, n, seed int) error {
	want, err := c.Get(ctx, fmt.Sprintf("/bytes?n=%d&seed=%d&sum=1", n, seed))
	if err != nil {
		return err
	}
	body, err := c.Get(ctx, fmt.Sprintf("/bytes?n=%d&seed=%d", n, seed))
	if err != nil {
		return err
	}
	if len(body) != n || !bytes.HasPrefix(want, []byte(sum(body))) {
		return fmt.Errorf("site: got %d bytes with SHA-256 %s, want %d with %s", len(body), sum(body), n, want)
	}
	return nil
}

// Upload sends n bytes and compares the server's answer with their number and sum.
func (c *Client) Upload(ctx context.Context, n int) error {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(n)}).Read(data) // never fails
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+"/upload", bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("site: %w", err)
	}
	body, err := c.do(req)
	if err != nil {
		return err
	}
	var got struct {
		Bytes  int    `json:"bytes"`
		SHA256 string `json:"sha256"`
	}
	if err := json.Unmarshal(body, &got); err != nil {
		return fmt.Errorf("site: answer to an upload: %w", err)
	}
	if got.Bytes != n || got.SHA256 != sum(data) {
		return fmt.Errorf("site: the server has %+v of %d bytes with SHA-256 %s", got, n, sum(data))
	}
	return nil
}

// AtOnce has so many downloads of n bytes at the same time, each on a connection of
// its own.
func (c *Client) AtOnce(ctx context.Context, connections, n int) error {
	many := New(c.URL, c.HTTP.Timeout)
	defer many.Close()
	errs := make([]error, connections)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = many.Download(ctx, n, i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// Echo sends a datagram of n bytes and compares what comes back within timeout.
func Echo(c net.Conn, n int, timeout time.Duration) error {
	data := bytes.Repeat([]byte{byte(n)}, n)
	if err := c.SetDeadline(time.Now().Add(timeout)); err != nil {
		return fmt.Errorf("site: %w", err)
	}
	if _, err := c.Write(data); err != nil {
		return fmt.Errorf("site: %w", err)
	}
	got := make([]byte, n+1)
	k, err := c.Read(got)
	if err != nil {
		return fmt.Errorf("site: echo of %d bytes: %w", n, err)
	}
	if !bytes.Equal(data, got[:k]) {
		return fmt.Errorf("site: echo of %d bytes came back as %d, or others", n, k)
	}
	return nil
}

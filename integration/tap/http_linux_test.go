package tap

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// content is what all transfers are parts of: nothing in it repeats.
var content = sync.OnceValue(func() []byte {
	b := make([]byte, 64<<20)
	rand.NewChaCha8([32]byte{51}).Read(b)
	return b
})

func sumHex(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// serve is the handler at both ends: GET /AT/N sends N bytes of the content from
// AT on, PUT answers with the SHA-256 of what was sent.
func serve(w http.ResponseWriter, req *http.Request) {
	if req.Method == http.MethodPut {
		hash := sha256.New()
		if _, err := io.Copy(hash, req.Body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fmt.Fprintf(w, "%x", hash.Sum(nil))
		return
	}
	var at, n int
	if _, err := fmt.Sscanf(req.URL.Path, "/%d/%d", &at, &n); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(n))
	w.Write(content()[at : at+n])
}

// startHTTP serves on a listener until the test ends and returns the URL of a.
func startHTTP(t *testing.T, ln net.Listener, a netip.Addr) string {
	server := &http.Server{Handler: http.HandlerFunc(serve)}
	ended := make(chan struct{})
	go func() { server.Serve(ln); close(ended) }()
	t.Cleanup(func() { server.Close(); <-ended })
	return "http://" + hostPort(a, portOf(ln.Addr()))
}

// transfer moves one part of the content and returns the SHA-256 that the
// receiver found.
type transfer func(ctx context.Context, url string, at, n int) (string, error)

// transfers moves size bytes both ways with both sides as the client, over IPv4
// and IPv6, in as many connections at a time as said.
func (r *rig) transfers(t *testing.T, size, connections int) {
	web := &http.Client{Transport: &http.Transport{DialContext: r.host.DialContext}}
	defer web.CloseIdleConnections()
	down := func(ctx context.Context, url string, at, n int) (string, error) {
		return get(ctx, web, url, at, n, nil)
	}
	up := func(ctx context.Context, url string, at, n int) (string, error) {
		return put(ctx, web, url, bytes.NewReader(content()[at:at+n]))
	}
	for _, family := range []struct {
		name         string
		ours, theirs netip.Addr
	}{{"IPv4", our4, kernel4}, {"IPv6", our6, kernel6}} {
		ln, err := r.host.Listen(testContext(t), "tcp", hostPort(family.ours, 0))
		require.NoError(t, err)
		ours := startHTTP(t, ln, family.ours)
		ln, err = net.Listen("tcp", hostPort(family.theirs, 0))
		require.NoError(t, err)
		theirs := startHTTP(t, ln, family.theirs)
		for _, move := range []struct {
			name, url string
			do        transfer
		}{
			{"curl downloads", ours, curlGet},
			{"curl uploads", ours, curlPut},
			{"we download", theirs, down},
			{"we upload", theirs, up},
		} {
			t.Run(fmt.Sprintf("%s %s %d x %d", family.name, move.name, connections, size/connections), func(t *testing.T) {
				parallel(t, move.url, size, connections, move.do)
			})
		}
		web.CloseIdleConnections()
	}
}

// parallel moves size bytes in parts, all at the same time.
func parallel(t *testing.T, url string, size, parts int, do transfer) {
	ctx := testContext(t)
	var wg sync.WaitGroup
	n := size / parts
	for i := range parts {
		wg.Go(func() {
			got, err := do(ctx, url, i*n, n)
			if want := sumHex(content()[i*n : (i+1)*n]); err != nil || got != want {
				t.Errorf("part %d: SHA-256 %s, want %s: %v", i, got, want, err)
			}
		})
	}
	wg.Wait()
}

// get downloads a part of the content. progress, if there is one, is told the
// bytes so far.
func get(ctx context.Context, web *http.Client, url string, at, n int, progress io.Writer) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/%d/%d", url, at, n), nil)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	var to io.Writer = hash
	if progress != nil {
		to = io.MultiWriter(hash, progress)
	}
	return do(web, req, func(body io.Reader) (string, error) {
		_, err := io.Copy(to, body)
		return hex.EncodeToString(hash.Sum(nil)), err
	})
}

// put uploads body and returns the server's answer.
func put(ctx context.Context, web *http.Client, url string, body io.Reader) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, url+"/", body)
	if err != nil {
		return "", err
	}
	return do(web, req, func(body io.Reader) (string, error) {
		b, err := io.ReadAll(body)
		return string(b), err
	})
}

func do(web *http.Client, req *http.Request, read func(io.Reader) (string, error)) (string, error) {
	res, err := web.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	got, err := read(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %s: %s", res.Status, got)
	}
	return got, err
}

// curlGet and curlPut do the same with the program curl.
func curlGet(ctx context.Context, url string, at, n int) (string, error) {
	hash := sha256.New()
	err := curl(ctx, nil, hash, fmt.Sprintf("%s/%d/%d", url, at, n))
	return hex.EncodeToString(hash.Sum(nil)), err
}

func curlPut(ctx context.Context, url string, at, n int) (string, error) {
	var out strings.Builder
	err := curl(ctx, bytes.NewReader(content()[at:at+n]), &out, "-T", "-", url+"/")
	return out.String(), err
}

func curl(ctx context.Context, in io.Reader, out io.Writer, args ...string) error {
	var complaint strings.Builder
	cmd := exec.CommandContext(ctx, "curl", append([]string{"--noproxy", "*", "-fsS"}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, &complaint
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("curl %v: %w: %s", args, err, complaint.String())
	}
	return nil
}

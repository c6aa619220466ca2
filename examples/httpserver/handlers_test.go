package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
)

func site() http.Handler {
	s := &server{stats: func() any { return statistics{} }, patience: time.Minute}
	return s.handler()
}

func ask(method, target string, body io.Reader) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	site().ServeHTTP(w, httptest.NewRequest(method, target, body))
	return w
}

func TestRoutes(t *testing.T) {
	for _, c := range []struct {
		method, target string
		code           int
		text           string // in the body
		allow          string
	}{
		{"GET", "/", 200, "<title>Barewire", ""},
		{"HEAD", "/", 200, "", ""},
		{"POST", "/", 405, "405: / takes GET, HEAD", "GET, HEAD"},
		{"GET", "/stats.json", 200, `"device"`, ""},
		{"DELETE", "/stats.json", 405, "takes GET, HEAD", "GET, HEAD"},
		{"POST", "/bytes?n=1", 405, "takes GET, HEAD", "GET, HEAD"},
		{"GET", "/upload", 405, "takes POST, PUT", "POST, PUT"},
		{"GET", "/none", 404, "/bytes?n=SIZE", ""},
		{"POST", "/index.html", 404, "404", ""},
		{"GET", "/bytes", 400, "n: need a size", ""},
		{"GET", "/bytes?n=x", 400, "n: need a size from 0 to 1T", ""},
		{"GET", "/bytes?n=-1", 400, "n: need a size", ""},
		{"GET", "/bytes?n=2T", 400, "n: need a size", ""},
		{"GET", "/bytes?n=1&seed=-1", 400, "seed: need a number", ""},
		{"GET", "/bytes?n=1&seed=", 400, "seed: need a number", ""},
		{"GET", "/bytes?n=1&sum=yes", 400, "sum: need 1", ""},
		{"GET", "/bytes?n=5G&sum=1", 400, "at most 4G", ""},
		{"GET", "/bytes?n=0", 200, "", ""},
	} {
		t.Run(c.method+" "+c.target, func(t *testing.T) {
			w := ask(c.method, c.target, nil)
			require.Equal(t, c.code, w.Code)
			require.Contains(t, w.Body.String(), c.text)
			require.Equal(t, c.allow, w.Header().Get("Allow"))
			if c.code >= 400 {
				require.Len(t, strings.Split(strings.TrimSpace(w.Body.String()), "\n"), 1)
			}
			require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
			require.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'")
		})
	}
}

// The policy lets the page's script and style run, and the page has nothing
// that it forbids.
func TestContentPolicy(t *testing.T) {
	policy := ask("GET", "/", nil).Header().Get("Content-Security-Policy")
	for _, element := range []string{"script", "style"} {
		found := regexp.MustCompile(`(?s)<`+element+`[^>]*>(.*?)</`+element+`>`).FindAllStringSubmatch(page, -1)
		require.Len(t, found, 1)
		sum := sha256.Sum256([]byte(found[0][1]))
		require.Contains(t, policy, element+"-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	require.NotRegexp(t, `(?i)\sstyle=|\son[a-z]+=|https?://|src=|javascript:|innerHTML`, page)
}

// Every name that the page's script looks up is one of /stats.json, or the page
// would show nothing. All looking up is done by at, rate and sum.
func TestPageNames(t *testing.T) {
	_, script, _ := strings.Cut(page, "<script>")
	b, err := json.Marshal(statistics{Device: mac.Snapshot{Queues: make([]mac.QueueSnapshot, 1)}})
	require.NoError(t, err)
	var root map[string]any
	require.NoError(t, json.Unmarshal(b, &root))
	queue := root["device"].(map[string]any)["queues"].([]any)[0]

	calls := regexp.MustCompile(`\b(at\(([\w.]+)|rate\(|sum\(queues)(?:, )?"([^"]+)"(, q)?`).FindAllStringSubmatch(script, -1)
	require.Greater(t, len(calls), 60)
	for _, c := range calls {
		in := any(root)
		if c[2] == "q" || c[4] != "" || strings.HasPrefix(c[1], "sum") {
			in = queue
		}
		for _, name := range strings.Split(c[3], ".") {
			object, ok := in.(map[string]any)
			require.True(t, ok, "%s: not an object above %s", c[0], name)
			require.Contains(t, object, name, c[0])
			in = object[name]
		}
	}
	// The rest are the definitions of the three, and what they do inside.
	require.Len(t, regexp.MustCompile(`\b(at|rate|sum)\(`).FindAllString(script, -1), len(calls)+5)
	require.NotRegexp(t, `\b(s|q|p\.s|last\.s)\.[a-z]`, script, "a name looked up without at")
}

func TestBytes(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 9, 1000, chunkSize - 1, chunkSize, chunkSize + 1, 3*chunkSize + 5} {
		target := "/bytes?seed=7&n=" + itoa(n)
		w := ask("GET", target, nil)
		require.Equal(t, itoa(n), w.Header().Get("Content-Length"))
		require.Equal(t, n, w.Body.Len())
		sum := sha256.Sum256(w.Body.Bytes())
		require.Equal(t, hex.EncodeToString(sum[:])+"\n", ask("GET", target+"&sum=1", nil).Body.String())

		head := ask("HEAD", target, nil)
		require.Equal(t, itoa(n), head.Header().Get("Content-Length"))
		require.Zero(t, head.Body.Len())
	}
	require.NotEqual(t, ask("GET", "/bytes?n=64&seed=1", nil).Body.String(), ask("GET", "/bytes?n=64&seed=2", nil).Body.String())
	require.Equal(t, ask("GET", "/bytes?n=64&seed=1", nil).Body.String(), ask("GET", "/bytes?n=64", nil).Body.String())
}

func itoa(n int) string { return (&intFlag{value: &n}).String() }

// The pattern is the published SplitMix64 sequence, whatever it is cut into.
func TestPattern(t *testing.T) {
	whole := make([]byte, 1024)
	fillPattern(whole, 1234567, 0)
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423} {
		require.Equal(t, want, binary.LittleEndian.Uint64(whole[8*i:]))
	}
	for at := 0; at < len(whole); at += 8 {
		for n := range 20 {
			part := make([]byte, min(n, len(whole)-at))
			fillPattern(part, 1234567, uint64(at))
			require.Equal(t, whole[at:at+len(part)], part)
		}
	}
}

func TestPatternSumStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := patternSum(ctx, maxSum, 1)
	require.ErrorIs(t, err, context.Canceled)
}

// Nothing is allocated for a write.
func TestBytesAllocates(t *testing.T) {
	s := &server{patience: time.Minute}
	run := func(n string) float64 {
		r := httptest.NewRequest("GET", "/bytes?n="+n, nil)
		return testing.AllocsPerRun(3, func() { s.serveBytes(nowhere{}, r) })
	}
	run("1M") // fills the pool of chunks
	require.InDelta(t, run("1M"), run("8M"), 5)
}

// nowhere is a response that is thrown away.
type nowhere struct{}

func (nowhere) Header() http.Header              { return http.Header{} }
func (nowhere) Write(b []byte) (int, error)      { return len(b), nil }
func (nowhere) WriteHeader(int)                  {}
func (nowhere) SetWriteDeadline(time.Time) error { return nil }

func TestParseSize(t *testing.T) {
	for in, want := range map[string]int64{
		"0": 0, "1": 1, "1000": 1000, "1K": 1024, "1Ki": 1024, "3M": 3 << 20, "3Mi": 3 << 20,
		"1G": 1 << 30, "2Gi": 2 << 30, "1T": 1 << 40, "1024Gi": 1 << 40, "1099511627776": 1 << 40,
	} {
		n, err := parseSize(in)
		require.NoError(t, err, in)
		require.Equal(t, want, n, in)
	}
	for _, in := range []string{"", "K", "i", "Ki", "1k", "1i", "1KB", "1 K", "-1", "+1", "1.5M", "0x10", "1e3", "1025G", "1099511627777", "99999999999999999999", "1KK", "1Kii"} {
		_, err := parseSize(in)
		require.ErrorIs(t, err, errSize, in)
	}
}

func FuzzParseSize(f *testing.F) {
	for _, s := range []string{"0", "1M", "1Ki", "1T", "x", "9223372036854775807", "16777216Ti"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := parseSize(s)
		if n < 0 || n > maxSize || err != nil && n != 0 {
			t.Fatalf("%q: %d, %v", s, n, err)
		}
	})
}

func TestUpload(t *testing.T) {
	for _, method := range []string{"POST", "PUT"} {
		for _, n := range []int64{0, 1, 3*chunkSize + 8} {
			w := ask(method, "/upload", &patternReader{left: n, seed: 1})
			require.Equal(t, http.StatusOK, w.Code)
			sum, err := patternSum(t.Context(), n, 1)
			require.NoError(t, err)
			var got uploaded
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
			require.Equal(t, uploaded{n, sum}, got)
		}
	}
	w := ask("POST", "/upload", io.MultiReader(bytes.NewReader(make([]byte, 5)), broken{}))
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Contains(t, w.Body.String(), "broke off after 5 bytes")
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("broken") }

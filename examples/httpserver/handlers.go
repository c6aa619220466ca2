package main

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

//go:embed page.html
var page string

const (
	// chunkSize is how much is written to or read from a connection at a time:
	// enough that the cost of a call does not show, little enough that 200
	// connections take 25 MiB.
	chunkSize = 128 << 10
	// renewEvery is how often a transfer that moves gets new time.
	renewEvery = time.Second
)

// chunks are the buffers of transfers under way.
var chunks = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// server answers the requests.
type server struct {
	stats    func() any // what /stats.json sends
	requests atomic.Uint64
	// patience is how long a transfer may stand still.
	patience time.Duration
}

// lease gives a transfer that moves new time.
type lease struct {
	set     func(time.Time) error // SetReadDeadline or SetWriteDeadline
	length  time.Duration
	renewed time.Time
}

func (l *lease) renew() {
	if now := time.Now(); now.Sub(l.renewed) >= renewEvery {
		l.set(now.Add(l.length))
		l.renewed = now
	}
}

// handler is the whole site.
func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/{$}", allow(servePage, "GET", "HEAD"))
	mux.Handle("/stats.json", allow(s.serveStats, "GET", "HEAD"))
	mux.Handle("/bytes", allow(s.serveBytes, "GET", "HEAD"))
	mux.Handle("/upload", allow(s.serveUpload, "POST", "PUT"))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "404: there is /, /stats.json, /bytes?n=SIZE and /upload", http.StatusNotFound)
	})
	policy := contentPolicy(page)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		mux.ServeHTTP(w, r)
	})
}

// allow lets the methods through to f and answers 405 to all others.
func allow(f http.HandlerFunc, methods ...string) http.Handler {
	list := strings.Join(methods, ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, m := range methods {
			if r.Method == m {
				f(w, r)
				return
			}
		}
		w.Header().Set("Allow", list)
		http.Error(w, fmt.Sprintf("405: %s takes %s", r.URL.Path, list), http.StatusMethodNotAllowed)
	})
}

// contentPolicy lets a page run its own script and style, whose hashes it holds,
// and ask this server; nothing else.
func contentPolicy(page string) string {
	return "default-src 'none'; script-src " + inlineHash(page, "script") + "; style-src " + inlineHash(page, "style") +
		"; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// inlineHash is the hash of the content of a page's one element of that name.
func inlineHash(page, element string) string {
	_, rest, _ := strings.Cut(page, "<"+element+">")
	content, _, _ := strings.Cut(rest, "</"+element+">")
	sum := sha256.Sum256([]byte(content))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func servePage(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(page)))
	if r.Method != "HEAD" {
		io.WriteString(w, page)
	}
}

func (s *server) serveStats(w http.ResponseWriter, r *http.Request) { sendJSON(w, s.stats()) }

func sendJSON(w http.ResponseWriter, v any) {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		http.Error(w, "500: "+err.Error(), http.StatusInternalServerError)
		return
	}
	b = append(b, '\n')
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.Write(b)
}

// serveBytes sends n bytes of a pattern, or with sum=1 their SHA-256.
func (s *server) serveBytes(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	n, err := parseSize(q.Get("n"))
	if err != nil {
		http.Error(w, "400: n: "+err.Error(), http.StatusBadRequest)
		return
	}
	seed := uint64(1)
	if q.Has("seed") {
		if seed, err = strconv.ParseUint(q.Get("seed"), 10, 64); err != nil {
			http.Error(w, "400: seed: need a number from 0 to 18446744073709551615", http.StatusBadRequest)
			return
		}
	}
	switch sum := q.Get("sum"); {
	case sum == "1" && n > maxSum:
		http.Error(w, "400: sum=1: need an n of at most 4G", http.StatusBadRequest)
	case sum == "1":
		s.sendSum(w, r, n, seed)
	case sum != "" && sum != "0":
		http.Error(w, "400: sum: need 1 for the SHA-256 of the bytes, or 0 for the bytes", http.StatusBadRequest)
	default:
		s.sendBytes(w, r, n, seed)
	}
}

func (s *server) sendBytes(w http.ResponseWriter, r *http.Request, n int64, seed uint64) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(n, 10))
	if r.Method == "HEAD" {
		return
	}
	buf := chunks.Get().(*[chunkSize]byte)
	defer chunks.Put(buf)
	write := lease{set: http.NewResponseController(w).SetWriteDeadline, length: s.patience}
	for at := int64(0); at < n; {
		write.renew()
		b := buf[:min(n-at, chunkSize)]
		fillPattern(b, seed, uint64(at))
		if _, err := w.Write(b); err != nil {
			return // the client has gone
		}
		at += int64(len(b))
	}
}

func (s *server) sendSum(w http.ResponseWriter, r *http.Request, n int64, seed uint64) {
	sum, err := patternSum(r.Context(), n, seed)
	if err != nil {
		return // the client has gone
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.patience))
	fmt.Fprintln(w, sum)
}

// patternSum is the SHA-256 of the pattern's first n bytes in hexadecimal.
func patternSum(ctx context.Context, n int64, seed uint64) (string, error) {
	buf := chunks.Get().(*[chunkSize]byte)
	defer chunks.Put(buf)
	hash := sha256.New()
	for at := int64(0); at < n && ctx.Err() == nil; at += chunkSize {
		b := buf[:min(n-at, chunkSize)]
		fillPattern(b, seed, uint64(at))
		hash.Write(b)
	}
	return hex.EncodeToString(hash.Sum(nil)), ctx.Err()
}

// uploaded is the answer to an upload.
type uploaded struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// serveUpload reads a body to its end, keeps nothing of it and answers with its
// length and SHA-256.
func (s *server) serveUpload(w http.ResponseWriter, r *http.Request) {
	buf := chunks.Get().(*[chunkSize]byte)
	defer chunks.Put(buf)
	control := http.NewResponseController(w)
	read := lease{set: control.SetReadDeadline, length: s.patience}
	hash := sha256.New()
	answer := uploaded{}
	for {
		read.renew()
		n, err := r.Body.Read(buf[:])
		hash.Write(buf[:n])
		answer.Bytes += int64(n)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			http.Error(w, fmt.Sprintf("400: the upload broke off after %d bytes", answer.Bytes), http.StatusBadRequest)
			return
		}
	}
	answer.SHA256 = hex.EncodeToString(hash.Sum(nil))
	control.SetWriteDeadline(time.Now().Add(s.patience))
	sendJSON(w, answer)
}

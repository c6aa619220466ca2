package site

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// liar serves like examples/httpserver, but for one byte when it lies.
func liar(t *testing.T, lies bool) *Client {
	mux := http.NewServeMux()
	mux.HandleFunc("/bytes", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.FormValue("n"))
		b := make([]byte, n)
		if r.FormValue("sum") == "1" {
			fmt.Fprintf(w, "%x\n", sha256.Sum256(b))
			return
		}
		if lies {
			b[n/2] = 1
		}
		w.Write(b)
	})
	mux.HandleFunc("/upload", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if lies {
			b[0] ^= 1
		}
		json.NewEncoder(w).Encode(map[string]any{"bytes": len(b), "sha256": sum(b)})
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	c := New(s.URL, 10*time.Second)
	t.Cleanup(c.Close)
	return c
}

func TestClient(t *testing.T) {
	c := liar(t, false)
	require.NoError(t, c.Download(t.Context(), 1000, 1))
	require.NoError(t, c.Upload(t.Context(), 1000))
	require.NoError(t, c.AtOnce(t.Context(), 5, 1000))
	_, err := c.Get(t.Context(), "/nothing")
	require.ErrorContains(t, err, "404")

	c = liar(t, true)
	require.ErrorContains(t, c.Download(t.Context(), 1000, 1), "got 1000 bytes with SHA-256")
	require.ErrorContains(t, c.Upload(t.Context(), 1000), "the server has")
	require.Error(t, c.AtOnce(t.Context(), 5, 1000))
}

func TestEcho(t *testing.T) {
	l, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	go func() {
		b := make([]byte, 100)
		for {
			n, from, err := l.ReadFrom(b)
			if err != nil {
				return
			}
			if n == 20 {
				b[3]++
			}
			l.WriteTo(b[:n], from)
		}
	}()
	c, err := net.Dial("udp", l.LocalAddr().String())
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, Echo(c, 10, 10*time.Second))
	require.ErrorContains(t, Echo(c, 20, 10*time.Second), "came back as 20, or others")
}

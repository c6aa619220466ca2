package main

import (
	"context"
	"fmt"
	"io"
	"testing"
)

// BenchmarkBytes and BenchmarkUpload take everything between a client on this
// machine and the handler.
func BenchmarkBytes(b *testing.B) {
	const n = 256 << 20
	s := launch(b)
	b.SetBytes(n)
	for b.Loop() {
		res, err := s.client.Get(fmt.Sprintf("%sbytes?n=%d", s.url, n))
		if err != nil {
			b.Fatal(err)
		}
		got, err := io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if err != nil || got != n {
			b.Fatal(got, err)
		}
	}
}

func BenchmarkUpload(b *testing.B) {
	const n = 64 << 20
	s := launch(b)
	b.SetBytes(n)
	for b.Loop() {
		res, err := s.client.Post(s.url+"upload", "", &patternReader{left: n, seed: 1})
		if err != nil {
			b.Fatal(err)
		}
		res.Body.Close()
	}
}

func BenchmarkPattern(b *testing.B) {
	buf := make([]byte, chunkSize)
	b.SetBytes(chunkSize)
	for b.Loop() {
		fillPattern(buf, 1, 0)
	}
}

func BenchmarkPatternSum(b *testing.B) {
	b.SetBytes(16 << 20)
	for b.Loop() {
		if _, err := patternSum(context.Background(), 16<<20, 1); err != nil {
			b.Fatal(err)
		}
	}
}

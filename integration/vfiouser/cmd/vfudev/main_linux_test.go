package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRun(t *testing.T) {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tc := range map[string]struct {
		o   options
		err string
	}{
		"no socket":       {options{}, "give one or two"},
		"three sockets":   {options{sockets: []string{a, b, "c"}}, "give one or two"},
		"two and forward": {options{sockets: []string{a, b}, forwards: []string{"127.0.0.1:0=80"}}, "leave out"},
		"bad forward":     {options{sockets: []string{a}, forwards: []string{"80"}}, "want HOST:PORT=PORT"},
		"bad guest port":  {options{sockets: []string{a}, forwards: []string{"127.0.0.1:0=x"}}, "want HOST:PORT=PORT"},
		"bad BAR":         {options{sockets: []string{a}, bar: 65}, "smaller than the register window"},
		"bad path":        {options{sockets: []string{a, filepath.Join(dir, "no", "b")}}, "no such file"},
		"cancelled":       {options{sockets: []string{a, b}}, "context canceled"},
	} {
		t.Run(name, func(t *testing.T) { require.ErrorContains(t, run(ctx, &tc.o, log), tc.err) })
	}
}

// A client that leaves at once ends the command.
func TestClientLeaves(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	done := make(chan error, 1)
	go func() {
		done <- run(t.Context(), &options{sockets: []string{path}, forwards: []string{"127.0.0.1:0=80"}, msi: 1},
			slog.New(slog.NewTextHandler(io.Discard, nil)))
	}()
	for {
		if c, err := net.Dial("unix", path); err == nil {
			require.NoError(t, c.Close())
			break
		}
		select {
		case err := <-done:
			t.Fatal(err)
		default:
		}
	}
	require.NoError(t, <-done)
	_, err := os.Stat(path)
	require.ErrorIs(t, err, os.ErrNotExist)
}

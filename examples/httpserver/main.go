// Command httpserver is an HTTP server that is its own network: below net/http
// are gVisor's TCP/IP stack, the driver of an Ethernet MAC, and, unless told
// otherwise, a model of that MAC in the same process. That needs no root, no board
// and no set-up:
//
//	go run ./examples/httpserver
//
// Then http://127.0.0.1:8080/ shows the MAC at work, live. A user-mode network at
// the other end of the wire forwards that port into the stack. To join the wire
// to the kernel instead (Linux, as root):
//
//	go run ./examples/httpserver -tap bw0 &
//	ip addr add 192.0.2.1/24 dev bw0
//	curl http://192.0.2.2:8080/stats.json
//
// What it serves:
//
//	GET  /                   a page with link, queues, coalescing and page pool
//	GET  /stats.json         all counters
//	GET  /bytes?n=SIZE       SIZE bytes of a pattern (1000, 64K, 1M, 1G: powers of 1024)
//	         &seed=N         another pattern
//	         &sum=1          only the SHA-256 of those bytes
//	POST /upload             reads the body and answers with its length and SHA-256
//
// and a UDP echo on the port of the same number. Interrupt it once to let
// requests end, twice to stop at once. The MAC is a GMAC5 unless -core names another
// core; -cores lists them.
//
// On a MAC of this machine (Linux; see packages mac/bus/vfio, uio and devmem for how
// to come by it), the wire is real and addresses are the stack's own:
//
//	httpserver -bus vfio -dev 0000:01:00.0 -ip 192.0.2.2/24 -gw 192.0.2.1
//	httpserver -bus auto -dev 1c30000.ethernet -ip 192.0.2.2/24
//
// It can be all that runs on a board. With the program as /init in the initial RAM
// file system it mounts /proc, /sys and /dev; its flags are behind -- on the kernel
// command line:
//
//	console=ttyS0 -- -bus auto -ip 192.0.2.2/24
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/cores"
	"github.com/barewire/barewire/mac/sim/tap"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal kills
	end := beInit(os.Stdout)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if end != nil {
		end()
	}
	os.Exit(code)
}

// run serves until ctx ends. It returns the exit code: 2 for a wrong command
// line, 1 for what else went wrong.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseFlags(args)
	switch {
	case errors.Is(err, errHelp):
		printUsage(stdout)
		return 0
	case err != nil:
		return fail(stderr, 2, err)
	case o.cores:
		fmt.Fprintln(stdout, strings.Join(cores.Names(), "\n"))
		return 0
	}
	level := slog.LevelWarn
	if o.verbose {
		level = slog.LevelDebug
	}
	m, err := boot(ctx, o, slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level})))
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return 0 // interrupted before it was up
	case errors.Is(err, mac.ErrConfig), errors.Is(err, tap.ErrName):
		return fail(stderr, 2, err)
	case err != nil:
		return fail(stderr, 1, err)
	}
	m.report(stdout)
	<-ctx.Done()

	err = m.close()
	s := m.dev.Stats()
	fmt.Fprintf(stdout, "closed: received %d frames, %d bytes; sent %d frames, %d bytes; %d pages lent\n",
		s.RXPackets, s.RXBytes, s.TXPackets, s.TXBytes, lent(err))
	if err != nil {
		return fail(stderr, 1, err)
	}
	return 0
}

func fail(w io.Writer, code int, err error) int {
	fmt.Fprintf(w, "httpserver: %s\n", oneLine(err))
	return code
}

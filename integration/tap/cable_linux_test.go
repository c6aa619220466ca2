package tap

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/endpoint"
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/sim/cable"
)

// TCP of both sides repairs what a bad cable does, and checksums find every
// flipped bit.
func TestBadCable(t *testing.T) {
	needKernel(t)
	bad := func(seed uint64) cable.Impairments {
		return cable.Impairments{Seed: seed, Drop: 5, Swap: 5, Duplicate: 5, Corrupt: 5}
	}
	for _, c := range []struct {
		name  string
		setup setup
	}{
		{"checksum offload", setup{}},
		{"no checksum offload", setup{mac: mac.Config{NoRXChecksum: true, NoTXChecksum: true}}},
		{"GRO and GSO", setup{endpoint: endpoint.Options{GRO: true, GSO: true}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.setup
			s.cable = cable.Options{AToB: bad(1), BToA: bad(2)}
			r := boot(t, s)
			r.transfers(t, 1<<20, 2)
			for _, dir := range []cable.Direction{kernelTo, kernelFrom} {
				s := r.cable.Stats(dir)
				for what, n := range map[string]uint64{"lost": s.Lost, "swapped": s.Swapped, "duplicated": s.Duplicated, "corrupted": s.Corrupted} {
					require.NotZero(t, n, "%v %s", dir, what)
				}
			}
		})
	}
}

// flapper cuts the cable at each step bytes of a transfer, waits until the driver
// has seen it, and plugs it in again.
type flapper struct {
	t     testing.TB
	r     *rig
	links <-chan mac.Link
	step  int
	seen  int
	flaps int
}

// Write implements io.Writer.
func (f *flapper) Write(b []byte) (int, error) {
	f.seen += len(b)
	if f.seen >= (f.flaps+1)*f.step {
		f.flaps++
		f.r.cable.SetLink(mac.Link{})
		waitLink(f.t, f.links, false)
		f.r.cable.SetLink(mac.Link{Up: true, Speed: 1000, FullDuplex: true})
		waitLink(f.t, f.links, true)
	}
	return len(b), nil
}

func TestLinkFlaps(t *testing.T) {
	const flaps, size = 4, 16 << 20 / slowdown
	r := boot(t, setup{})
	links := r.links()
	for _, family := range []struct {
		name         string
		ours, theirs netip.Addr
	}{{"IPv4", our4, kernel4}, {"IPv6", our6, kernel6}} {
		ln, err := r.host.Listen(testContext(t), "tcp", hostPort(family.ours, 0))
		require.NoError(t, err)
		url := startHTTP(t, ln, family.ours)
		for _, move := range []struct {
			name string
			do   func(context.Context, *http.Client, io.Writer) (string, error)
		}{
			{"download", func(ctx context.Context, web *http.Client, w io.Writer) (string, error) {
				return get(ctx, web, url, 0, size, w)
			}},
			{"upload", func(ctx context.Context, web *http.Client, w io.Writer) (string, error) {
				return put(ctx, web, url, io.TeeReader(io.LimitReader(&contentReader{}, size), w))
			}},
		} {
			t.Run(family.name+" "+move.name, func(t *testing.T) {
				web := &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{}).DialContext}}
				defer web.CloseIdleConnections()
				f := &flapper{t: t, r: r, links: links, step: size / (flaps + 1)}
				got, err := move.do(testContext(t), web, f)
				require.NoError(t, err)
				require.Equal(t, sumHex(content()[:size]), got)
				require.GreaterOrEqual(t, f.flaps, flaps)
			})
		}
	}
}

// contentReader reads the content.
type contentReader struct{ at int }

// Read implements io.Reader.
func (c *contentReader) Read(b []byte) (int, error) {
	n := copy(b, content()[c.at:])
	c.at += n
	return n, nil
}

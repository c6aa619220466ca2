package endpoint_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/endpoint"
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/fake"
	"github.com/barewire/barewire/mac/sim"
	model "github.com/barewire/barewire/mac/sim/dwmac4"
	"github.com/barewire/barewire/pagepool"
)

// send writes n bytes from a seed and returns their hash.
func send(w io.Writer, n int64, seed uint64) (hash.Hash, error) {
	h := sha256.New()
	r := rand.NewChaCha8([32]byte{byte(seed)})
	_, err := io.CopyBuffer(io.MultiWriter(w, h), io.LimitReader(r, n), make([]byte, 64<<10))
	return h, err
}

// transfer sends n bytes from client to server and back at once and compares.
func transfer(ctx context.Context, client, server *node, addr netip.Addr, n int64) error {
	ln, err := server.host.Listen(ctx, "tcp", netip.AddrPortFrom(addr, 0).String())
	if err != nil {
		return err
	}
	defer ln.Close()
	results := make(chan error, 4)
	run := func(f func() error) { go func() { results <- f() }() }
	both := func(c net.Conn, seed uint64, sent, got *[]byte) {
		run(func() error {
			h, err := send(c, n, seed)
			*sent = h.Sum(nil)
			if err == nil {
				err = c.(interface{ CloseWrite() error }).CloseWrite()
			}
			return err
		})
		run(func() error {
			h := sha256.New()
			m, err := io.Copy(h, c)
			*got = h.Sum(nil)
			if err == nil && m != n {
				err = fmt.Errorf("received %d bytes of %d", m, n)
			}
			return err
		})
	}
	var upSent, upGot, downSent, downGot []byte
	c, err := client.host.DialContext(ctx, "tcp", ln.Addr().String())
	if err != nil {
		return err
	}
	defer c.Close()
	s, err := ln.Accept()
	if err != nil {
		return err
	}
	defer s.Close()
	both(c, 1, &upSent, &downGot)
	both(s, 2, &downSent, &upGot)
	for range cap(results) {
		select {
		case err := <-results:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if string(upSent) != string(upGot) || string(downSent) != string(downGot) {
		return fmt.Errorf("bytes differ: up %x %x, down %x %x", upSent, upGot, downSent, downGot)
	}
	return nil
}

// TestTransfer carries TCP both ways at once over every combination of what
// changes the path of a byte.
func TestTransfer(t *testing.T) {
	for _, c := range []struct {
		name string
		opts nodeOptions
	}{
		{"defaults", nodeOptions{}},
		{"lend everything", nodeOptions{fake: fake.Options{Config: mac.Config{CopyBreak: pagepool.LendAlways}}}},
		{"copy everything", nodeOptions{fake: fake.Options{Config: mac.Config{CopyBreak: pagepool.CopyAlways}}}},
		{"no checksum offload", nodeOptions{fake: fake.Options{Config: mac.Config{NoRXChecksum: true, NoTXChecksum: true}}}},
		{"core without checksum engines", nodeOptions{fake: fake.Options{Core: fake.GMAC5(model.Config{NoRXChecksum: true, NoTXChecksum: true, NoTSO: true})}}},
		{"GRO", nodeOptions{endpoint: endpoint.Options{GRO: true}, fake: fake.Options{Config: mac.Config{CopyBreak: pagepool.LendAlways}}}},
		{"GSO", nodeOptions{endpoint: endpoint.Options{GSO: true}}},
		{"GRO and GSO", nodeOptions{endpoint: endpoint.Options{GRO: true, GSO: true}}},
		{"frames over several pages", nodeOptions{fake: fake.Options{Config: mac.Config{PageSize: 512, CopyBreak: pagepool.LendAlways}}}},
		{"MTU 9000", nodeOptions{fake: fake.Options{Config: mac.Config{MTU: 9000, RXRing: 128, CopyBreak: pagepool.LendAlways}, Build: sim.Build{FIFO: 64 << 10}}}},
		{"MTU 9000 over pages of 2 KiB", nodeOptions{fake: fake.Options{Config: mac.Config{MTU: 9000, PageSize: 2048}, Build: sim.Build{FIFO: 64 << 10}}}},
		{"two queues", nodeOptions{fake: fake.Options{Config: mac.Config{Queues: 2}, Build: sim.Build{FIFO: 32 << 10}}}},
		{"small rings", nodeOptions{fake: fake.Options{Config: mac.Config{RXRing: 16, TXRing: 16, Pages: 24}}}},
		{"GMAC 4.00", nodeOptions{fake: fake.Options{Core: fake.GMAC5(model.Config{Version: 0x40})}}},
		{"32-bit addresses", nodeOptions{fake: fake.Options{Core: fake.GMAC5(model.Config{AddressBits: 32})}}},
	} {
		for _, family := range []string{"IPv4", "IPv6"} {
			t.Run(c.name+"/"+family, func(t *testing.T) {
				a, b := pair(t, c.opts, c.opts)
				addr := b.ip4
				if family == "IPv6" {
					addr = b.ip6
				}
				require.NoError(t, transfer(testContext(t), a, b, addr, 512<<10))
			})
		}
	}
}

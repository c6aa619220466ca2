// Command vfudev serves modelled GMAC4/5 cores to QEMU's vfio-user-pci.
//
//	vfudev -socket /tmp/mac0 -forward 127.0.0.1:8080=80    one MAC, a user-mode network on its wire
//	vfudev -socket /tmp/mac0 -tap bw0                      one MAC, a TAP device on its wire
//	vfudev -socket /tmp/mac0,/tmp/mac1                     two MACs, joined by a cable
//
// It ends when its clients have left.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/barewire/barewire/integration/vfiouser"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/cable"
	"github.com/barewire/barewire/mac/sim/dwmac4"
	"github.com/barewire/barewire/mac/sim/tap"
	"github.com/barewire/barewire/mac/sim/usernet"
)

type options struct {
	sockets  []string
	queues   int
	version  uint
	msi, bar int
	trace    bool
	tap      string
	forwards []string
}

func main() {
	var o options
	sockets := flag.String("socket", "", "Unix socket to make for each MAC, separated by commas: one or two")
	forwards := flag.String("forward", "", "TCP ports to forward to the guest, HOST:PORT=PORT, separated by commas")
	flag.IntVar(&o.queues, "queues", 1, "queues each way")
	flag.UintVar(&o.version, "core", 0x51, "version of the core, 0x40 to 0x53")
	flag.IntVar(&o.msi, "msi", 1, "MSI vectors; 0 for INTx only")
	flag.IntVar(&o.bar, "bar", 64<<10, "size of BAR 0 in bytes")
	flag.BoolVar(&o.trace, "trace", false, "log each register access")
	flag.StringVar(&o.tap, "tap", "", "TAP device at the other end of the wire")
	flag.Parse()
	o.sockets, o.forwards = split(*sockets), split(*forwards)

	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, &o, log); err != nil && !errors.Is(err, context.Canceled) {
		log.Error(err.Error())
		os.Exit(1)
	}
}

func split(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' })
}

func run(ctx context.Context, o *options, log *slog.Logger) error {
	if n := len(o.sockets); n < 1 || n > 2 {
		return fmt.Errorf("vfudev: %d sockets: give one or two with -socket", n)
	}
	models := make([]*dwmac4.Model, len(o.sockets))
	for i := range models {
		models[i] = dwmac4.New(dwmac4.Config{Queues: o.queues, Version: uint8(o.version), Seed: uint64(i)})
	}
	unplug, err := plug(models, o, log)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	errs := make([]error, len(models))
	for i, m := range models {
		wg.Go(func() {
			if errs[i] = serve(ctx, o, o.sockets[i], m, log.With("socket", o.sockets[i])); errs[i] != nil {
				cancel() // the other has nobody to talk to
			}
		})
	}
	wg.Wait()
	return errors.Join(append(errs, unplug())...)
}

// plug puts a wire into the models. The function it returns takes it away.
func plug(models []*dwmac4.Model, o *options, log *slog.Logger) (func() error, error) {
	switch {
	case len(models) == 2:
		if o.tap != "" || len(o.forwards) > 0 {
			return nil, errors.New("vfudev: two MACs have each other on the wire: leave out -tap and -forward")
		}
		return cable.Connect(models[0].Port(), models[1].Port(), nil).Close, nil
	case o.tap != "":
		t, err := tap.Open(o.tap, nil)
		if err != nil {
			return nil, err
		}
		return closer(cable.Connect(models[0].Port(), t, nil), t), nil
	}
	n, err := usernet.New(nil)
	if err != nil {
		return nil, err
	}
	unplug := closer(cable.Connect(models[0].Port(), n, nil), n)
	for _, f := range o.forwards {
		if err := forward(n, f, log); err != nil {
			return nil, errors.Join(err, unplug())
		}
	}
	return unplug, nil
}

type closable interface {
	sim.Port
	Close() error
}

func closer(c *cable.Cable, far closable) func() error {
	return func() error { return errors.Join(c.Close(), far.Close()) }
}

func forward(n *usernet.Network, spec string, log *slog.Logger) error {
	host, guest, ok := strings.Cut(spec, "=")
	from, err := netip.ParseAddrPort(host)
	if !ok || err != nil {
		return fmt.Errorf("vfudev: -forward %q: want HOST:PORT=PORT", spec)
	}
	to, err := netip.ParseAddrPort("0.0.0.0:" + guest)
	if err != nil {
		return fmt.Errorf("vfudev: -forward %q: want HOST:PORT=PORT", spec)
	}
	at, err := n.ForwardTCP(from, netip.AddrPortFrom(netip.Addr{}, to.Port()))
	if err != nil {
		return err
	}
	log.Info("forwarding", "from", at, "to port", to.Port())
	return nil
}

func serve(ctx context.Context, o *options, socket string, m *dwmac4.Model, log *slog.Logger) error {
	vo := &vfiouser.Options{MSIVectors: o.msi, BARSize: o.bar}
	if o.trace {
		vo.Trace = func(a vfiouser.Access) {
			verb := "read"
			if a.Write {
				verb = "write"
			}
			log.Info(verb, "offset", fmt.Sprintf("%#06x", a.Off), "register", m.RegisterName(a.Off), "value", fmt.Sprintf("%#010x", a.Value))
		}
	}
	s, err := vfiouser.New(m, vo)
	if err != nil {
		return errors.Join(err, m.Close())
	}
	log.Info("waiting for a client")
	err = s.ListenAndServe(ctx, socket)
	log.Info("client has left", "error", err, "session", fmt.Sprintf("%+v", s.Stats()), "model", fmt.Sprintf("%+v", m.Stats()))
	return err
}

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"time"

	"github.com/barewire/barewire/mac/bus/find"
	"github.com/barewire/barewire/mac/bus/memory"
	"github.com/barewire/barewire/ring"
)

// options are the command line.
type options struct {
	addr      netip.AddrPort // the address is not valid for all of the stack's
	bus       string         // busSim or another
	core      string         // driver; "": the default one, or by what the device says
	cores     bool           // list them, and nothing else
	dev       string         // on a bus of this machine
	clock     int            // Hz, 0: unknown
	memory    memory.Options
	irqInput  string // input device with a key press for each interrupt
	link      linkFlag
	tap       string
	ips       []netip.Prefix
	gateways  []netip.Addr
	pcap      string
	mtu       int
	queues    int
	copyBreak int // as mac.Config has it
	coalesce  ring.Coalesce
	grace     time.Duration
	verbose   bool
}

// The least MTU is IPv6's (RFC 8200 section 5).
const (
	minMTU    = 1280
	maxMTU    = 9000
	maxQueues = 8
	maxClock  = 1_000_000_000
	maxGrace  = time.Hour
)

// errHelp means that -h was given.
var errHelp = flag.ErrHelp

// newFlags makes the flag set. The text of each ends with an example.
func newFlags(o *options) *flag.FlagSet {
	f := flag.NewFlagSet("httpserver", flag.ContinueOnError)
	f.SetOutput(io.Discard) // errors are the caller's to print
	f.Usage = func() {}
	number := func(p *int, name string, lo, hi int, text string) { f.Var(&intFlag{p, lo, hi}, name, text) }

	*o = options{addr: netip.MustParseAddrPort("127.0.0.1:8080"), bus: busSim, mtu: 1500, queues: 1, coalesce: ring.DefaultCoalesce(), grace: 5 * time.Second}
	f.Var((*addrFlag)(&o.addr), "addr", "`HOST:PORT` of this machine to listen on; with -tap or a MAC of this machine an address of the stack, by default port 8080 of all its addresses\n-addr 127.0.0.1:9000")
	f.Var((*busFlag)(&o.bus), "bus", "`KIND` of device: sim (simulated here), or a MAC in this machine through vfio (behind an IOMMU), uio or devmem (/dev/mem), or auto, the first of these that nothing stands in the way of\n-bus vfio -dev 0000:01:00.0")
	f.Var((*coreFlag)(&o.core), "core", "driver `NAME`: the kind of MAC to simulate (default dwmac4), or the driver for -dev, whatever the device says it is\n-core dwmac4")
	f.BoolVar(&o.cores, "cores", false, "list the names for -core and end\n-cores")
	f.StringVar(&o.dev, "dev", "", "`DEVICE` of -bus: a PCI address, a platform device, uioN, or with devmem the place of its registers; by default the only one that can be used\n-bus auto -dev 1c30000.ethernet")
	f.Var((*rangeFlag)(&o.memory.Reserved), "reserved", "without an IOMMU: `ADDRESS+SIZE` of physical memory for DMA that the kernel leaves alone (mem=), where the device tree names none\n-bus devmem -dev 1c30000.ethernet -reserved 0x7c000000+16M")
	f.StringVar(&o.memory.UDMABuf, "udmabuf", "", "without an IOMMU: DMA from the u-dma-buf `DEVICE`\n-bus auto -udmabuf udmabuf0")
	f.StringVar(&o.irqInput, "irq-input", "", "with -bus devmem or auto: input device `FILE` that has a key press for each interrupt (package mac/bus/devmem); without it the MAC is polled\n-bus devmem -dev 1c30000.ethernet -irq-input /dev/input/event0")
	f.BoolVar(&o.memory.UnsafeHugePages, "unsafe-hugepages", false, "without an IOMMU: DMA from huge pages; nothing keeps the device to them, and if this program is killed it may go on writing to them\n-bus uio -dev 0000:01:00.0 -unsafe-hugepages")
	number(&o.clock, "clock", 0, maxClock, "on hardware: rate of the MAC's register clock in `HZ`, for -rx-usecs; 0: unknown\n-bus vfio -dev 0000:01:00.0 -clock 125000000")
	f.Var(&o.link, "link", "on hardware: who knows the `LINK`: auto (the device tree, the core itself, or else its PHY), phy or phy:N (the PHY, at MDIO address N), or fixed full duplex at 10, 100, 1000 or 2500 Mb/s\n-bus vfio -dev 0000:01:00.0 -link phy:1")
	f.StringVar(&o.tap, "tap", "", "join the MAC to the TAP device `NAME`, made if there is none, instead of the user-mode network (Linux, as root or on your own device)\n-tap bw0")
	f.Var((*prefixesFlag)(&o.ips), "ip", "`ADDRESS/BITS` of the stack; may be repeated, or be a list with commas; needs -tap or hardware\n-tap bw0 -ip 192.0.2.2/24,fd00:2::2/64")
	f.Var((*gatewaysFlag)(&o.gateways), "gw", "default gateway `ADDRESS` of the stack, one for IPv4 and one for IPv6; needs -tap or hardware\n-tap bw0 -gw 192.0.2.1")
	f.StringVar(&o.pcap, "pcap", "", "record all frames of the cable in `FILE`, for tcpdump and Wireshark\n-pcap http.pcap")
	number(&o.mtu, "mtu", minMTU, maxMTU, "largest IP packet in `BYTES`\n-mtu 9000")
	number(&o.queues, "queues", 1, maxQueues, "`NUMBER` of receive and of transmit queues\n-queues 2")
	number(&o.coalesce.RXUsecs, "rx-usecs", 0, ring.MaxCoalesceUsecs, "`MICROSECONDS` that a received frame may wait for an interrupt; 0: no watchdog\n-rx-usecs 100")
	number(&o.coalesce.RXFrames, "rx-frames", 0, ring.MaxCoalesceFrames, "interrupt with every `NUMBER`th received frame; 0: leave it to -rx-usecs\n-rx-frames 32")
	number(&o.coalesce.TXUsecs, "tx-usecs", 0, ring.MaxCoalesceUsecs, "`MICROSECONDS` that a sender waits for space in a full ring; 0: it drops\n-tx-usecs 500")
	number(&o.coalesce.TXFrames, "tx-frames", 0, ring.MaxCoalesceFrames, "mark every `NUMBER`th sent packet for completion; 0: a quarter of the ring\n-tx-frames 64")
	f.Var((*copyBreakFlag)(&o.copyBreak), "copybreak", "copy received frames shorter than `BYTES`, lend the pages of others; or auto (measure), never (lend all), always (copy all)\n-copybreak 256")
	f.Var((*graceFlag)(&o.grace), "grace", "`TIME` that requests under way have to end after an interrupt\n-grace 30s")
	f.BoolVar(&o.verbose, "v", false, "log to standard error what happens\n-v")
	return f
}

// parseFlags reads the command line. The error says in one line what is allowed.
func parseFlags(args []string) (*options, error) {
	var o options
	f := newFlags(&o)
	if err := f.Parse(args); err != nil {
		if errors.Is(err, errHelp) {
			return nil, errHelp
		}
		return nil, fmt.Errorf("%w; see -h", err)
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q: there are flags only; see -h", f.Arg(0))
	}
	given := make(map[string]bool)
	f.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for _, name := range []string{"tap", "pcap", "dev", "udmabuf", "irq-input"} {
		if given[name] && f.Lookup(name).Value.String() == "" {
			return nil, fmt.Errorf("-%s: need a name; see -h", name)
		}
	}
	if err := o.checkBus(given); err != nil {
		return nil, err
	}
	if o.tap == "" && !o.hardware() {
		return &o, o.checkUserNet(given)
	}
	return &o, o.checkStack(given)
}

// hardware reports whether the MAC is a device of this machine.
func (o *options) hardware() bool { return o.bus != busSim }

// needHardware says how to use a MAC of this machine.
const needHardware = "-bus auto, vfio, uio or devmem"

func (o *options) checkBus(given map[string]bool) error {
	if !o.hardware() {
		for _, name := range []string{"dev", "reserved", "udmabuf", "unsafe-hugepages", "irq-input", "clock", "link"} {
			if given[name] {
				return fmt.Errorf("-%s needs %s: the simulated MAC has no such thing", name, needHardware)
			}
		}
		return nil
	}
	for _, name := range []string{"tap", "pcap"} {
		if given[name] {
			return fmt.Errorf("-%s needs -bus sim: the cable of a real MAC is out of reach", name)
		}
	}
	if o.bus == find.VFIO && o.memory != (memory.Options{}) {
		return errors.New("-reserved, -udmabuf and -unsafe-hugepages need -bus auto, uio or devmem: VFIO has DMA memory that is safe")
	}
	if given["irq-input"] && o.bus != find.DevMem && o.bus != busAuto {
		return fmt.Errorf("-irq-input needs -bus devmem or auto: %s has interrupts of its own", o.bus)
	}
	return nil
}

func (o *options) checkUserNet(given map[string]bool) error {
	for _, name := range []string{"ip", "gw"} {
		if given[name] {
			return fmt.Errorf("-%s needs -tap NAME or %s: the user-mode network has addresses of its own", name, needHardware)
		}
	}
	if !o.addr.Addr().IsValid() {
		o.addr = netip.AddrPortFrom(netip.IPv4Unspecified(), o.addr.Port())
	}
	return nil
}

// checkStack checks the addresses of a stack whose wire is not ours.
func (o *options) checkStack(given map[string]bool) error {
	if !given["ip"] {
		o.ips = []netip.Prefix{netip.MustParsePrefix("192.0.2.2/24"), netip.MustParsePrefix("fd00:2::2/64")}
	}
	if !given["addr"] {
		o.addr = netip.AddrPortFrom(netip.Addr{}, 8080)
	}
	if a := o.addr.Addr(); a.IsValid() && !a.IsUnspecified() {
		for _, p := range o.ips {
			if p.Addr() == a {
				return o.checkGateways()
			}
		}
		return fmt.Errorf("-addr %s: need one of the stack's addresses (-ip %s), or :%d for all of them", o.addr, (*prefixesFlag)(&o.ips), o.addr.Port())
	}
	return o.checkGateways()
}

// checkGateways makes sure that each gateway can be reached.
func (o *options) checkGateways() error {
	for i, gw := range o.gateways {
		for _, other := range o.gateways[:i] {
			if other.Is4() == gw.Is4() {
				return fmt.Errorf("-gw %s and %s: need at most one for IPv4 and one for IPv6", other, gw)
			}
		}
		reachable := false
		for _, p := range o.ips {
			reachable = reachable || p.Contains(gw) && p.Addr() != gw
		}
		if !reachable {
			return fmt.Errorf("-gw %s: need another station's address inside of a prefix of -ip %s", gw, (*prefixesFlag)(&o.ips))
		}
	}
	return nil
}

// printUsage writes the help: each flag with its default and one example.
func printUsage(w io.Writer) {
	fmt.Fprint(w, "httpserver serves HTTP with its own TCP/IP stack on an Ethernet MAC, fake or real.\n\nUsage: httpserver [flags]\n\n")
	var o options
	newFlags(&o).VisitAll(func(f *flag.Flag) {
		unit, text := flag.UnquoteUsage(f)
		text, example, _ := strings.Cut(text, "\n")
		if f.DefValue != "" && f.DefValue != "false" {
			text += " (default " + f.DefValue + ")"
		}
		if text != "" && unit != "" {
			unit = " " + unit
		}
		fmt.Fprintf(w, "  -%s%s\n    \t%s\n    \texample: httpserver %s\n", f.Name, unit, text, example)
	})
}

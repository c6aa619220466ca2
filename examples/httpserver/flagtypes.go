package main

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/barewire/barewire/mac/bus/find"
	"github.com/barewire/barewire/mac/bus/memory"
	"github.com/barewire/barewire/mac/cores"
	"github.com/barewire/barewire/pagepool"
)

// intFlag is a number within a range.
type intFlag struct {
	value  *int
	lo, hi int
}

// String implements flag.Value.
func (f *intFlag) String() string {
	if f.value == nil {
		return ""
	}
	return strconv.Itoa(*f.value)
}

// Set implements flag.Value.
func (f *intFlag) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < f.lo || n > f.hi {
		return fmt.Errorf("need %d to %d", f.lo, f.hi)
	}
	*f.value = n
	return nil
}

// The kinds of bus beside those of package find.
const (
	busSim  = "sim"
	busAuto = "auto"
)

// busFlag is one of them all.
type busFlag string

// String implements flag.Value.
func (f *busFlag) String() string { return string(*f) }

// Set implements flag.Value.
func (f *busFlag) Set(s string) error {
	switch s {
	case busSim, busAuto, find.VFIO, find.UIO, find.DevMem:
		*f = busFlag(s)
		return nil
	}
	return errors.New("need sim, auto, vfio, uio or devmem")
}

// rangeFlag is a range of physical memory.
type rangeFlag memory.Range

// String implements flag.Value.
func (f *rangeFlag) String() string {
	if *f == (rangeFlag{}) {
		return ""
	}
	return memory.Range(*f).String()
}

// Set implements flag.Value.
func (f *rangeFlag) Set(s string) error {
	r, err := memory.ParseRange(s)
	if err != nil {
		return errors.New("need address and size in bytes, such as 0x7c000000+16M")
	}
	*f = rangeFlag(r)
	return nil
}

// addrFlag is HOST:PORT with a numeric host or none.
type addrFlag netip.AddrPort

// String implements flag.Value.
func (f *addrFlag) String() string { return netip.AddrPort(*f).String() }

// Set implements flag.Value.
func (f *addrFlag) Set(s string) error {
	if port, ok := strings.CutPrefix(s, ":"); ok {
		if n, err := strconv.ParseUint(port, 10, 16); err == nil {
			*f = addrFlag(netip.AddrPortFrom(netip.Addr{}, uint16(n)))
			return nil
		}
	}
	a, err := netip.ParseAddrPort(strings.Replace(s, "localhost:", "127.0.0.1:", 1))
	if err != nil {
		return errors.New("need an IP address and a port from 0 to 65535, such as 127.0.0.1:8080, [::1]:8080 or :8080")
	}
	*f = addrFlag(a)
	return nil
}

// prefixesFlag is a list of addresses with their prefix lengths.
type prefixesFlag []netip.Prefix

// String implements flag.Value.
func (f *prefixesFlag) String() string { return join(*f) }

// Set implements flag.Value.
func (f *prefixesFlag) Set(s string) error {
	for _, field := range strings.Split(s, ",") {
		p, err := netip.ParsePrefix(field)
		a := p.Addr()
		if err != nil || p.Bits() == 0 || a.IsUnspecified() || a.IsMulticast() || a.IsLoopback() || a.Is4In6() {
			return fmt.Errorf("%q: need a station's address with its prefix length, such as 192.0.2.2/24 or fd00:2::2/64", field)
		}
		*f = append(*f, p)
	}
	return nil
}

// gatewaysFlag is a list of addresses.
type gatewaysFlag []netip.Addr

// String implements flag.Value.
func (f *gatewaysFlag) String() string { return join(*f) }

// Set implements flag.Value.
func (f *gatewaysFlag) Set(s string) error {
	for _, field := range strings.Split(s, ",") {
		a, err := netip.ParseAddr(field)
		if err != nil {
			return fmt.Errorf("%q: need an IP address, such as 192.0.2.1 or fd00:2::1", field)
		}
		*f = append(*f, a)
	}
	return nil
}

func join[T fmt.Stringer](list []T) string {
	var b strings.Builder
	for i, v := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(v.String())
	}
	return b.String()
}

// copyBreakFlag is mac.Config.CopyBreak in words.
type copyBreakFlag int

// String implements flag.Value.
func (f *copyBreakFlag) String() string {
	switch *f {
	case pagepool.CopyBreakAuto:
		return "auto"
	case pagepool.LendAlways:
		return "never"
	case pagepool.CopyAlways:
		return "always"
	}
	return strconv.Itoa(int(*f))
}

// Set implements flag.Value.
func (f *copyBreakFlag) Set(s string) error {
	switch s {
	case "auto":
		*f = pagepool.CopyBreakAuto
		return nil
	case "never":
		*f = pagepool.LendAlways
		return nil
	case "always":
		*f = pagepool.CopyAlways
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 65536 {
		return errors.New("need 1 to 65536 bytes, auto, never or always")
	}
	*f = copyBreakFlag(n)
	return nil
}

// graceFlag is a time that is not negative.
type graceFlag time.Duration

// String implements flag.Value.
func (f *graceFlag) String() string { return time.Duration(*f).String() }

// Set implements flag.Value.
func (f *graceFlag) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || d > maxGrace {
		return errors.New("need a time from 0s to 1h, such as 500ms, 30s or 1m")
	}
	*f = graceFlag(d)
	return nil
}

// coreFlag is the name of a driver.
type coreFlag string

// String implements flag.Value.
func (f *coreFlag) String() string { return string(*f) }

// Set implements flag.Value.
func (f *coreFlag) Set(s string) error {
	if _, err := cores.Find(s); err != nil {
		return fmt.Errorf("need one of %s", strings.Join(cores.Names(), ", "))
	}
	*f = coreFlag(s)
	return nil
}

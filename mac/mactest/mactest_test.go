package mactest

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/dwmac4"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/mac/sim"
	model "github.com/barewire/barewire/mac/sim/dwmac4"
	"github.com/barewire/barewire/ring"
)

// good is the driver that the mutants are made of. Its full description is in the
// tests of its own package.
func good() Core {
	own := func(w uint32) bool { return w&gmac4.RDES3OWN != 0 }
	fatal := func(r mac.Recoveries) uint64 { return r.FatalBusError }
	return Core{
		Name: "dwmac4",
		Model: func(s Setup) Model {
			return model.New(model.Config{Inline: true, InBandLink: true, MACAddress: s.Address, Seed: s.Seed})
		},
		Open:       func(b mac.Bus) (mac.Core, error) { return dwmac4.New(b) },
		Version:    "5.10",
		Links:      []mac.Link{{Up: true, Speed: 1000, FullDuplex: true}, {Up: true, Speed: 100, FullDuplex: true}},
		Descriptor: Descriptor{OwnWord: 3, RXOwn: own, TXOwn: own},
		Costs: Costs{
			RXLoads: 1, RXVerdictLoads: 1, RXStores: 4, RefillWrites: 1, RefillDoorbells: 1,
			TXStores: 4, FlushWrites: 1, FlushDoorbells: 1, ReapLoads: 1, PassWrites: 2,
		},
		Filter:  Filter{Groups: 3, Stations: 3},
		Drops:   map[sim.Fault]Counter{sim.Overflow: Ring(func(s ring.RXStats) uint64 { return s.Overflow })},
		Repairs: map[sim.Fault]func(mac.Recoveries) uint64{sim.RXBusError: fatal, sim.TXBusError: fatal},
		AddCounts: func(m Model) uint64 {
			m.Write32(gmac4.MMC+dwregs.MMCControl, dwregs.MMCResetOnRead|dwregs.MMCPreset|dwregs.MMCPresetFull)
			return 0xFFFFFFF0
		},
	}
}

// mutantCase is a broken driver and the sub-test that must find it.
type mutantCase struct {
	name, check string
	make        func(c mac.Core) mac.Core
}

var mutants = []mutantCase{
	{"slot off by one", "traffic/every size", func(c mac.Core) mac.Core {
		return &mutant{Core: c, rx: func(r ring.RXCodec, _ *ring.Words, slots int) ring.RXCodec {
			return rxMutant{RXCodec: r, post: func(from int, bufs []ring.Buffer) { r.Post((from+1)%slots, bufs) }}
		}}
	}},
	{"no write barrier", "order/stores and barriers", func(c mac.Core) mac.Core { return deaf{c, ring.BarrierWrite} }},
	{"no doorbell barrier", "order/stores and barriers", func(c mac.Core) mac.Core { return deaf{c, ring.BarrierDoorbell} }},
	{"no read barrier", "order/stores and barriers", func(c mac.Core) mac.Core { return deaf{c, ring.BarrierRead} }},
	{"OWN before the fields", "order/stores and barriers", func(c mac.Core) mac.Core {
		return &mutant{Core: c, rx: func(r ring.RXCodec, w *ring.Words, slots int) ring.RXCodec {
			return rxMutant{RXCodec: r, post: func(from int, bufs []ring.Buffer) {
				r.Post(from, bufs)
				for i := range bufs {
					w.Store((from+i)%slots*dwregs.DescriptorWords+2, 0)
				}
			}}
		}}
	}},
	{"receive tail never written", "ring/laps", func(c mac.Core) mac.Core {
		return &mutant{Core: c, rx: func(r ring.RXCodec, _ *ring.Words, _ int) ring.RXCodec {
			return rxMutant{RXCodec: r, kick: func(int) {}}
		}}
	}},
	{"transmit tail never written", "traffic/every size", func(c mac.Core) mac.Core {
		return &mutant{Core: c, tx: func(t ring.TXCodec) ring.TXCodec { return txMutant{TXCodec: t, kick: func(int) {}} }}
	}},
	{"transmit tail off by one", "ring/laps", func(c mac.Core) mac.Core {
		return &mutant{Core: c, tx: func(t ring.TXCodec) ring.TXCodec {
			return txMutant{TXCodec: t, kick: func(next int) { t.Kick(max(next-1, 0)) }}
		}}
	}},
	{"transmit slots freed too early", "ring/full transmit ring", func(c mac.Core) mac.Core {
		return &mutant{Core: c, tx: func(t ring.TXCodec) ring.TXCodec {
			return txMutant{TXCodec: t, done: func(_, _, pending int) int { return pending }}
		}}
	}},
	{"no transmit interrupt request", "coalesce/wait for space", func(c mac.Core) mac.Core {
		return &mutant{Core: c, tx: func(t ring.TXCodec) ring.TXCodec {
			return txMutant{TXCodec: t, fill: func(at int, frames []ring.TXFrame) {
				for i := range frames {
					frames[i].Interrupt = false
				}
				t.Fill(at, frames)
			}}
		}}
	}},
	{"receive never unmasked", "coalesce/receive frames", func(c mac.Core) mac.Core { return &mutant{Core: c, unmask: func(int) {}} }},
	{"transmit never unmasked", "coalesce/wait for space", func(c mac.Core) mac.Core { return &mutant{Core: c, unmaskTX: func(int) {}} }},
	{"masked queue unmasked by the handler", "interrupt/no storm while nobody polls", func(c mac.Core) mac.Core {
		return &mutant{Core: c, interrupt: func(ev mac.Events) mac.Events { c.Unmask(0); return ev }}
	}},
	{"receive interrupt on every slot", "coalesce/receive frames", func(c mac.Core) mac.Core {
		return &mutant{Core: c, rx: func(r ring.RXCodec, _ *ring.Words, _ int) ring.RXCodec {
			return rxMutant{RXCodec: r, post: func(from int, bufs []ring.Buffer) {
				for i := range bufs {
					bufs[i].Interrupt = true
				}
				r.Post(from, bufs)
			}}
		}}
	}},
	{"watchdog never programmed", "coalesce/receive watchdog", func(c mac.Core) mac.Core {
		return &mutant{Core: c, watchdog: func(_, usecs int) (int, error) { return usecs, nil }}
	}},
	{"filter never programmed", "filter/groups", func(c mac.Core) mac.Core {
		return &mutant{Core: c, filter: func(mac.Filter) error { return nil }}
	}},
	{"filter always open", "filter/own address", func(c mac.Core) mac.Core {
		return &mutant{Core: c, filter: func(f mac.Filter) error { f.Promiscuous = true; return c.SetFilter(f) }}
	}},
	{"address never changed", "filter/own address", func(c mac.Core) mac.Core {
		return &mutant{Core: c, setAddress: func(mac.HardwareAddr) error { return nil }}
	}},
	{"address of firmware not read", "open/address of firmware", func(c mac.Core) mac.Core {
		return &mutant{Core: c, info: func(i mac.Info) mac.Info { i.Address = mac.HardwareAddr{}; return i }}
	}},
	{"first address for ever", "repair/RX bus error", func(c mac.Core) mac.Core {
		return &mutant{Core: c, configure: func(s mac.Setup) mac.Setup { s.Address = station; return s }}
	}},
	{"fatal error not reported", "repair/RX bus error", func(c mac.Core) mac.Core {
		return &mutant{Core: c, interrupt: func(ev mac.Events) mac.Events { ev.Fatal = 0; return ev }}
	}},
	{"no reset", "crash", func(c mac.Core) mac.Core { return &mutant{Core: c, reset: func() error { return nil }} }},
	{"no stop", "close/idle", func(c mac.Core) mac.Core { return &mutant{Core: c, stop: func() error { return nil }} }},
	{"receive errors ignored", "drop/overflow", func(c mac.Core) mac.Core {
		return &mutant{Core: c, rx: func(r ring.RXCodec, _ *ring.Words, _ int) ring.RXCodec {
			return rxMutant{RXCodec: r, harvest: func(from int, out []ring.Completion) int {
				n := r.Harvest(from, out)
				for i := range out[:n] {
					out[i].Flags &^= ring.ErrAny
				}
				return n
			}}
		}}
	}},
	{"every checksum is good", "checksum/received", func(c mac.Core) mac.Core {
		return &mutant{Core: c, rx: func(r ring.RXCodec, _ *ring.Words, _ int) ring.RXCodec {
			return rxMutant{RXCodec: r, harvest: func(from int, out []ring.Completion) int {
				n := r.Harvest(from, out)
				for i := range out[:n] {
					out[i].Flags |= ring.ChecksumGood
				}
				return n
			}}
		}}
	}},
	{"FCS left in the frame", "traffic/every size", func(c mac.Core) mac.Core {
		return &mutant{Core: c, rx: func(r ring.RXCodec, _ *ring.Words, _ int) ring.RXCodec {
			return rxMutant{RXCodec: r, harvest: func(from int, out []ring.Completion) int {
				n := r.Harvest(from, out)
				for i := range out[:n] {
					out[i].Trim = 0
				}
				return n
			}}
		}}
	}},
	{"descriptor read twice", "cost/receive", func(c mac.Core) mac.Core {
		return &mutant{Core: c, rx: func(r ring.RXCodec, _ *ring.Words, _ int) ring.RXCodec {
			return rxMutant{RXCodec: r, harvest: func(from int, out []ring.Completion) int {
				r.Harvest(from, out[:min(1, len(out))])
				return r.Harvest(from, out)
			}}
		}}
	}},
	{"counters of 32 bits", "counters/64 bits", func(c mac.Core) mac.Core {
		return &mutant{Core: c, counters: func(n *mac.Counters) {
			c.Counters(n)
			n.RXFrames = uint64(uint32(n.RXFrames))
		}}
	}},
}

// mutantEnv names the mutant for the process that runs the suite on it.
const mutantEnv = "MACTEST_MUTANT"

// TestMutant runs the suite on the driver that the environment names. When it names
// none, the good one must pass every sub-test that a mutant fails.
func TestMutant(t *testing.T) {
	c := good()
	name := os.Getenv(mutantEnv)
	for _, m := range mutants {
		if m.name == name {
			c.Name = name
			c.Open = func(b mac.Bus) (mac.Core, error) {
				core, err := dwmac4.New(b)
				if err != nil {
					return nil, err
				}
				return m.make(core), nil
			}
		}
	}
	if name != "" {
		Run(t, c)
		return
	}
	for _, k := range checks() {
		if slices.ContainsFunc(mutants, func(m mutantCase) bool { return m.check == k.name }) {
			run(t, c, k)
		}
	}
}

// TestSuiteFindsMutants: each broken driver fails the sub-test that is there for
// it. A process of its own runs it, since a broken driver may well panic or hang.
func TestSuiteFindsMutants(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for _, m := range mutants {
		t.Run(testName(m.name), func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(self, "-test.run", "^TestMutant$/"+pattern(m.check), "-test.timeout", "60s")
			cmd.Env = append(os.Environ(), mutantEnv+"="+m.name)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			require.Error(t, cmd.Run(), "the suite passes it:\n%s", out.String())
			require.Contains(t, out.String(), "--- FAIL: TestMutant/"+testName(m.check), "it fails elsewhere:\n%s", out.String())
		})
	}
}

// pattern is the -run pattern of exactly one sub-test.
func pattern(check string) string {
	return "^" + strings.ReplaceAll(testName(check), "/", "$/^") + "$"
}

func TestNames(t *testing.T) {
	require.NotEmpty(t, checks())
	seen := map[string]bool{}
	for _, k := range checks() {
		require.False(t, seen[k.name], "sub-test %q is there twice", k.name)
		seen[k.name] = true
	}
	for _, m := range mutants {
		require.True(t, seen[m.check], "no sub-test %q", m.check)
	}
	for _, f := range append(append([]sim.Fault{}, wireFaults...), fatalFaults...) {
		require.True(t, seen["drop/"+f.String()] || seen["repair/"+f.String()], "no sub-test for %v", f)
	}
}

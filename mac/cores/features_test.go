package cores_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	bussim "github.com/barewire/barewire/mac/bus/sim"
	"github.com/barewire/barewire/mac/cores"
	"github.com/barewire/barewire/mac/mactest"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/models"
)

var update = flag.Bool("update", false, "write the feature table into README.md")

const (
	root   = "../.." // of the module
	readme = root + "/README.md"
	begin  = "<!-- The table is made by go test ./mac/cores -run TestFeatures -update from mac/cores/features. -->\n"
	end    = "<!-- End of the table. -->\n"
)

// TestFeatures: the feature files have the template's rows, name tests that exist,
// and are what the README says.
func TestFeatures(t *testing.T) {
	template, err := readSheet("TEMPLATE")
	require.NoError(t, err)
	names := cores.Names()
	var sheets []*sheet
	for _, name := range names {
		s, err := readSheet(name)
		require.NoError(t, err)
		require.NotEmpty(t, s.title, name)
		require.Len(t, s.rows, len(template.rows), name)
		for i, r := range s.rows {
			require.Equal(t, template.rows[i].name, r.name, "%s: rows are those of TEMPLATE.ini, in its order", name)
			for _, test := range r.tests {
				requireTest(t, name+", "+r.name, test)
			}
		}
		sheets = append(sheets, s)
	}
	files, err := filepath.Glob("features/*.ini")
	require.NoError(t, err)
	require.Len(t, files, len(names)+1, "a file for each core, and the template")

	text, err := os.ReadFile(readme)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok, "README.md has no line %q", begin)
	have, after, ok := strings.Cut(rest, end)
	require.True(t, ok, "README.md has no line %q", end)
	want := table(names, sheets)
	if *update && have != want {
		require.NoError(t, os.WriteFile(readme, []byte(before+begin+want+end+after), 0o644))
		return
	}
	require.Equal(t, want, have, "README.md is not what the feature files say: run this test with -update")
}

// requireTest checks that a test is in the tree: the function in the folder named,
// and each part of a sub-test's name as text there or in the conformance suite.
func requireTest(t *testing.T, row, test string) {
	t.Helper()
	folder, name, ok := strings.Cut(test, " ")
	require.True(t, ok, "%s: %q: want PACKAGE TEST", row, test)
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*_test.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "%s: no tests in %s", row, folder)
	var source strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		require.NoError(t, err)
		source.Write(b)
	}
	function, sub, _ := strings.Cut(name, "/")
	require.True(t, strings.Contains(source.String(), "\nfunc "+function+"(t *testing.T) {\n"), "%s: no %s in %s", row, function, folder)
	for sub != "" {
		// The rest may be one of the suite's, which are called "group/check".
		if mactest.Has(sub) {
			return
		}
		var part string
		part, sub, _ = strings.Cut(sub, "/")
		require.True(t, strings.Contains(source.String(), `"`+part+`"`), "%s: no sub-test %q in %s", row, part, folder)
	}
}

// TestFeaturesAgreeWithCode compares the feature files with what the drivers say on
// their models.
func TestFeaturesAgreeWithCode(t *testing.T) {
	for _, d := range cores.All() {
		t.Run(d.Name, func(t *testing.T) {
			s, err := readSheet(d.Name)
			require.NoError(t, err)
			m, err := models.Find(d.Name)
			require.NoError(t, err)
			model := m.Build(sim.Build{Inline: true, Queues: 64, FIFO: 256 << 10})
			bus := bussim.New(model, nil)
			core, err := d.New(bus)
			require.NoError(t, err)
			info := core.Info()
			sees := func() bool { _, ok := core.Link(); return ok }()
			for row, has := range map[string]bool{
				"rx-usecs":                 info.Watchdog,
				"rx-frames":                !info.EveryFrame,
				"receive checksum":         info.RXChecksum,
				"transmit checksum":        info.TXChecksum,
				"link state from the core": sees,
				"MDIO":                     core.MDIO() != nil,
				"queues":                   min(info.RXQueues, info.TXQueues) > 1,
				"unicast filter":           info.PerfectFilters > 0,
			} {
				if has {
					require.NotEqual(t, "no", s.row(row).state, "%s: the driver has it", row)
				} else {
					require.NotEqual(t, "works", s.row(row).state, "%s: the driver has it not", row)
				}
			}
			if !info.TSO {
				require.Equal(t, "no", s.row("TSO").state, "TSO")
			}
			if info.PerfectFilters == 0 && info.HashBins == 0 {
				require.NotEqual(t, "works", s.row("multicast filter").state, "multicast filter")
			}
			for row, want := range map[string]int{
				"largest MTU":      info.MaxMTU,
				"queues":           min(info.RXQueues, info.TXQueues),
				"unicast filter":   info.PerfectFilters,
				"multicast filter": max(info.HashBins, info.PerfectFilters),
			} {
				if r := s.row(row); r.state == "works" {
					require.Equal(t, strconv.Itoa(want), regexp.MustCompile(`^\d*`).FindString(r.text), "%s: the driver's number", row)
				}
			}
			require.Equal(t, s.row("hardware counters").state != "no", counts(t, bus, model, core), "hardware counters")
		})
	}
}

// counts reports whether hardware counters count a received frame. It ends the bus.
func counts(t *testing.T, bus mac.Bus, model sim.Model, core mac.Core) bool {
	t.Helper()
	c := mac.Config{Link: mac.Link{Up: true, Speed: 1000, FullDuplex: true}}
	dev, err := mac.NewDevice(t.Context(), bus, core, &c)
	require.NoError(t, err)
	require.NoError(t, dev.Start())
	frame := make([]byte, 60)
	copy(frame, mac.Broadcast[:])
	model.Deliver(frame)
	n := dev.Snapshot().Hardware.RXFrames
	require.NoError(t, dev.Close())
	require.LessOrEqual(t, n, uint64(1))
	return n == 1
}

// TestFeatureFiles: what a feature file may say.
func TestFeatureFiles(t *testing.T) {
	good := "; remark\ntitle = A core\n\n[features]\na b = works | x TestY/z, x TestZ\nc = partly: no d, no e | x TestY\nf = no\ng = no: for want of h\ni = works 9 | x TestY\n"
	s, err := parseSheet(good)
	require.NoError(t, err)
	require.Equal(t, &sheet{title: "A core", rows: []feature{
		{"a b", "works", "", []string{"x TestY/z", "x TestZ"}}, {"c", "partly", "no d, no e", []string{"x TestY"}},
		{"f", "no", "", nil}, {"g", "no", "for want of h", nil}, {"i", "works", "9", []string{"x TestY"}},
	}}, s)
	require.Equal(t, "| | A core (`n`) |\n|---|---|\n| a b | yes |\n| c | partly |\n| f | – |\n| g | – |\n| i | 9 |\n\n- `n`, c: no d, no e.\n",
		table([]string{"n"}, []*sheet{s}))
	for _, bad := range []string{
		"a = works", "a = works:", "a = partly | x TestY", "a = partly: b", "a = partly b | x TestY", "a = no | x TestY", "a = no b", "a = yes | x TestY", "a", "a =",
	} {
		_, err := parseSheet("[features]\n" + bad)
		require.ErrorContains(t, err, "line 2", bad)
	}
	_, err = parseSheet("name = x")
	require.ErrorContains(t, err, "not known")
}

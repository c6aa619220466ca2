//go:build linux

package hostmem

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/bus/devtree"
	"github.com/barewire/barewire/mac/bus/internal/fakeroot"
	"github.com/barewire/barewire/mac/bus/internal/sysfs"
	"github.com/barewire/barewire/mac/bus/memory"
	"github.com/barewire/barewire/pagepool"
)

// hugeSize is the size of what the tests take for a huge page.
const hugeSize = 64 << 10

// pagemap is a fake /proc/self/pagemap: it knows which page of the file a mapping
// shows from /proc/self/maps, and its frame from a table.
type pagemap struct {
	*testing.T
	// huge is the physical address of each huge page of the file.
	huge []uint64
	// entry changes an entry of small page i of a huge page.
	entry func(i int, e uint64) uint64
}

func (p *pagemap) ReadAt(b []byte, off int64) (int, error) {
	page := uint64(os.Getpagesize())
	for i := 0; i < len(b); i += 8 {
		at := (uint64(off) + uint64(i)) / 8 * page
		pos := filePosition(p.T, at)
		e := uint64(pagePresent) | (p.huge[pos/hugeSize]+pos%hugeSize)/page
		if p.entry != nil {
			e = p.entry(int(pos%hugeSize/page), e)
		}
		binary.NativeEndian.PutUint64(b[i:], e)
	}
	return len(b), nil
}

// filePosition is which byte of its file is mapped at an address.
func filePosition(t *testing.T, addr uint64) uint64 {
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	for line := range bytes.Lines(maps) {
		f := strings.Fields(string(line))
		from, to, _ := strings.Cut(f[0], "-")
		lo, err := strconv.ParseUint(from, 16, 64)
		require.NoError(t, err)
		hi, err := strconv.ParseUint(to, 16, 64)
		require.NoError(t, err)
		if addr >= lo && addr < hi {
			require.Contains(t, string(line), "memfd:fake-huge", "DMA memory is the file's")
			pos, err := strconv.ParseUint(f[2], 16, 64)
			require.NoError(t, err)
			return pos + addr - lo
		}
	}
	t.Fatalf("%#x is not mapped", addr)
	return 0
}

// fakeHuge makes files of ordinary pages and counts them.
type fakeHuge struct{ sizes []int64 }

func (f *fakeHuge) create(size int64) (int, error) {
	f.sizes = append(f.sizes, size)
	fd, err := unix.MemfdCreate("fake-huge", unix.MFD_CLOEXEC)
	if err != nil {
		return -1, err
	}
	return fd, unix.Ftruncate(fd, size)
}

// mappings counts the mappings of fake huge pages.
func mappings(t *testing.T) int {
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	return strings.Count(string(maps), "memfd:fake-huge")
}

func hugeConfig(pm *pagemap, fake *fakeHuge) Config {
	return Config{Options: memory.Options{HugePageSize: hugeSize}, Hooks: Hooks{Pagemap: pm, Memfd: fake.create}}
}

const (
	device   = "/sys/devices/platform/soc/1000.ethernet"
	treeBase = "/sys/firmware/devicetree/base"
	treeNode = treeBase + "/soc/ethernet@1000"
)

// machine is a fake root with one platform device and its node.
func machine(t *testing.T) *fakeroot.Root {
	r := fakeroot.New(t)
	r.Write(device+"/uevent", "")
	r.Cells(treeBase+"/soc/#address-cells", 1)
	r.Cells(treeBase+"/soc/#size-cells", 1)
	r.Cells(treeNode+"/reg", 0x1000, 0x1000)
	r.Link(device+"/of_node", treeNode)
	return r
}

// config is that of the machine's device. Nothing of the real machine is used.
func config(r *fakeroot.Root, o memory.Options) Config {
	tree, err := devtree.Open(r.Dir)
	require.NoError(r, err)
	node, err := tree.At(filepath.Join(r.Dir, device, "of_node"))
	require.NoError(r, err)
	return Config{
		Name: "test", Root: sysfs.Root(r.Dir), Arch: "arm64", Device: device, Node: &node, Options: o,
		Hooks: Hooks{Cache: func() (int, func([]byte), func([]byte)) { return 0, nil, nil }},
	}
}

func ask(m *Memory, use mac.Use, size int) (pagepool.Memory, error) {
	return m.Alloc(mac.Alloc{Use: use, Size: size, Align: 4096, AddressBits: 32})
}

// cacheLog is a CPU that can maintain its cache, and notes where it did.
type cacheLog struct{ log []string }

func (c *cacheLog) hook() (int, func([]byte), func([]byte)) {
	note := func(what string) func([]byte) {
		return func(b []byte) { c.log = append(c.log, fmt.Sprintf("%s %d", what, len(b))) }
	}
	return 64, note("clean"), note("drop")
}

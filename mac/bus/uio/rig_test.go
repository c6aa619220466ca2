//go:build linux

package uio

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/barewire/barewire/mac/bus/internal/sysfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tree is a directory that stands for /.
type tree struct {
	*testing.T
	dir string
}

func newTree(t *testing.T) *tree { return &tree{t, t.TempDir()} }

func (t *tree) root() sysfs.Root { return sysfs.Root(t.dir) }

func (t *tree) write(path, text string) {
	t.Helper()
	path = filepath.Join(t.dir, path)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func (t *tree) link(path, to string) {
	t.Helper()
	path = filepath.Join(t.dir, path)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	to, err := filepath.Rel(filepath.Dir(path), filepath.Join(t.dir, to))
	require.NoError(t, err)
	require.NoError(t, os.Symlink(to, path))
}

const (
	addr       = "0000:00:01.0"
	pciReal    = "/sys/devices/pci0000:00/" + addr
	ethernet   = "ff700000.ethernet"
	platReal   = "/sys/devices/platform/" + ethernet
	treeNode   = "/sys/firmware/devicetree/base/ethernet@ff700000"
	barSize    = 0x4000
	pageOffset = 0x800 // of a window within its page
)

// addPCI puts a PCI device under uio_pci_generic as uio0. Its BARs are files, its
// UIO device is a FIFO.
func (t *tree) addPCI() {
	t.write(pciReal+"/vendor", "0x16c3\n")
	t.write(pciReal+"/device", "0x7102\n")
	t.write(pciReal+"/resource", "0x10000800 0x10003fff 0x40200\n"+
		strings.Repeat("0x0 0x0 0x0\n", 1)+"0x10010000 0x10010fff 0x40200\n"+strings.Repeat("0x0 0x0 0x0\n", 4))
	t.write(pciReal+"/resource0", strings.Repeat("\x00", barSize))
	t.write(pciReal+"/resource2", strings.Repeat("\x00", 4096))
	t.write(pciReal+"/config", strings.Repeat("\x00", 64))
	t.setCommand(sysfs.CommandMaster | sysfs.CommandNoINTx) // as a crash may leave it
	t.write(pciReal+"/uio/uio0/name", "uio_pci_generic\n")
	t.write("/sys/bus/pci/drivers/uio_pci_generic/new_id", "")
	t.link(pciReal+"/driver", "/sys/bus/pci/drivers/uio_pci_generic")
	t.link(pciReal+"/subsystem", "/sys/bus/pci")
	t.link(pciReal+"/uio/uio0/device", pciReal)
	t.link("/sys/bus/pci/devices/"+addr, pciReal)
	t.link("/sys/class/uio/uio0", pciReal+"/uio/uio0")
	require.NoError(t, os.MkdirAll(filepath.Join(t.dir, "dev"), 0o755))
	require.NoError(t, unix.Mkfifo(filepath.Join(t.dir, "dev/uio0"), 0o600))
}

func (t *tree) setCommand(v uint16) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(t.dir, pciReal, "config"), os.O_RDWR, 0)
	require.NoError(t, err)
	_, err = f.WriteAt(binary.LittleEndian.AppendUint16(nil, v), 4)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

func (t *tree) command() uint16 {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(t.dir, pciReal, "config"))
	require.NoError(t, err)
	return binary.LittleEndian.Uint16(b[4:])
}

// addPlatform puts a platform device under uio_pdrv_genirq as uio1, with two
// maps in a regular file.
func (t *tree) addPlatform() {
	t.write(platReal+"/uio/uio1/name", "ethernet\n")
	for i, size := range []string{"0x400\n", "0x1000\n"} {
		m := platReal + "/uio/uio1/maps/map" + strconv.Itoa(i)
		t.write(m+"/addr", "0xff700800\n")
		t.write(m+"/size", size)
		t.write(m+"/offset", []string{"0x800\n", "0x0\n"}[i])
	}
	t.write("/sys/bus/platform/drivers/uio_pdrv_genirq/uevent", "")
	t.link(platReal+"/driver", "/sys/bus/platform/drivers/uio_pdrv_genirq")
	t.link(platReal+"/subsystem", "/sys/bus/platform")
	t.link(platReal+"/uio/uio1/device", platReal)
	t.write(treeNode+"/compatible", "snps,dwmac-4.20a\x00generic-uio\x00")
	t.link(platReal+"/of_node", treeNode)
	t.link("/sys/bus/platform/devices/"+ethernet, platReal)
	t.link("/sys/class/uio/uio1", platReal+"/uio/uio1")
	t.write("/dev/uio1", strings.Repeat("\x00", 2*os.Getpagesize()))
}

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

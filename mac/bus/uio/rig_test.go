//go:build linux

package uio

import (
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

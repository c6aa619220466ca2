package sysfs

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
)

func write(t *testing.T, root, path, text string) {
	t.Helper()
	path = filepath.Join(root, path)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func link(t *testing.T, root, path, to string) {
	t.Helper()
	path = filepath.Join(root, path)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	to, err := filepath.Rel(filepath.Dir(path), filepath.Join(root, to))
	require.NoError(t, err)
	require.NoError(t, os.Symlink(to, path))
}

func TestPCIAddress(t *testing.T) {
	for in, want := range map[string]string{
		"0000:00:01.0": "0000:00:01.0", "00:01.0": "0000:00:01.0", "10000:E1:1F.7": "10000:e1:1f.7",
		"": "", "00:01": "", "0:1.0": "", "0000:00:20.0": "", "0000:00:01.8": "", "000:00:01.0": "", "0000:00:01.0.0": "",
		"uio0": "", "../..:00:01.0": "", "0000:+1:01.0": "", "0000:00:01.-1": "", "0000:00:01.0/": "", "a:b:c:d": "",
	} {
		got, ok := PCIAddress(in)
		require.Equal(t, want, got, "%q", in)
		require.Equal(t, want != "", ok, "%q", in)
	}
}

func FuzzPCIAddress(f *testing.F) {
	f.Add("0000:00:01.0")
	f.Fuzz(func(t *testing.T, s string) {
		addr, ok := PCIAddress(s)
		if !ok {
			return
		}
		require.Equal(t, addr, filepath.Base(addr), "an address is a file name")
		again, ok := PCIAddress(addr)
		require.True(t, ok)
		require.Equal(t, addr, again)
	})
}

func TestBARs(t *testing.T) {
	dir := t.TempDir()
	const addr = "0000:00:01.0"
	write(t, dir, PCIDevice(addr)+"/resource", `0x000000000000e000 0x000000000000e01f 0x0000000000040101
0x00000000fea00800 0x00000000fea00fff 0x0000000000040200
0x0000000000000000 0x0000000000000000 0x0000000000000000
0x0000004000000000 0x000000400000ffff 0x000000000014220c
0x0000000000000000 0x0000000000000000 0x0000000000000000
0x0000000000000000 0x0000000000000000 0x0000000000000000
0x00000000feb00000 0x00000000feb3ffff 0x0000000000046200
`)
	bars, err := Root(dir).BARs(addr)
	require.NoError(t, err)
	require.Equal(t, []BAR{{1, 0xfea00800, 0x800}, {3, 0x4000000000, 0x10000}}, bars, "I/O ports and the ROM are no windows")
	write(t, dir, PCIDevice(addr)+"/resource", "rubbish\n")
	_, err = Root(dir).BARs(addr)
	require.ErrorContains(t, err, "line 1")
	_, err = Root(dir).BARs("0000:00:02.0")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestCompatible(t *testing.T) {
	dir := t.TempDir()
	r := Root(dir)
	const addr = "0000:00:01.0"
	require.Nil(t, r.PCICompatible(addr))
	write(t, dir, PCIDevice(addr)+"/vendor", "0x16c3\n")
	write(t, dir, PCIDevice(addr)+"/device", "0x0007\n")
	require.Equal(t, []string{"pci16c3,7"}, r.PCICompatible(addr))
	write(t, dir, PCIDevice(addr)+"/of_node/compatible", "snps,dwmac-4.20a\x00generic-uio\x00")
	require.Equal(t, []string{"snps,dwmac-4.20a", "generic-uio", "pci16c3,7"}, r.PCICompatible(addr))
}

func TestCoherent(t *testing.T) {
	const base, node = "/sys/firmware/devicetree/base", "/sys/firmware/devicetree/base/soc/ethernet@1000"
	for _, c := range []struct {
		name     string
		files    []string
		goarch   string
		coherent bool
	}{
		{"x86 without device tree", nil, "amd64", true},
		{"arm64 without device tree", nil, "arm64", false},
		{"arm64 that does not say", []string{node + "/reg"}, "arm64", false},
		{"arm that does not say", []string{node + "/reg"}, "arm", false},
		{"riscv64 that does not say", []string{node + "/reg"}, "riscv64", true},
		{"riscv64 that denies", []string{node + "/dma-noncoherent"}, "riscv64", false},
		{"arm64 that says", []string{node + "/dma-coherent"}, "arm64", true},
		{"arm64, the bus says", []string{node + "/reg", base + "/soc/dma-coherent"}, "arm64", true},
		{"arm64, the root says", []string{node + "/reg", base + "/dma-coherent"}, "arm64", true},
		{"arm64, the bus says and the device denies", []string{node + "/dma-noncoherent", base + "/soc/dma-coherent"}, "arm64", false},
	} {
		dir := t.TempDir()
		const device = "/sys/devices/platform/soc/1000.ethernet"
		write(t, dir, device+"/uevent", "")
		link(t, dir, "/sys/bus/platform/devices/1000.ethernet", device)
		for _, f := range c.files {
			write(t, dir, f, "")
		}
		if c.files != nil {
			link(t, dir, device+"/of_node", node)
		}
		coherent, why := Root(dir).Coherent("/sys/bus/platform/devices/1000.ethernet", c.goarch)
		require.Equal(t, c.coherent, coherent, "%s: %s", c.name, why)
		require.NotEmpty(t, why)
	}
}

// TestCoherentPCI has a PCI device without a node below a host bridge with one.
func TestCoherentPCI(t *testing.T) {
	dir := t.TempDir()
	const bridge = "/sys/devices/platform/4010000000.pcie"
	write(t, dir, bridge+"/pci0000:00/0000:00:01.0/vendor", "0x16c3\n")
	write(t, dir, "/sys/firmware/devicetree/base/pcie@10000000/dma-coherent", "")
	link(t, dir, bridge+"/of_node", "/sys/firmware/devicetree/base/pcie@10000000")
	link(t, dir, PCIDevice("0000:00:01.0"), bridge+"/pci0000:00/0000:00:01.0")
	coherent, why := Root(dir).Coherent(PCIDevice("0000:00:01.0"), "arm64")
	require.True(t, coherent)
	require.Equal(t, "the device tree says dma-coherent", why)
}

// config is a command register some bits of which are stuck.
type config struct {
	command, stuck uint16
	writes         int
	err            error
}

func (c *config) ReadAt(b []byte, off int64) (int, error) {
	if c.err != nil || off != 4 || len(b) != 2 {
		return 0, errors.Join(c.err, fs.ErrInvalid)
	}
	binary.LittleEndian.PutUint16(b, c.command)
	return 2, nil
}

func (c *config) WriteAt(b []byte, off int64) (int, error) {
	if c.err != nil || off != 4 || len(b) != 2 {
		return 0, errors.Join(c.err, fs.ErrInvalid)
	}
	c.command = c.command&c.stuck | binary.LittleEndian.Uint16(b)&^c.stuck
	c.writes++
	return 2, nil
}

func TestSetCommand(t *testing.T) {
	c := &config{command: 0x0405}
	now, err := SetCommand(c, CommandMemory, CommandMaster)
	require.NoError(t, err)
	require.Equal(t, uint16(0x0403), now)
	now, err = SetCommand(c, 0, CommandNoINTx)
	require.NoError(t, err)
	require.Equal(t, uint16(0x0003), now)
	require.Equal(t, 2, c.writes)
	_, err = SetCommand(c, CommandMemory, 0)
	require.NoError(t, err)
	require.Equal(t, 2, c.writes, "nothing to change, nothing written")

	c.stuck = CommandMaster
	_, err = SetCommand(c, CommandMaster, 0)
	require.ErrorIs(t, err, mac.ErrUnsupported)
	c.command = 0xffff
	_, err = SetCommand(c, 0, CommandNoINTx)
	require.ErrorIs(t, err, mac.ErrNoDevice)
	c.err = fs.ErrPermission
	_, err = SetCommand(c, 0, CommandNoINTx)
	require.ErrorIs(t, err, fs.ErrPermission)
}

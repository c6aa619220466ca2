//go:build linux

package hostmem

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/bus/internal/fakeroot"
	"github.com/barewire/barewire/mac/bus/memory"
)

const kib = 1 << 10

// reserve sets 64 KiB aside at 0x10000 of a fake /dev/mem, and has the device's node
// refer to it.
func reserve(r *fakeroot.Root) {
	r.Write("/dev/mem", strings.Repeat("\xff", 0x20000))
	r.Cells(treeBase+"/reserved-memory/#address-cells", 1)
	r.Cells(treeBase+"/reserved-memory/#size-cells", 1)
	r.Write(treeBase+"/reserved-memory/ranges", "")
	r.Cells(treeBase+"/reserved-memory/dma@10000/reg", 0x10000, 0x10000)
	r.Cells(treeBase+"/reserved-memory/dma@10000/phandle", 5)
	r.Write(treeBase+"/reserved-memory/dma@10000/no-map", "")
	r.Cells(treeNode+"/memory-region", 5)
}

func TestNothingAsked(t *testing.T) {
	m, err := New(config(machine(t), memory.Options{}))
	require.NoError(t, err)
	_, err = ask(m, mac.Descriptors, 64)
	require.ErrorIs(t, err, mac.ErrConfig)
	require.ErrorContains(t, err, "test: there is no DMA memory. Choose: package vfio")
	require.Equal(t, "no DMA memory (none is set aside, and no option names any)", m.String())
	m.Close()
}

func TestReservedMemory(t *testing.T) {
	r := machine(t)
	reserve(r)
	m, err := New(config(r, memory.Options{}))
	require.NoError(t, err)
	require.Equal(t, "DMA memory from memory-region of the device tree at 0x10000+0x10000, uncached: frames are copied in aligned words", m.String())
	d, err := ask(m, mac.Descriptors, 8*kib)
	require.NoError(t, err)
	require.EqualValues(t, 0x10000, d.DeviceAddr())
	require.True(t, d.Coherent())
	rx, err := ask(m, mac.RXBuffers, 16*kib)
	require.NoError(t, err)
	require.False(t, rx.Coherent(), "a copy")
	file := []byte(r.Read("/dev/mem"))
	require.Equal(t, make([]byte, 24*kib), file[0x10000:0x16000], "what was left there is gone")
	d.Bytes()[3] = 7
	require.EqualValues(t, 7, r.Read("/dev/mem")[0x10003])

	_, err = ask(m, mac.TXBuffers, 48*kib)
	require.ErrorContains(t, err, "used up: memory-region of the device tree at 0x10000+0x10000. Set more aside, or ask for less")
	m.Close()
	_, err = ask(m, mac.TXBuffers, kib)
	require.ErrorIs(t, err, os.ErrClosed)
	require.NoError(t, errors.Join(d.Release(), rx.Release()))
	pieces, mapped := m.InUse()
	require.Zero(t, pieces+mapped)
}

func TestReservedMemoryOfTheUser(t *testing.T) {
	r := machine(t)
	reserve(r)
	own := memory.Options{Reserved: memory.Range{Addr: 0x8100, Size: 0x6000}}
	m, err := New(config(r, own))
	require.NoError(t, err)
	d, err := ask(m, mac.Descriptors, 4*kib)
	require.NoError(t, err)
	require.EqualValues(t, 0x9000, d.DeviceAddr(), "whole pages of what is given")
	require.NoError(t, d.Release())

	r.Write("/proc/iomem", "00001000-00001fff : ethernet\n00008000-0000bfff : System RAM\n  00009000-00009fff : Kernel code\n")
	_, err = ask(m, mac.Descriptors, 4*kib)
	require.ErrorContains(t, err, "the kernel uses 00008000-0000bfff as System RAM (/proc/iomem): leave it out with mem=")
	require.ErrorIs(t, err, mac.ErrConfig)
	r.Write("/proc/iomem", "00000000-00000000 : System RAM\n") // not root
	d, err = ask(m, mac.Descriptors, 4*kib)
	require.NoError(t, err)
	require.NoError(t, d.Release())

	for size, text := range map[uint64]string{0xfff: "no whole page", 0x2000: "too small for 8192 bytes"} {
		m, err = New(config(r, memory.Options{Reserved: memory.Range{Addr: 0x8001, Size: size}}))
		require.NoError(t, err)
		_, err = ask(m, mac.Descriptors, 8*kib)
		require.ErrorContains(t, err, text)
	}
	r.Remove("/dev/mem")
	m, err = New(config(r, own))
	require.NoError(t, err)
	_, err = ask(m, mac.Descriptors, 4*kib)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "CONFIG_DEVMEM")
}

func TestDeviceAddresses(t *testing.T) {
	r := machine(t)
	reserve(r)
	r.Cells(treeBase+"/#address-cells", 1)
	r.Cells(treeBase+"/soc/dma-ranges", 0x80000000, 0, 0x18000)
	m, err := New(config(r, memory.Options{Reserved: memory.Range{Addr: 0x10000, Size: 0x8000}}))
	require.NoError(t, err)
	d, err := ask(m, mac.Descriptors, 4*kib)
	require.NoError(t, err)
	require.Equal(t, uint64(0x80010000), d.DeviceAddr(), "as dma-ranges has it")
	require.NoError(t, d.Release())
	m, err = New(config(r, memory.Options{}))
	require.NoError(t, err)
	_, err = ask(m, mac.Descriptors, 4*kib)
	require.ErrorContains(t, err, "the device reaches 00000000-00017fff alone (dma-ranges of the device tree)")
}

func TestIOMMUInTheWay(t *testing.T) {
	r := machine(t)
	reserve(r)
	r.Write(device+"/iommu_group/type", "DMA-FQ\n")
	m, err := New(config(r, memory.Options{}))
	require.NoError(t, err)
	_, err = ask(m, mac.Descriptors, 64)
	require.ErrorIs(t, err, mac.ErrUnsupported)
	require.ErrorContains(t, err, "an IOMMU stands between")
	r.Write(device+"/iommu_group/type", "identity\n")
	m, err = New(config(r, memory.Options{}))
	require.NoError(t, err)
	d, err := ask(m, mac.Descriptors, 64)
	require.NoError(t, err)
	require.NoError(t, d.Release())
}

// addUDMABuf has a u-dma-buf of 64 KiB at 0x1e900000.
func addUDMABuf(r *fakeroot.Root) {
	const dir = "/sys/class/u-dma-buf/udmabuf0/"
	r.Write(dir+"phys_addr", "0x000000001e900000\n")
	r.Write(dir+"size", "65536\n")
	r.Write(dir+"dma_coherent", "0\n")
	r.Write(dir+"sync_for_cpu", "")
	r.Write(dir+"sync_for_device", "")
	r.Write("/dev/udmabuf0", strings.Repeat("\xff", 64*kib))
}

func TestUDMABuf(t *testing.T) {
	r := machine(t)
	addUDMABuf(r)
	c := config(r, memory.Options{UDMABuf: "udmabuf0"})
	var opened []string
	c.Hooks.Open = func(path string, sync bool) (int, error) {
		opened = append(opened, map[bool]string{true: "uncached", false: "cached"}[sync])
		return unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	}
	m, err := New(c)
	require.NoError(t, err)
	require.Equal(t, "DMA memory from u-dma-buf udmabuf0 (64 KiB at 0x1e900000), not coherent since the device tree does not say dma-coherent, maintained by its sync files, descriptors uncached", m.String())

	d, err := ask(m, mac.Descriptors, 4*kib)
	require.NoError(t, err)
	require.True(t, d.Coherent())
	require.EqualValues(t, 0x1e900000, d.DeviceAddr())
	require.Equal(t, []string{"cached", "uncached"}, opened, "held, and mapped")
	sync := func(which string) string { return r.Read("/sys/class/u-dma-buf/udmabuf0/sync_for_" + which) }
	require.Equal(t, []string{"0x1001", "0x1001"}, []string{sync("device"), sync("cpu")}, "nothing of it is left in the cache")

	rx, err := ask(m, mac.RXBuffers, 8*kib)
	require.NoError(t, err)
	require.False(t, rx.Coherent())
	require.EqualValues(t, 0x1e901000, rx.DeviceAddr(), "a page of its own")
	require.Equal(t, "cached", opened[2])
	require.Equal(t, "0x100000002001", sync("device"), "the zeros leave the cache")
	rx.SyncForCPU(2048+20, 100)
	require.Equal(t, "0x181000000079", sync("cpu"), "120 bytes from 0x1810, from the device (2<<2), and go (1)")
	tx, err := ask(m, mac.TXBuffers, 4*kib)
	require.NoError(t, err)
	tx.SyncForDevice(64, 60)
	require.Contains(t, sync("device"), "0x304000000045", "64 bytes from 0x3040, to the device (1<<2)")
	copy(rx.Bytes(), "cached")
	require.Equal(t, "cached", r.Read("/dev/udmabuf0")[4*kib:4*kib+6])
	if !raceEnabled {
		require.Zero(t, testing.AllocsPerRun(10, func() { tx.SyncForDevice(64, 60) }))
	}

	other, err := New(config(r, memory.Options{UDMABuf: "udmabuf0"}))
	require.NoError(t, err)
	_, err = ask(other, mac.Descriptors, 64)
	require.ErrorContains(t, err, "another program uses it")

	_, err = ask(m, mac.RXBuffers, 64*kib)
	require.ErrorContains(t, err, "used up: u-dma-buf udmabuf0 has 65536 bytes")
	require.NoError(t, errors.Join(d.Release(), rx.Release(), tx.Release()))
	d, err = ask(other, mac.Descriptors, 64)
	require.NoError(t, err, "the last piece lets others in")
	require.NoError(t, d.Release())
}

func TestUDMABufByInstructions(t *testing.T) {
	r := machine(t)
	addUDMABuf(r)
	c := config(r, memory.Options{UDMABuf: "udmabuf0"})
	log := &cacheLog{}
	c.Hooks.Cache = log.hook
	m, err := New(c)
	require.NoError(t, err)
	require.Contains(t, m.String(), "maintained by DC CVAC and DC CIVAC on lines of 64 bytes")
	rx, err := ask(m, mac.RXBuffers, 4*kib)
	require.NoError(t, err)
	tx, err := ask(m, mac.TXBuffers, 4*kib)
	require.NoError(t, err)
	log.log = nil
	rx.SyncForDevice(0, 2048)
	rx.SyncForCPU(2, 60)
	tx.SyncForDevice(64, 99)
	tx.SyncForCPU(64, 99)
	require.Equal(t, []string{"drop 2048", "drop 60", "clean 99"}, log.log)
	require.NoError(t, errors.Join(rx.Release(), tx.Release()))
}

func TestUDMABufCoherent(t *testing.T) {
	r := machine(t)
	addUDMABuf(r)
	r.Write("/sys/class/u-dma-buf/udmabuf0/dma_coherent", "1\n")
	m, err := New(config(r, memory.Options{UDMABuf: "udmabuf0"}))
	require.NoError(t, err)
	require.Contains(t, m.String(), "coherent since u-dma-buf says dma_coherent")
	for _, use := range []mac.Use{mac.Descriptors, mac.RXBuffers} {
		d, err := ask(m, use, 64)
		require.NoError(t, err)
		require.True(t, d.Coherent())
		require.NoError(t, d.Release())
	}
}

func TestUDMABufTrouble(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(r *fakeroot.Root)
		err   error
		text  string
	}{
		{"none", func(r *fakeroot.Root) { r.Remove("/sys/class/u-dma-buf/udmabuf0") }, mac.ErrNoDevice, "insmod u-dma-buf.ko udmabuf0=16777216"},
		{"odd address", func(r *fakeroot.Root) { r.Write("/sys/class/u-dma-buf/udmabuf0/phys_addr", "0x1e900010") }, mac.ErrUnsupported, "not whole pages"},
		{"old version", func(r *fakeroot.Root) { r.Remove("/sys/class/u-dma-buf/udmabuf0/sync_for_cpu") }, os.ErrNotExist, "take version 2 or later"},
		{"no node", func(r *fakeroot.Root) { r.Remove("/dev/udmabuf0") }, os.ErrNotExist, "run udev"},
		{"out of reach", func(r *fakeroot.Root) {
			r.Cells(treeBase+"/#address-cells", 1)
			r.Cells(treeBase+"/soc/dma-ranges", 0, 0, 0x10000000)
		}, mac.ErrUnsupported, "the device reaches 00000000-0fffffff alone"},
	} {
		r := machine(t)
		addUDMABuf(r)
		c.spoil(r)
		m, err := New(config(r, memory.Options{UDMABuf: "udmabuf0"}))
		require.NoError(t, err)
		_, err = ask(m, mac.Descriptors, 64)
		require.ErrorIs(t, err, c.err, c.name)
		require.ErrorContains(t, err, c.text, c.name)
	}
}

// heapAt is a DMA heap whose memory lies at a physical address.
func heapAt(t *testing.T, c *Config, phys uint64) {
	fake := &fakeHuge{}
	c.Hooks.Pagemap = &pagemap{T: t, huge: []uint64{phys}}
	c.Hooks.Heap = func(path string, size int) (int, error) {
		require.Equal(t, "linux,cma", filepath.Base(path))
		return fake.create(int64(size))
	}
}

func TestDMAHeap(t *testing.T) {
	r := machine(t)
	reserve(r)
	log := &cacheLog{}
	c := config(r, memory.Options{UnsafeDMAHeap: "linux,cma"})
	c.Hooks.Cache = log.hook
	heapAt(t, &c, 0x30000000)
	m, err := New(c)
	require.NoError(t, err)
	require.Equal(t, "DMA memory from DMA heap linux,cma without IOMMU (unsafe), not coherent since the device tree does not say dma-coherent, "+
		"maintained by DC CVAC and DC CIVAC on lines of 64 bytes, descriptors uncached in memory-region of the device tree at 0x10000+0x10000", m.String())
	d, err := ask(m, mac.Descriptors, 64)
	require.NoError(t, err)
	require.EqualValues(t, 0x10000, d.DeviceAddr())
	rx, err := ask(m, mac.RXBuffers, 8*kib)
	require.NoError(t, err)
	require.EqualValues(t, 0x30000000, rx.DeviceAddr())
	require.Equal(t, []string{"drop 8192"}, log.log)
	require.NoError(t, errors.Join(d.Release(), rx.Release()))
	require.Zero(t, mappings(t))

	heapAt(t, &c, 0x1_0000_0000)
	m, err = New(c)
	require.NoError(t, err)
	_, err = ask(m, mac.RXBuffers, 64)
	require.ErrorContains(t, err, "the device does not reach them")
	require.Zero(t, mappings(t))
}

func TestPlainPagesNeedCoherence(t *testing.T) {
	r := machine(t)
	for _, o := range []memory.Options{{UnsafeHugePages: true}, {UnsafeDMAHeap: "linux,cma"}} {
		c := config(r, o)
		m, err := New(c)
		require.NoError(t, err)
		_, err = ask(m, mac.RXBuffers, 64)
		require.ErrorIs(t, err, mac.ErrUnsupported)
		require.ErrorContains(t, err, "a program cannot maintain the cache: use u-dma-buf or reserved memory")
		c.Hooks.Cache = (&cacheLog{}).hook
		m, err = New(c)
		require.NoError(t, err)
		_, err = ask(m, mac.RXBuffers, 64)
		require.ErrorContains(t, err, "descriptors need memory that is not cached: set Options.Reserved besides")
	}
	r.Write(treeNode+"/dma-coherent", "")
	c := config(r, memory.Options{UnsafeDMAHeap: "linux,cma"})
	heapAt(t, &c, 0x30000000)
	m, err := New(c)
	require.NoError(t, err)
	require.Equal(t, "DMA memory from DMA heap linux,cma without IOMMU (unsafe), coherent since the device tree says dma-coherent", m.String())
	d, err := ask(m, mac.Descriptors, 64)
	require.NoError(t, err)
	require.NoError(t, d.Release())
}

func TestOptionsThatCannotBe(t *testing.T) {
	for _, o := range []memory.Options{
		{UDMABuf: "udmabuf0", UnsafeHugePages: true}, {HugePageSize: 3}, {HugePageSize: -1}, {UDMABuf: "../mem"}, {UnsafeDMAHeap: ".."},
	} {
		_, err := New(config(machine(t), o))
		require.ErrorIs(t, err, mac.ErrConfig, "%+v", o)
	}
}

//go:build linux

package vfio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/barewire/barewire/mac/bus/internal/mmio"
	"github.com/barewire/barewire/mac/bus/internal/sysfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	addr    = "0000:00:01.0"
	pciReal = "/sys/devices/pci0000:00/" + addr
	barSize = 0x4000
	shift   = 40 // VFIO_PCI_OFFSET_SHIFT: region i is at i << shift
)

// Descriptors of the fake kernel.
const (
	noFD = iota + 1000
	containerFD
	groupFD
	deviceFD
)

// fake is a kernel with one device in one group, and the sysfs tree that goes
// with it. It checks arguments by the offsets of the kernel's header, which it
// has as plain numbers, and notes what happens.
type fake struct {
	t   *testing.T
	dir string

	mu    sync.Mutex
	open  map[int]bool
	steps []string

	// What the kernel is like.
	openError  map[string]error // by path
	version    int
	types      map[int]bool // of IOMMUs
	viable     bool
	setError   error // of VFIO_SET_IOMMU
	flags      uint32
	resetError error
	ranges     [][2]uint64 // nil: a kernel that does not say
	junk       []byte      // a capability ahead of the ranges
	mapError   error
	irqCount   [2]uint32

	container, iommu bool
	dma              map[uint64][2]uint64 // IOVA: address and size
	config           [256]byte
	bar              []byte
	platform         bool   // it is a platform device, called ethernet
	trigger          [2]int // eventfd of INTx and MSI; 0: none
	masked, level    bool   // of INTx
}

func newFake(t *testing.T) *fake {
	f := &fake{
		t: t, dir: t.TempDir(), open: map[int]bool{}, openError: map[string]error{},
		types: map[int]bool{1: true, 3: true}, viable: true, flags: 3,
		ranges:   [][2]uint64{{0, 0xfedfffff}, {0xfef00000, 1<<48 - 1}},
		irqCount: [2]uint32{1, 1},
		dma:      map[uint64][2]uint64{}, bar: make([]byte, barSize),
	}
	f.config[4], f.config[5] = 0x04, 0x04 // bus master, INTx disabled
	f.write(pciReal+"/vendor", "0x16c3\n")
	f.write(pciReal+"/device", "0x7102\n")
	f.write(pciReal+"/resource", "0x0 0x0 0x0\n0x0 0x0 0x0\n0x10000000 0x10003fff 0x40200\n"+strings.Repeat("0x0 0x0 0x0\n", 4))
	f.write("/sys/bus/pci/drivers/vfio-pci/new_id", "")
	f.write("/sys/kernel/iommu_groups/7/type", "DMA\n")
	f.link("/sys/kernel/iommu_groups/7/devices/"+addr, pciReal)
	f.link(pciReal+"/driver", "/sys/bus/pci/drivers/vfio-pci")
	f.link(pciReal+"/iommu_group", "/sys/kernel/iommu_groups/7")
	f.link("/sys/bus/pci/devices/"+addr, pciReal)
	return f
}

func (f *fake) write(path, text string) {
	path = filepath.Join(f.dir, path)
	require.NoError(f.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(f.t, os.WriteFile(path, []byte(text), 0o644))
}

func (f *fake) link(path, to string) {
	path = filepath.Join(f.dir, path)
	require.NoError(f.t, os.MkdirAll(filepath.Dir(path), 0o755))
	to, err := filepath.Rel(filepath.Dir(path), filepath.Join(f.dir, to))
	require.NoError(f.t, err)
	require.NoError(f.t, os.Symlink(to, path))
}

func (f *fake) options() Options { return Options{root: sysfs.Root(f.dir), kernel: f} }

func (f *fake) command() uint16 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return binary.LittleEndian.Uint16(f.config[4:])
}

// note records a step. mu is held.
func (f *fake) note(format string, args ...any) {
	f.steps = append(f.steps, fmt.Sprintf(format, args...))
}

func (f *fake) takeSteps() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.steps
	f.steps = nil
	return s
}

func (f *fake) Open(path string) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path = strings.TrimPrefix(path, f.dir)
	if err := f.openError[path]; err != nil {
		return -1, err
	}
	fd := map[string]int{"/dev/vfio/vfio": containerFD, "/dev/vfio/7": groupFD}[path]
	if fd == 0 {
		return -1, unix.ENOENT
	}
	f.open[fd] = true
	return fd, nil
}

func (f *fake) Close(fd int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.open[fd] {
		return unix.EBADF
	}
	delete(f.open, fd)
	f.note("close %s", map[int]string{containerFD: "container", groupFD: "group", deviceFD: "device"}[fd])
	return nil
}

func (f *fake) IoctlInt(fd int, request uint, arg int) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.open[fd] {
		return 0, unix.EBADF
	}
	switch {
	case fd == containerFD && request == 0x3b64: // VFIO_GET_API_VERSION
		return f.version, nil
	case fd == containerFD && request == 0x3b65: // VFIO_CHECK_EXTENSION
		if f.types[arg] {
			return 1, nil
		}
		return 0, nil
	case fd == containerFD && request == 0x3b66: // VFIO_SET_IOMMU
		if !f.container || f.iommu {
			return 0, unix.EINVAL
		}
		if f.setError != nil {
			return 0, f.setError
		}
		f.note("iommu type %d", arg)
		f.iommu = true
		return 0, nil
	case fd == deviceFD && request == 0x3b6f: // VFIO_DEVICE_RESET
		if f.flags&1 == 0 {
			return 0, unix.EINVAL
		}
		f.note("reset, command %#x", binary.LittleEndian.Uint16(f.config[4:]))
		return 0, f.resetError
	}
	return 0, unix.ENOTTY
}

func (f *fake) Ioctl(fd int, request uint, arg []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.open[fd] {
		return 0, unix.EBADF
	}
	e := binary.NativeEndian
	size := func(n int) bool {
		return len(arg) >= n && e.Uint32(arg) >= uint32(n) && e.Uint32(arg) <= uint32(len(arg))
	}
	switch {
	case fd == groupFD && request == 0x3b67 && size(8): // VFIO_GROUP_GET_STATUS
		if f.viable {
			e.PutUint32(arg[4:], 1)
		}
		return 0, nil
	case fd == groupFD && request == 0x3b68 && len(arg) == 4: // VFIO_GROUP_SET_CONTAINER
		if e.Uint32(arg) != containerFD {
			return 0, unix.EBADF
		}
		if !f.viable || f.container {
			return 0, unix.EINVAL
		}
		f.container = true
		return 0, nil
	case fd == groupFD && request == 0x3b6a: // VFIO_GROUP_GET_DEVICE_FD
		name, _, ok := bytes.Cut(arg, []byte{0})
		if want := map[bool]string{false: addr, true: ethernet}[f.platform]; !ok || string(name) != want {
			return 0, unix.ENODEV
		}
		if !f.iommu {
			return 0, unix.EINVAL
		}
		f.open[deviceFD] = true
		return deviceFD, nil
	case fd == containerFD && !f.iommu:
		return 0, unix.EINVAL
	case fd == containerFD && request == 0x3b70 && size(16): // VFIO_IOMMU_GET_INFO
		return 0, f.iommuInfo(arg)
	case fd == containerFD && request == 0x3b71 && size(32): // VFIO_IOMMU_MAP_DMA
		return 0, f.mapDMA(e.Uint32(arg[4:]), e.Uint64(arg[8:]), e.Uint64(arg[16:]), e.Uint64(arg[24:]))
	case fd == containerFD && request == 0x3b72 && size(24): // VFIO_IOMMU_UNMAP_DMA
		iova, n := e.Uint64(arg[8:]), e.Uint64(arg[16:])
		if m, ok := f.dma[iova]; !ok || m[1] != n || e.Uint32(arg[4:]) != 0 {
			e.PutUint64(arg[16:], 0)
			return 0, nil
		}
		delete(f.dma, iova)
		f.note("unmap %#x", iova)
		return 0, nil
	case fd == deviceFD && request == 0x3b6b && size(16): // VFIO_DEVICE_GET_INFO
		info := []uint32{f.flags, 9, 5}
		if f.platform {
			info = []uint32{f.flags, 2, 1}
		}
		for i, v := range info {
			e.PutUint32(arg[4+4*i:], v)
		}
		return 0, nil
	case fd == deviceFD && request == 0x3b6c && size(32): // VFIO_DEVICE_GET_REGION_INFO
		index := e.Uint32(arg[8:])
		flags, n := uint32(3), uint64(0)
		switch {
		case f.platform && index > 1:
			return 0, unix.EINVAL
		case f.platform && index == 1: // shares a page with others
			n = 0x100
		case f.registers() == index:
			flags, n = 7, barSize
		case index == 7:
			n = uint64(len(f.config))
		}
		e.PutUint32(arg[4:], flags)
		e.PutUint64(arg[16:], n)
		e.PutUint64(arg[24:], uint64(index)<<shift)
		return 0, nil
	case fd == deviceFD && request == 0x3b6d && size(16): // VFIO_DEVICE_GET_IRQ_INFO
		index := e.Uint32(arg[8:])
		if index > 1 || f.platform && f.irqCount[index] == 0 {
			return 0, unix.EINVAL
		}
		e.PutUint32(arg[4:], []uint32{1 | 2 | 4, 1 | 8}[index])
		e.PutUint32(arg[12:], f.irqCount[index])
		return 0, nil
	case fd == deviceFD && request == 0x3b6e && size(20): // VFIO_DEVICE_SET_IRQS
		return 0, f.setIRQs(arg)
	}
	return 0, unix.EINVAL
}

// registers is the number of the region that the core's registers are.
func (f *fake) registers() uint32 {
	if f.platform {
		return 0
	}
	return 2
}

// iommuInfo answers in the way of the kernel: what does not fit is not there, and
// argsz says how much there is.
func (f *fake) iommuInfo(arg []byte) error {
	e := binary.NativeEndian
	e.PutUint32(arg[4:], 1)
	e.PutUint64(arg[8:], 4096|2<<20)
	if f.ranges == nil {
		return nil
	}
	e.PutUint32(arg[4:], 3)
	caps := bytes.Clone(f.junk)
	if caps != nil {
		e.PutUint32(caps[4:], uint32(24+len(caps)))
	}
	c := make([]byte, 16)
	e.PutUint16(c, 1)
	e.PutUint16(c[2:], 1)
	e.PutUint32(c[8:], uint32(len(f.ranges)))
	for _, r := range f.ranges {
		c = e.AppendUint64(e.AppendUint64(c, r[0]), r[1])
	}
	caps = append(caps, c...)
	fits := e.Uint32(arg) >= uint32(24+len(caps))
	e.PutUint32(arg, uint32(24+len(caps)))
	e.PutUint32(arg[16:], 0)
	if fits {
		e.PutUint32(arg[16:], 24)
		copy(arg[24:], caps)
	}
	return nil
}

func (f *fake) mapDMA(flags uint32, cpu, iova, size uint64) error {
	if f.mapError != nil {
		return f.mapError
	}
	if flags != 3 || cpu == 0 || (cpu|iova|size)%4096 != 0 || size == 0 {
		return unix.EINVAL
	}
	for at, m := range f.dma {
		if iova < at+m[1] && at < iova+size {
			return unix.EEXIST
		}
	}
	ok := f.ranges == nil
	for _, r := range f.ranges {
		ok = ok || iova >= r[0] && iova+size-1 <= r[1]
	}
	if !ok {
		return unix.EINVAL
	}
	f.dma[iova] = [2]uint64{cpu, size}
	return nil
}

func (f *fake) setIRQs(arg []byte) error {
	e := binary.NativeEndian
	flags, index, start, count := e.Uint32(arg[4:]), e.Uint32(arg[8:]), e.Uint32(arg[12:]), e.Uint32(arg[16:])
	if index > 1 || start != 0 || start+count > f.irqCount[index] {
		return unix.EINVAL
	}
	switch {
	case flags == 1<<2|1<<5 && count == 1 && len(arg) == 24: // eventfd, trigger
		f.trigger[index] = int(int32(e.Uint32(arg[20:])))
		f.masked = false
		f.setLevel(f.level)
	case flags == 1<<0|1<<5 && count == 0: // none, trigger
		f.note("irq %d off", index)
		f.trigger[index] = 0
	case flags == 1<<0|1<<4 && count == 1 && index == 0 && f.trigger[0] != 0: // none, unmask
		f.masked = false
		f.setLevel(f.level)
	default:
		return unix.EINVAL
	}
	return nil
}

// setLevel drives INTx, which masks itself. mu is held.
func (f *fake) setLevel(level bool) {
	f.level = level
	if level && !f.masked && f.trigger[0] != 0 {
		f.masked = true
		f.signal(0)
	}
}

func (f *fake) signal(index int) {
	_, err := unix.Write(f.trigger[index], binary.NativeEndian.AppendUint64(nil, 1))
	require.NoError(f.t, err)
}

func (f *fake) Map(fd int, offset int64, size uint64) (*mmio.Window, error) {
	if fd != deviceFD || offset != int64(f.registers())<<shift || size != barSize {
		return nil, unix.EINVAL
	}
	return mmio.Over(f.bar), nil
}

func (f *fake) at(fd int, b []byte, offset int64) ([]byte, error) {
	off := offset - 7<<shift
	if fd != deviceFD || !f.open[fd] || off < 0 || off+int64(len(b)) > int64(len(f.config)) {
		return nil, unix.EINVAL
	}
	return f.config[off:], nil
}

func (f *fake) Pread(fd int, b []byte, offset int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, err := f.at(fd, b, offset)
	return copy(b, c), err
}

func (f *fake) Pwrite(fd int, b []byte, offset int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, err := f.at(fd, b, offset)
	if err != nil {
		return 0, err
	}
	f.note("command %#x", binary.LittleEndian.Uint16(b))
	return copy(c, b), nil
}

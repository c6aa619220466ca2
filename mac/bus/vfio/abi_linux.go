package vfio

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/bus/internal/dma"
)

// The kernel's interface, include/uapi/linux/vfio.h. Arguments are byte slices in
// the layout of its structures, which is the same on 32-bit and 64-bit machines.

// Requests: _IO(';', 100 + n).
const (
	getAPIVersion     = 0x3b64
	checkExtension    = 0x3b65
	setIOMMU          = 0x3b66
	groupGetStatus    = 0x3b67
	groupSetContainer = 0x3b68
	groupGetDevice    = 0x3b6a
	deviceGetInfo     = 0x3b6b
	deviceGetRegion   = 0x3b6c
	deviceGetIRQ      = 0x3b6d
	deviceSetIRQs     = 0x3b6e
	deviceReset       = 0x3b6f
	iommuGetInfo      = 0x3b70
	iommuMapDMA       = 0x3b71
	iommuUnmapDMA     = 0x3b72
)

const (
	apiVersion = 0

	type1   = 1 // IOMMU types
	type1v2 = 3

	groupViable = 1 << 0

	deviceCanReset   = 1 << 0
	deviceIsPCI      = 1 << 1
	deviceIsPlatform = 1 << 2

	regionMappable = 1 << 2
	regionConfig   = 7 // VFIO_PCI_CONFIG_REGION_INDEX; 0 to 5 are the BARs

	irqEventfd    = 1 << 0
	irqAutomasked = 1 << 2
	irqINTx       = 0 // VFIO_PCI_INTX_IRQ_INDEX
	irqMSI        = 1 // VFIO_PCI_MSI_IRQ_INDEX

	irqDataNone    = 1 << 0
	irqDataEventfd = 1 << 2
	irqUnmask      = 1 << 4
	irqTrigger     = 1 << 5

	iommuInfoCaps     = 1 << 1
	capabilityIOVA    = 1
	dmaRead, dmaWrite = 1 << 0, 1 << 1
)

var ne = binary.NativeEndian

// words is a structure of 32-bit fields that begins with its size.
func words(fields ...uint32) []byte {
	b := make([]byte, 4+4*len(fields))
	ne.PutUint32(b, uint32(len(b)))
	for i, f := range fields {
		ne.PutUint32(b[4+4*i:], f)
	}
	return b
}

// call is an ioctl whose argument is a structure.
func call(k kernel, fd int, name string, request uint, arg []byte) error {
	if _, err := k.Ioctl(fd, request, arg); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// ask is an ioctl whose argument is a number.
func ask(k kernel, fd int, name string, request uint, arg int) (int, error) {
	n, err := k.IoctlInt(fd, request, arg)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return n, nil
}

func groupStatus(k kernel, group int) (flags uint32, err error) {
	b := words(0)
	err = call(k, group, "VFIO_GROUP_GET_STATUS", groupGetStatus, b)
	return ne.Uint32(b[4:]), err
}

func setContainer(k kernel, group, container int) error {
	return call(k, group, "VFIO_GROUP_SET_CONTAINER", groupSetContainer, ne.AppendUint32(nil, uint32(container)))
}

// openDevice returns the descriptor of the device of a name, as sysfs has it.
func openDevice(k kernel, group int, name string) (int, error) {
	fd, err := k.Ioctl(group, groupGetDevice, append([]byte(name), 0))
	if err != nil {
		return -1, fmt.Errorf("VFIO_GROUP_GET_DEVICE_FD %s: %w", name, err)
	}
	return fd, nil
}

func deviceInfo(k kernel, device int) (flags, regions, irqs uint32, err error) {
	b := words(0, 0, 0)
	err = call(k, device, "VFIO_DEVICE_GET_INFO", deviceGetInfo, b)
	return ne.Uint32(b[4:]), ne.Uint32(b[8:]), ne.Uint32(b[12:]), err
}

// region is one region of a device file.
type region struct {
	flags        uint32
	size, offset uint64
}

func deviceRegion(k kernel, device, index int) (region, error) {
	b := words(0, uint32(index), 0, 0, 0, 0, 0)
	err := call(k, device, "VFIO_DEVICE_GET_REGION_INFO", deviceGetRegion, b)
	return region{flags: ne.Uint32(b[4:]), size: ne.Uint64(b[16:]), offset: ne.Uint64(b[24:])}, err
}

func deviceIRQ(k kernel, device, index int) (flags, count uint32, err error) {
	b := words(0, uint32(index), 0)
	err = call(k, device, "VFIO_DEVICE_GET_IRQ_INFO", deviceGetIRQ, b)
	return ne.Uint32(b[4:]), ne.Uint32(b[12:]), err
}

// setTrigger makes interrupt 0 of an index signal an eventfd.
func setTrigger(k kernel, device, index, eventfd int) error {
	return call(k, device, "VFIO_DEVICE_SET_IRQS", deviceSetIRQs, words(irqDataEventfd|irqTrigger, uint32(index), 0, 1, uint32(eventfd)))
}

// clearTrigger turns an index off.
func clearTrigger(k kernel, device, index int) error {
	return call(k, device, "VFIO_DEVICE_SET_IRQS", deviceSetIRQs, words(irqDataNone|irqTrigger, uint32(index), 0, 0))
}

// unmask lets a line that masks itself fire again: INTx, or a level of a platform
// device.
func unmask(k kernel, device, index int) error {
	return call(k, device, "VFIO_DEVICE_SET_IRQS", deviceSetIRQs, words(irqDataNone|irqUnmask, uint32(index), 0, 1))
}

func mapDMA(k kernel, container int, cpu, iova, size uint64) error {
	b := words(dmaRead|dmaWrite, 0, 0, 0, 0, 0, 0)
	ne.PutUint64(b[8:], cpu)
	ne.PutUint64(b[16:], iova)
	ne.PutUint64(b[24:], size)
	return call(k, container, "VFIO_IOMMU_MAP_DMA", iommuMapDMA, b)
}

func unmapDMA(k kernel, container int, iova, size uint64) error {
	b := words(0, 0, 0, 0, 0)
	ne.PutUint64(b[8:], iova)
	ne.PutUint64(b[16:], size)
	if err := call(k, container, "VFIO_IOMMU_UNMAP_DMA", iommuUnmapDMA, b); err != nil {
		return err
	}
	if n := ne.Uint64(b[16:]); n != size {
		return fmt.Errorf("VFIO_IOMMU_UNMAP_DMA: %d of %d bytes at %#x were mapped: %w", n, size, iova, unix.EINVAL)
	}
	return nil
}

// iovaRanges are the addresses that the IOMMU can give to devices, without what
// it reserves (for message interrupts, for one). ok is false for a kernel before
// 5.4, which does not say.
func iovaRanges(k kernel, container int) (r dma.Ranges, ok bool, err error) {
	const header = 24
	b := words(0, 0, 0, 0, 0)
	if err := call(k, container, "VFIO_IOMMU_GET_INFO", iommuGetInfo, b); err != nil {
		return r, false, err
	}
	if ne.Uint32(b[4:])&iommuInfoCaps == 0 {
		return r, false, nil
	}
	// The kernel has put the size it needs in place of ours.
	const most = 1 << 20
	size := min(ne.Uint32(b), most)
	if size > header {
		b = make([]byte, size)
		ne.PutUint32(b, size)
		if err := call(k, container, "VFIO_IOMMU_GET_INFO", iommuGetInfo, b); err != nil {
			return r, false, err
		}
	}
	return parseRanges(b)
}

// parseRanges looks for the capability in a chain of them, each with its
// identity in 16 bits, version in 16 and offset of the next in 32.
func parseRanges(b []byte) (r dma.Ranges, ok bool, err error) {
	const offsetAt, capHeader, rangesAt, rangeSize = 16, 8, 16, 16
	if len(b) < offsetAt+4 {
		return r, false, nil
	}
	bad := fmt.Errorf("VFIO_IOMMU_GET_INFO: malformed capabilities: %w", mac.ErrUnsupported)
	last := uint32(0)
	for at := ne.Uint32(b[offsetAt:]); at != 0; at = ne.Uint32(b[at+4:]) {
		// Offsets grow, so the chain ends.
		if at <= last || uint64(at)+rangesAt > uint64(len(b)) {
			return r, false, bad
		}
		last = at
		if ne.Uint16(b[at:]) != capabilityIOVA {
			continue
		}
		n, list := ne.Uint32(b[at+capHeader:]), b[at+rangesAt:]
		if uint64(n)*rangeSize > uint64(len(list)) {
			return r, false, bad
		}
		for ; n > 0; n, list = n-1, list[rangeSize:] {
			from, to := max(ne.Uint64(list), lowestIOVA), min(ne.Uint64(list[8:]), highestIOVA)
			if from < to {
				r.Add(from, to-from+1)
			}
		}
		return r, true, nil
	}
	return r, false, nil
}

// Package uio is a mac.Bus on Linux UIO: registers, interrupt and DMA memory of a
// device that uio_pci_generic or uio_pdrv_genirq has.
//
// UIO knows nothing of DMA. There is no IOMMU between the device and all of
// memory, so a mistake in a device address overwrites whatever lies there. With
// an IOMMU use package vfio instead. Which memory the device is given is said by
// package memory.
//
// uio_pci_generic takes bus mastering away when its file is closed, also by the
// kernel; a platform device is stopped by nothing but the next Open, whose driver
// resets the core before it takes memory. The other side of it: whoever else opens
// and closes /dev/uioN stops the DMA of the one who uses it.
//
// How the device gets to UIO (as root):
//
//	# PCI
//	modprobe uio_pci_generic
//	echo uio_pci_generic > /sys/bus/pci/devices/0000:00:01.0/driver_override
//	echo 0000:00:01.0 > /sys/bus/pci/devices/0000:00:01.0/driver/unbind
//	echo 0000:00:01.0 > /sys/bus/pci/drivers_probe
//
//	# platform device; its clocks and resets stay on only if somebody keeps them on
//	modprobe uio_pdrv_genirq
//	echo uio_pdrv_genirq > /sys/bus/platform/devices/ff700000.ethernet/driver_override
//	echo ff700000.ethernet > /sys/bus/platform/devices/ff700000.ethernet/driver/unbind
//	echo ff700000.ethernet > /sys/bus/platform/drivers_probe
//
// Facts about the kernel's side are from its Documentation/driver-api/uio-howto
// and Documentation/admin-guide/mm/pagemap.
package uio

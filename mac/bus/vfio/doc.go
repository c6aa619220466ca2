// Package vfio is a mac.Bus on Linux VFIO for devices behind an IOMMU, on PCI or of a
// SoC: registers, DMA memory and interrupts without root, once the device is bound
// and its group given to the user.
//
// This is the safe way. The device reaches the memory that Alloc has handed out
// and nothing else, and when the process dies the kernel resets a PCI device and
// takes the mappings away.
//
// How the device gets to VFIO (as root):
//
//	modprobe vfio-pci
//	echo vfio-pci > /sys/bus/pci/devices/0000:00:01.0/driver_override
//	echo 0000:00:01.0 > /sys/bus/pci/devices/0000:00:01.0/driver/unbind
//	echo 0000:00:01.0 > /sys/bus/pci/drivers_probe
//	chown $USER /dev/vfio/$(basename $(readlink /sys/bus/pci/devices/0000:00:01.0/iommu_group))
//
// A platform device goes to vfio-platform in the same way, with "platform" for "pci" in
// the paths. The kernel knows how to reset very few of them, and takes the others only
// with reset_required=0; the core's driver resets its core itself. Debian's kernels have
// no vfio-platform, and no emulated machine here has a device for it: that part has run
// against a fake kernel alone.
//
// The IOMMU is on where /sys/kernel/iommu_groups has entries. Without one,
// vfio-pci has an enable_unsafe_noiommu_mode, which this package does not use:
// package uio is as unsafe and says so.
//
// DMA memory is locked, so the limit of locked memory (ulimit -l) must be a few
// MiB per device. Free huge pages (/proc/sys/vm/nr_hugepages) are taken when
// there are any; some IOMMUs run out of entries without.
//
// Facts about the kernel's side are from its Documentation/driver-api/vfio and
// include/uapi/linux/vfio.h: container and group interface, type 1 IOMMU.
package vfio

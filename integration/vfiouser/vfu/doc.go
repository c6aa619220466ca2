// Package vfu serves one PCI device over the vfio-user protocol, version 0.0,
// to a client such as QEMU's vfio-user-pci. It knows the protocol, PCI
// configuration space and interrupts; what the device does is a Device's
// business.
//
// The client is not trusted. Every length, index, address and descriptor it
// sends is checked, everything it can make the server keep is bounded by
// Options, and each command is answered before the next is read. What breaks the
// framing ends the session with an error; what is merely wrong is answered with
// an errno.
//
// Guest memory comes as file descriptors. Each file is mapped once, as a whole,
// and stays mapped until the device has been detached, so that no access of the
// device can hit an address that is gone: DMA_MAP and DMA_UNMAP only change which
// device addresses lead there. Files must be sealed against shrinking, as QEMU's
// memory-backend-memfd is, since an access beyond the end of a file ends the
// process.
//
// Not served are memory without a descriptor (accesses fail), MSI-X, expansion
// ROMs, regions that can be mapped, region descriptors, migration and
// REGION_WRITE_MULTI; a client learns this from the answers.
//
// The package is for Linux and is empty elsewhere.
//
// Layouts are those of the vfio-user specification (QEMU, docs/interop/
// vfio-user.rst) and of Linux's uapi/linux/vfio.h.
package vfu

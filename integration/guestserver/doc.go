// Package guestserver runs examples/httpserver as a program of a Linux guest, on
// the GMAC5 model as a PCI device: registers by real loads and stores, DMA into
// the guest's memory, interrupts through its kernel. The program and Barewire's
// driver are those of any other machine; the guest is a stock Debian kernel in
// QEMU, on arm64 and on amd64, with UIO and with VFIO behind an IOMMU.
//
//	make integration-linux                                   with the checks of Linux's driver
//	make integration-linux ARGS='-test.run TestServer/uio'   one boot
//	make integration-linux ARGS=-test.v                      with what the guest says
//
// A user-mode network is at the other end of the model's wire, and the client is
// net/http on this machine. One more guest has both drivers: Linux's own on one
// MAC, the server on another, and a cable between them.
//
// Everything is fetched into the user's cache and nothing is installed. go test
// ./... compiles the checks and boots nothing.
package guestserver

// Package qemu runs examples/httpserver on boards that QEMU emulates, on the MACs of
// their SoCs. Those models are QEMU's own, not Barewire's: Allwinner's EMAC on an Orange Pi
// PC, and the Synopsys GMAC on Nuvoton's NPCM750 (32-bit Arm) and NPCM845 (arm64)
// boards. The kernels are Debian's as they are, and the binary is that of make board.
//
//	make integration-qemu                                        all boards
//	make integration-qemu ARGS='-test.run TestBoards/npcm845'    one board
//	make integration-qemu ARGS=-test.v                           with what the boards say
//
// Neither kernel has UIO or VFIO for platform devices. So the bus is mac/bus/devmem:
// registers and reserved memory through /dev/mem, and the MAC's interrupt as a key of
// gpio-keys. Each board boots twice: with the server as a program among others, and
// with nothing but the server, as /init.
//
// QEMU's DMA is coherent and nothing gates clocks, so neither can go wrong here. What
// memory the kernel does not own is to the CPU, QEMU takes seriously on arm64: an
// unaligned access faults there as it does on hardware.
//
// Everything is fetched into the user's cache and nothing is installed. go test
// ./... compiles the checks and boots nothing.
package qemu

// Package dwmac1000 drives the Synopsys DesignWare Ethernet MAC 10/100/1000
// Universal (GMAC 3.x), which Linux calls dwmac1000: found on Allwinner A20,
// Altera Cyclone V to Stratix 10, Amlogic Meson, Rockchip RK3288 to RK3399,
// Nuvoton NPCM, T-Head TH1520 and many more. Versions 3.00 to 3.74, with normal,
// enhanced and extended descriptors, in rings or chains.
//
// What a SoC adds around the core (clocks, resets, the mode of the PHY interface,
// delays) has been set up before New: by a bootloader, by the kernel, or by board
// code. What the core cannot tell of itself, above all the size of its FIFOs, is
// in Platform.
//
// Not used, and left off explicitly: energy efficient Ethernet (LPI), FCS
// stripping, time stamps, and the further channels of AV cores, which have no
// filter to fill them. A receive checksum engine of type 1 stays off too: it
// judges the IPv4 header alone.
//
// # Registers and goroutines
//
// mac.Device serialises most calls. The interrupt path runs beside them and
// touches the interrupt registers only: the status register is write 1 to clear
// and never read, changed and written back; Interrupt_Enable has a copy behind a
// lock (dwmac.Channel). Poll demands belong to the owner of the ring. MDIO has a
// lock of its own.
package dwmac1000

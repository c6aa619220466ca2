// Package dwmac4 drives the Synopsys DesignWare Ethernet QoS cores GMAC4 and
// GMAC5 (versions 4.00 to 5.30), which Linux calls dwmac4: 10 Mbit/s to
// 2.5 Gbit/s, up to eight queues, found on STM32H7, STM32MP1, i.MX8M Plus,
// RK356x, RK3588, JH7110, Intel Elkhart Lake and many more.
//
// What a SoC adds around the core (clocks, resets, the mode of the PHY
// interface, delays) has been set up before New: by a bootloader, by the
// kernel, or by board code.
//
// Not used, and left off explicitly: energy efficient Ethernet (LPI), VLAN
// stripping, split headers, FCS stripping, time stamps. Cores with the register
// map of Qualcomm's ETHQOS version 3 and later are not supported.
//
// # Registers and goroutines
//
// mac.Device serialises most calls. The interrupt path runs beside them and
// touches the interrupt registers only: the status registers are write 1 to
// clear and never read, changed and written back; DMA_CHi_Interrupt_Enable has
// a copy per channel behind a lock (dwmac.Channel). Tail pointers belong to the
// owner of the ring. MDIO has a lock of its own.
package dwmac4

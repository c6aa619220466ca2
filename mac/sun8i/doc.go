// Package sun8i is the driver for the Ethernet MAC that Allwinner calls EMAC and
// Linux dwmac-sun8i: one queue each way, 10 Mbit/s to 1 Gbit/s, found on H2+, H3,
// H5, A64, A83T, R40, V3s, H6, H616 and D1. The A20's GMAC is another core.
//
// The core has no version register, no feature register and no counters; what is
// known of it comes from Allwinner's manuals and from Linux, FreeBSD and U-Boot.
// New goes by the name in the device tree, and looks only whether registers read
// all zeros or all ones.
//
// # Around the core
//
// The clock and the reset of the bus, the register that selects the PHY interface
// and the PHY inside some SoCs lie outside of the core, in the system control and
// the clock control unit. A bus that has those as register windows 1 and 2 lets
// the driver set them up; for a window that is absent, firmware or kernel has done
// so. What the driver cannot see, Board says.
//
// # Interrupts
//
// There is no receive watchdog, and DIC would lose the last frames of a burst: each
// frame may interrupt, and what keeps interrupts down is that receive is masked
// while the ring is polled. mac.Device stretches that to rx-usecs.
//
// # Registers and goroutines
//
// mac.Device serialises most calls. The interrupt path runs beside them and
// touches INT_EN and INT_STA only: the first, which both directions share, has a
// copy behind a lock (dwmac.Channel), the second is write 1 to clear. TX_CTL1 and RX_CTL1, the doorbells,
// belong to the owners of the rings from Start to Stop, who write all of them from
// constants. MDIO has a lock of its own.
package sun8i

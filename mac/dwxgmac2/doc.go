// Package dwxgmac2 drives the Synopsys DesignWare XGMAC cores (versions 2.00 to 3.x),
// which Linux calls dwxgmac2: 1 to 10 Gbit/s, up to 16 DMA channels, found on Agilex 5,
// in AMD's and Toshiba's bridges and in many SoCs of data centres.
//
// What a SoC adds around the core (clocks, resets, PCS and SerDes) has been set up
// before New: by a bootloader, by the kernel, or by board code. The core does not see
// what link its PHY has: a fixed link or a PHY driver says so.
//
// Not used, and left off explicitly: energy efficient Ethernet (LPI), VLAN stripping,
// split headers, FCS stripping, time stamps, tunnels, priority flow control. The
// XLGMAC (25 to 100 Gbit/s) has another map and is not supported.
//
// # Several queues
//
// With more queues than one, received flows are spread by receive-side scaling (RSS)
// where the core has it: a Toeplitz hash of addresses, and of the ports of TCP and
// UDP, picks one of 256 entries of a table, which go round the queues. The key is the
// one of Microsoft's specification of RSS, so a flow's queue is always the same. Which
// one that is depends on the order in which the core takes the words of the key, about
// which public drivers do not agree. What is not IP goes to queue 0. All frames pass
// one FIFO queue, which has all of the FIFO: a channel without buffers holds up the
// others until its ring is refilled.
//
// A core without RSS has a FIFO queue for each channel, and frames go by their VLAN
// priority, everything untagged to queue 0.
//
// # Registers and goroutines
//
// mac.Device serialises most calls. The interrupt path runs beside them and
// touches the interrupt registers only: the status registers are write 1 to
// clear and never read, changed and written back; DMA_CHi_Interrupt_Enable has
// a copy per channel behind a lock (dwmac.Channel). Tail pointers belong to the
// owner of the ring. MDIO has a lock of its own.
package dwxgmac2

// Package emac is the register map and the descriptor layout of Allwinner's
// sun8i EMAC (H2+, H3, H5, A64, A83T, R40, V3s, H6, H616, D1), and what these
// SoCs have around it. The driver (mac/sun8i) and the model (mac/sim/sun8i) share
// it, so that a number stands in one place; that the numbers are right is shown
// by drivers that are not ours.
//
// Names follow Allwinner's manuals (H3 Datasheet and A64 User Manual, section
// "EMAC"). Where the manual and the open drivers differ, or where only one of
// Linux (dwmac-sun8i), FreeBSD (if_awg) and U-Boot (sun8i_emac) knows a bit, the
// comment says so.
//
// A field of several bits is a mask.
package emac

// WindowSize covers every register of the core. Device trees give it more, with
// nothing behind.
const WindowSize = 0x400

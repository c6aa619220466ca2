// Package gmac3 is the register map and the descriptor layouts of the Synopsys
// DesignWare Ethernet MAC 10/100/1000 Universal, GMAC 3.x. The driver
// (mac/dwmac1000) and the model (mac/sim/dwmac1000) share it, so that a number
// stands in one place; that the numbers are right is shown by drivers that are
// not ours.
//
// Names follow the manual: offsets are named after the block and the register
// (MACConfig, DMABusMode), fields after the register and the field (ConfigTE). A
// field of several bits is a mask, for package field. What GMAC3 shares with later
// cores is in dwregs: the frame filter, the address registers, the counters.
package gmac3

// WindowSize covers every register of this map.
const WindowSize = 0x2000

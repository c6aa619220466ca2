// Package dwmac is what the drivers of the Synopsys MACs (dwmac1000, dwmac4,
// dwxgmac2) do in the same way: the address filter, the management counters, the
// interrupts of a DMA channel, the receive watchdog, MDIO and bounded waits; and,
// for dwmac4 and dwxgmac2 alone, descriptor rings, the transmit codec and the split
// of FIFOs. A driver says where its registers lie; the rest is here.
package dwmac

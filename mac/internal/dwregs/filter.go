// Package dwregs is what the register maps of the Synopsys MACs (GMAC3, GMAC4,
// XGMAC) have in common: the bits of the address filter, and the block of
// management counters of GMAC3 and GMAC4. Where the registers lie is each map's
// own business.
package dwregs

// Frame filter (GMAC3: MAC_Frame_Filter, GMAC4 and XGMAC: MAC_Packet_Filter).
const (
	FilterPR   uint32 = 1 << 0 // promiscuous
	FilterHUC  uint32 = 1 << 1 // hash unicast
	FilterHMC  uint32 = 1 << 2 // hash multicast
	FilterDAIF uint32 = 1 << 3 // inverse
	FilterPM   uint32 = 1 << 4 // pass all multicast
	FilterDBF  uint32 = 1 << 5 // drop broadcast
	FilterPCF  uint32 = 3 << 6 // pause and other control frames
	FilterSAIF uint32 = 1 << 8
	FilterSAF  uint32 = 1 << 9
	FilterHPF  uint32 = 1 << 10 // hash or perfect
	FilterVTFE uint32 = 1 << 16 // VLAN filter
	FilterRA   uint32 = 1 << 31 // receive all

	// PCFAll forwards every control frame.
	PCFAll = 2
)

// MAC_Address(n)_High. Low holds the first four bytes of the address, the first
// in its lowest bits; High is written first, the core takes both over with Low.
const (
	AddrHighADDR uint32 = 0xFFFF   // bytes 4 and 5
	AddrHighDCS  uint32 = 15 << 16 // DMA channel (XGMAC; GMAC4 has three bits)
	AddrHighMBC  uint32 = 63 << 24
	AddrHighSA   uint32 = 1 << 30
	AddrHighAE   uint32 = 1 << 31
)

// WatchdogUnit is the unit of the receive interrupt watchdog (RIWT, RWT) in
// application clock cycles.
const WatchdogUnit = 256

// In-band status of RGMII, SGMII and SMII: all of its register in GMAC3, the upper
// half of it in GMAC4.
const (
	InBandDuplex uint32 = 1 << 0 // 1 = full
	InBandSpeed  uint32 = 3 << 1
	InBandLink   uint32 = 1 << 3

	InBand10   = 0
	InBand100  = 1
	InBand1000 = 2
)

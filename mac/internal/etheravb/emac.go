package etheravb

// E-MAC. Nothing of it answers in RESET mode.
const (
	ECMR   uint32 = 0x0500
	RFLR   uint32 = 0x0508 // longest frame received, FCS included
	ECSR   uint32 = 0x0510 // write 1 to clear, unlike all others
	ECSIPR uint32 = 0x0518
	PIR    uint32 = 0x0520
	PSR    uint32 = 0x0528
	PIPR   uint32 = 0x052C
	CXR31  uint32 = 0x0530 // GbEth
	CXR35  uint32 = 0x0540 // GbEth
	MPR    uint32 = 0x0558
	PFTCR  uint32 = 0x055C
	PFRCR  uint32 = 0x0560
	GECMR  uint32 = 0x05B0
	MAHR   uint32 = 0x05C0
	MALR   uint32 = 0x05C8
)

// ECMR.
const (
	ECMRPRM   uint32 = 1 << 0 // promiscuous
	ECMRDM    uint32 = 1 << 1 // full duplex
	ECMRTE    uint32 = 1 << 5
	ECMRRE    uint32 = 1 << 6
	ECMRMPDE  uint32 = 1 << 9
	ECMRTXF   uint32 = 1 << 16 // send pauses
	ECMRRXF   uint32 = 1 << 17 // obey pauses
	ECMRPFR   uint32 = 1 << 18 // pause frames go to memory
	ECMRZPF   uint32 = 1 << 19 // a pause of 0 ends a pause
	ECMRRZPF  uint32 = 1 << 20
	ECMRDPAD  uint32 = 1 << 21
	ECMRRCSC  uint32 = 1 << 23 // append the sum of a received frame (R-Car)
	ECMRRCPT  uint32 = 1 << 25 // CRC pass-through (GbEth)
	ECMRTRCCM uint32 = 1 << 26 // counters clear on reading, not on writing
)

// ECSR and ECSIPR.
const (
	ECSRICD   uint32 = 1 << 0 // illegal carrier
	ECSRMPD   uint32 = 1 << 1 // magic packet
	ECSRLCHNG uint32 = 1 << 2 // LINK pin has changed
	ECSRPHYI  uint32 = 1 << 3
	ECSRPFRI  uint32 = 1 << 4
	ECSRAll          = ECSRICD | ECSRMPD | ECSRLCHNG | ECSRPHYI | ECSRPFRI
)

// PIR, PSR.
const (
	PIRMDC uint32 = 1 << 0
	PIRMMD uint32 = 1 << 1 // drive MDIO
	PIRMDO uint32 = 1 << 2
	PIRMDI uint32 = 1 << 3

	PSRLMON uint32 = 1 << 0 // LINK pin
)

// CXR31 and CXR35 of GbEth: the interface to the PHY.
const (
	CXR31SelLink0 uint32 = 1 << 0
	CXR31SelLink1 uint32 = 1 << 3

	CXR35SelXMII   uint32 = 3 << 0
	CXR35HalfCycle uint32 = 0xFFFF << 16

	XMIIRGMII        = 0
	XMIIMII          = 2
	HalfCycleDefault = 1000
)

// GECMR.
const (
	GECMRGigabit uint32 = 1 << 0 // R-Car: 1 Gbit/s, otherwise 100 Mbit/s
	GECMRSpeed   uint32 = 3 << 4 // GbEth

	Speed10   = 0
	Speed100  = 1
	Speed1000 = 2
)

// Counters. Each stops at its largest value and is cleared by a write.
const (
	TROCR  uint32 = 0x0700 // collisions without end (Gen3, GbEth)
	CXR41  uint32 = 0x0708 // late collisions (GbEth)
	CXR42  uint32 = 0x0710 // lost carrier (GbEth)
	CEFCR  uint32 = 0x0740 // CRC errors
	FRECR  uint32 = 0x0748 // errors signalled by the PHY
	TSFRCR uint32 = 0x0750 // too short
	TLFRCR uint32 = 0x0758 // too long
	RFCR   uint32 = 0x0760 // residual bits
	MAFCR  uint32 = 0x0778 // multicast
)

// TOE, the checksum engine of GbEth.
const (
	TOE0 uint32 = 0x0800
	TOE1 uint32 = 0x0804 // transmit
	TOE2 uint32 = 0x0808 // receive

	TOE0TPE uint32 = 1 << 4 // transmit engine on
	TOE0RPE uint32 = 1 << 5 // receive engine on

	// Kinds of frame, in TOE1 and TOE2.
	TOEIPv4  uint32 = 1 << 0
	TOETCP4  uint32 = 1 << 4
	TOEUDP4  uint32 = 1 << 5
	TOEICMP4 uint32 = 1 << 6
	TOETCP6  uint32 = 1 << 20
	TOEUDP6  uint32 = 1 << 21
	TOEICMP6 uint32 = 1 << 22
)

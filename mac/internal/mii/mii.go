// Package mii holds the registers of IEEE 802.3 PHYs that the driver mac/phy and
// the model mac/sim/phy share: clause 22 (802.3-2018 22.2.4), auto-negotiation
// (28.2.4, annexes 28A and 28B, 40.5.1) and clause 45 (45.2.1, 45.2.3, 45.2.7).
package mii

// Clause 22 registers.
const (
	BMCR   = 0  // control (22.2.4.1)
	BMSR   = 1  // status (22.2.4.2)
	PHYID1 = 2  // identifier, upper half (22.2.4.3.1)
	PHYID2 = 3  // identifier, lower half
	ANAR   = 4  // own abilities (28.2.4.1.3)
	ANLPAR = 5  // the link partner's (28.2.4.1.4)
	ANER   = 6  // expansion (28.2.4.1.5)
	GBCR   = 9  // 1000BASE-T control (40.5.1.1)
	GBSR   = 10 // 1000BASE-T status (40.5.1.1)
	MMDC   = 13 // access to clause 45 registers: function and device (22.2.4.3.11)
	MMDD   = 14 // access to clause 45 registers: address and data (22.2.4.3.12)
	ESR    = 15 // extended status (22.2.4.4)
)

// BMCR. Speed is in two bits that do not touch: both clear are 10 Mbit/s.
const (
	BMCRReset     = 1 << 15
	BMCRLoopback  = 1 << 14
	BMCRSpeed100  = 1 << 13
	BMCRANEnable  = 1 << 12
	BMCRPowerDown = 1 << 11
	BMCRIsolate   = 1 << 10
	BMCRANRestart = 1 << 9
	BMCRFull      = 1 << 8
	BMCRSpeed1000 = 1 << 6
)

// BMSR. BMSRLink is latched low: once the link is lost it reads 0 until it has
// been read.
const (
	BMSR100T4    = 1 << 15
	BMSR100Full  = 1 << 14
	BMSR100Half  = 1 << 13
	BMSR10Full   = 1 << 12
	BMSR10Half   = 1 << 11
	BMSR100T2    = 3 << 9
	BMSRExtended = 1 << 8 // ESR is there
	BMSRANDone   = 1 << 5
	BMSRANAble   = 1 << 3
	BMSRLink     = 1 << 2
	BMSRJabber   = 1 << 1
	BMSRExtCap   = 1 << 0 // registers 2 and up are there

	// BMSRAbilities never change. One at least is set.
	BMSRAbilities = BMSR100T4 | BMSR100Full | BMSR100Half | BMSR10Full | BMSR10Half | BMSR100T2 | BMSRExtended
)

// ANAR and ANLPAR, and with them 7.16 and 7.19 of clause 45.
const (
	ANSelector  = 0x1f
	ANSelect802 = 0x01 // IEEE 802.3
	AN10Half    = 1 << 5
	AN10Full    = 1 << 6
	AN100Half   = 1 << 7
	AN100Full   = 1 << 8
	AN100T4     = 1 << 9
	ANPause     = 1 << 10
	ANAsymPause = 1 << 11
	ANXNP       = 1 << 12 // extended next pages
	ANRemote    = 1 << 13
	ANAck       = 1 << 14
	ANNextPage  = 1 << 15
)

// ANER.
const (
	ANERPartnerAble = 1 << 0
	ANERPage        = 1 << 1
	ANERNextPage    = 1 << 2
	ANERPartnerNext = 1 << 3
)

// GBCR, GBSR and ESR.
const (
	GBCRHalf = 1 << 8
	GBCRFull = 1 << 9

	GBSRPartnerHalf = 1 << 10
	GBSRPartnerFull = 1 << 11
	GBSRRemoteOK    = 1 << 12
	GBSRLocalOK     = 1 << 13
	GBSRFault       = 1 << 15 // no agreement on master and slave

	ESR1000THalf = 1 << 12
	ESR1000TFull = 1 << 13
)

// MMDC. The device is in the low five bits.
const (
	MMDAddress = 0 << 14
	MMDData    = 1 << 14
)

// Clause 45 devices (MMDs).
const (
	DevPMA = 1
	DevPCS = 3
	DevAN  = 7
)

// Clause 45 registers that PMA, PCS and AN devices have at the same place.
const (
	Control1 = 0
	Status1  = 1
	ID1      = 2
	ID2      = 3
	Devices1 = 5 // devices in the package 0 to 15, a bit each
	Devices2 = 6
)

// Control1 and Status1.
const (
	Control1Reset    = 1 << 15
	Control1LowPower = 1 << 11 // PMA, PCS
	ANControl1Enable = 1 << 12
	ANControl1Again  = 1 << 9

	Status1Link       = 1 << 2 // latched low, as in BMSR
	Status1LowPower   = 1 << 1 // PMA, PCS: can be powered down
	ANStatus1Done     = 1 << 5
	ANStatus1Able     = 1 << 3
	ANStatus1LinkMate = 1 << 0 // the partner negotiates
)

// Devices1.
const (
	HasClause22 = 1 << 0
	HasPMA      = 1 << DevPMA
	HasPCS      = 1 << DevPCS
	HasAN       = 1 << DevAN
)

// Abilities of the PMA.
const (
	PMAExtAbility = 11 // 45.2.1.10
	PMAExt10G     = 1 << 2
	PMAExt1000    = 1 << 5
	PMAExt100     = 1 << 7
	PMAExt10      = 1 << 8
	PMAExtMulti   = 1 << 14 // PMAMultiAbility is there

	PMAMultiAbility = 21 // 45.2.1.20
	PMAMulti2500    = 1 << 0
	PMAMulti5000    = 1 << 1
)

// Auto-negotiation of clause 45, and energy-efficient Ethernet.
const (
	ANAdvertise = 16 // as ANAR
	ANPartner   = 19 // as ANLPAR

	MGBTControl     = 32 // MultiGBASE-T control (45.2.7.10)
	MGBTControl2500 = 1 << 7
	MGBTControl5000 = 1 << 8
	MGBTControl10G  = 1 << 12
	MGBTStatus      = 33 // 45.2.7.11
	MGBTStatus2500  = 1 << 5
	MGBTStatus5000  = 1 << 6
	MGBTStatus10G   = 1 << 11
	PCSEEEAbility   = 20 // 45.2.3.9
	EEEAdvertise    = 60 // 45.2.7.13
	EEE100          = 1 << 1
	EEE1000         = 1 << 2
)

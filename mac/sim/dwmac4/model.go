// Package dwmac4 is a register-level model of the Synopsys DesignWare Ethernet
// QoS cores (GMAC4 and GMAC5, versions 4.00 to 5.30): MAC, MTL, DMA, MMC and
// MDIO with a PHY behind it.
//
// The model takes what the registers say and nothing else. Where the manual
// leaves hardware free it is hostile (see package eqos, which has the DMA channels
// and the MTL). Things that a driver must never do are kept as Violations.
//
// Left out are timestamps, EEE and wake-up, split headers, VLAN insertion,
// layer 3 and 4 filters, the early interrupts (ETI, ERI), and the safety and
// scheduling extensions: the feature registers say so, and the registers behind
// them only hold what is written.
package dwmac4

import (
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
	"github.com/barewire/barewire/mac/sim/internal/eqos"
)

// Model is one core. Its methods may be called from any goroutine.
type Model struct {
	eqos.Core
	chip *chip
}

// chip is the registers, and the MAC in front of the engines of package eqos.
type chip struct {
	eqos.Engine
	cfg   Config
	facts gmac4.Facts
	mmc   dwmac.MMC
}

// Stats are counts of the model's own, for tests.
type Stats = eqos.Stats

var (
	_ sim.Model = (*Model)(nil)
	_ eqos.MAC  = (*chip)(nil)
)

// New returns a core that has just been powered on, with the link up at 1 Gbit/s.
func New(cfg Config) *Model {
	cfg = cfg.withDefaults()
	m := &chip{cfg: cfg}
	m.facts, _ = gmac4.FactsFor(uint32(cfg.Version))
	m.mmc.Absent, m.mmc.Changed = cfg.NoMMC, func() {
		m.Line.Mu.Lock()
		m.UpdateLine()
		m.Line.Mu.Unlock()
	}
	m.Init(eqos.Config{
		Channels: cfg.Queues, RXQueues: cfg.Queues, RXFIFO: cfg.RXFIFO,
		PerfectSlots: cfg.PerfectSlots, HashBins: cfg.HashBins, AddressBits: cfg.AddressBits,
		NoTXChecksum: cfg.NoTXChecksum, NoTSO: cfg.NoTSO,
		ClockHz: cfg.ClockHz, Clock: cfg.Clock, SlowReset: cfg.SlowReset, Seed: cfg.Seed,
		Inline: cfg.Inline, JunkLengths: cfg.JunkLengths, CheckArmed: cfg.CheckArmed,
	}, m.places(), m, mac.Link{Up: true, Speed: 1000, FullDuplex: true})
	m.InitMDIO(gmac4.MDIOGB, transfer, cfg.PHYAddress, cfg.PHY)
	m.PowerOn(cfg.MACAddress)
	return &Model{m.Core(), m}
}

// places is where this core has what the engines need.
func (m *chip) places() eqos.Map {
	at := eqos.Map{
		Window:  gmac4.WindowSize,
		Channel: gmac4.ChanBase, Queue: gmac4.QueueBase,
		ChanTxTail: gmac4.ChanTxTail, ChanRxTail: gmac4.ChanRxTail,
		ChanTxRingLen: gmac4.ChanTxRingLen, ChanRxRingLen: gmac4.ChanRxRingLen,
		ChanIntEnable: gmac4.ChanIntEnable, ChanRxWatchdog: gmac4.ChanRxWatchdog, ChanMissed: gmac4.ChanMissed,
		RxQOpMode: gmac4.RxQOpMode, RxQMissed: gmac4.RxQMissed, RxQDebug: gmac4.RxQDebug,
		Flow: gmac4.RxQOpMode, QIntStatus: gmac4.QInt,
		SysBus: gmac4.DMASysBus, Mode: gmac4.DMAMode, Debug: gmac4.DebugState,
		RingLen: gmac4.RingLenMask, Watchdog: gmac4.WatchdogRWT | gmac4.WatchdogRWTU,
		RPF: gmac4.RxControlRPF, ControlMSS: gmac4.ControlMSS, RQS: gmac4.RxQOpRQS, TQS: gmac4.TxQOpTQS,
		RFA: gmac4.RxQOpRFA, RFD: gmac4.RxQOpRFD, PL: gmac4.RDES3PL, INTM: gmac4.DMAModeINTM,
		NIE: m.facts.IntNIE, AIE: m.facts.IntAIE,
		TxFlows: gmac4.MaxQueues,
	}
	if m.cfg.Version < 0x41 {
		at.Watchdog = gmac4.WatchdogRWT
	}
	return at
}

// Compatible implements sim.Device.
func (m *Model) Compatible() []string {
	name := "snps,dwmac-" + gmac4.VersionName(uint32(m.chip.cfg.Version))
	if v := m.chip.cfg.Version; v != 0x40 && v != 0x52 {
		name += "a" // the device-tree names have it, but for these two
	}
	return []string{name, "snps,dwmac"}
}

// LinkChanged implements eqos.MAC.
func (m *chip) LinkChanged() {
	if m.cfg.InBandLink {
		m.Line.Mu.Lock()
		m.setInBand()
		m.Line.Mu.Unlock()
		m.Or(gmac4.MACIntStatus, gmac4.MACIntRGSMII)
	}
}

// setInBand puts the link into MAC_PHYIF_Control_Status.
func (m *chip) setInBand() {
	l, v := m.Link(), uint32(0)
	if l.Up {
		v |= gmac4.PHYIFLink
		switch l.Speed {
		case 10:
		case 100:
			v |= field.Put(gmac4.PHYIFSpeed, gmac4.PHYIFSpeed100)
		default:
			v |= field.Put(gmac4.PHYIFSpeed, gmac4.PHYIFSpeed1000)
		}
		if l.FullDuplex {
			v |= gmac4.PHYIFDuplex
		}
	}
	m.Store(gmac4.MACPHYIF, m.Load(gmac4.MACPHYIF)&0xffff|v)
}

// Speed implements eqos.MAC.
func (m *chip) Speed() int {
	switch m.Load(gmac4.MACConfig) & (gmac4.ConfigPS | gmac4.ConfigFES) {
	case gmac4.ConfigPS | gmac4.ConfigFES:
		return 100
	case gmac4.ConfigPS:
		return 10
	case gmac4.ConfigFES:
		return 2500
	}
	return 1000
}

// Transmitting implements eqos.MAC.
func (m *chip) Transmitting() bool { return m.Load(gmac4.MACConfig)&gmac4.ConfigTE != 0 }

// Loopback implements eqos.MAC.
func (m *chip) Loopback() bool { return m.Load(gmac4.MACConfig)&gmac4.ConfigLM != 0 }

// Count implements dwmac.Counters.
func (m *chip) Count(counter uint32, n int) { m.mmc.Count(counter, n) }

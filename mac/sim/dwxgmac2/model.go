// Package dwxgmac2 is a register-level model of the Synopsys DesignWare XGMAC cores
// (versions 2.00 to 3.x): MAC, RSS, MTL, DMA, 64-bit MMC and MDIO with a PHY behind
// it.
//
// The model takes what the registers say and nothing else. Where the manual leaves
// hardware free it is hostile (see package eqos, which has the DMA channels and the
// MTL). Things that a driver must never do are kept as Violations.
//
// Left out are time stamps but for the contexts that bring them, EEE and wake-up,
// split headers, VLAN insertion, tunnels, priority flow control, layer 3 and 4
// filters, and the safety and scheduling extensions: the feature registers say so,
// and the registers behind them only hold what is written.
package dwxgmac2

import (
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/xgmac2"
	"github.com/barewire/barewire/mac/sim"
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
	facts xgmac2.Facts
	mmc   mmc
	rss   rss
}

// Stats are counts of the model's own, for tests.
type Stats = eqos.Stats

var (
	_ sim.Model = (*Model)(nil)
	_ eqos.MAC  = (*chip)(nil)
)

// New returns a core that has just been powered on, with its link up.
func New(cfg Config) *Model {
	cfg = cfg.withDefaults()
	m := &chip{cfg: cfg}
	m.facts, _ = xgmac2.FactsFor(m.version())
	m.mmc.absent, m.mmc.changed = cfg.NoMMC, func() {
		m.Line.Mu.Lock()
		m.UpdateLine()
		m.Line.Mu.Unlock()
	}
	m.Init(eqos.Config{
		Channels: cfg.Queues, RXQueues: cfg.RXQueues, RXFIFO: cfg.RXFIFO,
		PerfectSlots: cfg.PerfectSlots, HashBins: cfg.HashBins, AddressBits: cfg.AddressBits,
		NoTXChecksum: cfg.NoTXChecksum, NoTSO: cfg.NoTSO,
		ClockHz: cfg.ClockHz, Clock: cfg.Clock, SlowReset: cfg.SlowReset, Seed: cfg.Seed,
		Inline: cfg.Inline, JunkLengths: cfg.JunkLengths, CheckArmed: cfg.CheckArmed, LateContexts: cfg.LateContexts,
	}, m.places(), m, cfg.Link)
	m.InitMDIO(xgmac2.MDIOBusy, m.transfer, cfg.PHYAddress, cfg.PHY)
	m.PowerOn(cfg.MACAddress)
	return &Model{m.Core(), m}
}

// version is MAC_Version.
func (m *chip) version() uint32 {
	return field.Put(xgmac2.VersionDevice, xgmac2.DeviceXGMAC) | uint32(m.cfg.Version)
}

// places is where this core has what the engines need.
func (m *chip) places() eqos.Map {
	return eqos.Map{
		Window:  xgmac2.WindowSize,
		Channel: xgmac2.ChanBase, Queue: xgmac2.QueueBase,
		ChanTxTail: xgmac2.ChanTxTail, ChanRxTail: xgmac2.ChanRxTail,
		ChanTxRingLen: xgmac2.ChanTxRingLen, ChanRxRingLen: xgmac2.ChanRxRingLen,
		ChanIntEnable: xgmac2.ChanIntEnable, ChanRxWatchdog: xgmac2.ChanRxWatchdog,
		RxQOpMode: xgmac2.RxQOpMode, RxQMissed: xgmac2.RxQMissed, RxQDebug: xgmac2.RxQDebug,
		Flow: xgmac2.RxQFlow, QIntStatus: xgmac2.QIntStatus,
		SysBus: xgmac2.DMASysBus, Mode: xgmac2.DMAMode, Debug: xgmac2.DebugState,
		RingLen: xgmac2.RingLenMask, Watchdog: xgmac2.WatchdogRWT,
		RQS: xgmac2.RxQOpRQS, TQS: xgmac2.TxQOpTQS,
		RFA: xgmac2.RxQFlowRFA, RFD: xgmac2.RxQFlowRFD, PL: xgmac2.RDES3PL, INTM: xgmac2.DMAModeINTM,
		NIE: m.facts.IntNIE, AIE: m.facts.IntAIE,
		TxFlows: xgmac2.MaxTxFlow,
	}
}

// Compatible implements sim.Device.
func (m *Model) Compatible() []string {
	return []string{"snps,dwxgmac-" + xgmac2.VersionName(uint32(m.chip.cfg.Version)), "snps,dwxgmac"}
}

// LinkChanged implements eqos.MAC. The core knows of faults on the XGMII, and not
// what link its PHY has.
func (m *chip) LinkChanged() {}

// Speed implements eqos.MAC.
func (m *chip) Speed() int {
	return xgmac2.SpeedOf(field.Get(xgmac2.TxConfigSS, m.Load(xgmac2.MACTxConfig)))
}

// Transmitting implements eqos.MAC.
func (m *chip) Transmitting() bool { return m.Load(xgmac2.MACTxConfig)&xgmac2.TxConfigTE != 0 }

// Loopback implements eqos.MAC.
func (m *chip) Loopback() bool { return m.Load(xgmac2.MACRxConfig)&xgmac2.RxConfigLM != 0 }

// Count implements dwmac.Counters.
func (m *chip) Count(counter uint32, n int) { m.mmc.count(counter, n) }

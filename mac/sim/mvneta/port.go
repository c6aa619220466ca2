package mvneta

import (
	"github.com/barewire/barewire/mac/internal/neta"
	"github.com/barewire/barewire/mac/sim"
)

// up reports whether the MAC believes in a link.
func (m *Model) up() bool {
	an := m.load(neta.AN)
	switch {
	case m.load(neta.GMAC0)&neta.GMAC0Enable == 0 || m.reset.busy || an&neta.ANForceDown != 0:
		return false
	case an&neta.ANForceUp != 0:
		return true
	}
	return an&neta.ANInBand != 0 && m.link.Up
}

// speed is what the MAC is set to, or has negotiated.
func (m *Model) speed() int {
	an := m.load(neta.AN)
	switch {
	case an&neta.ANInBand != 0 && an&neta.ANSpeed != 0 && an&neta.ANForceUp == 0:
		return m.link.Speed
	case an&neta.ANGMII != 0 && m.load(neta.GMAC4)&neta.GMAC4Short != 0:
		return 2500
	case an&neta.ANGMII != 0:
		return 1000
	case an&neta.ANMII != 0:
		return 100
	}
	return 10
}

// onWire reports whether the link carries frames.
func (m *Model) onWire() bool { return m.link.Up && m.up() && m.speed() == m.link.Speed }

// pauses reports whether pause frames are obeyed and sent.
func (m *Model) pauses() bool {
	an := m.load(neta.AN)
	return an&neta.ANFlow != 0 || an&neta.ANFlowAuto != 0 && an&neta.ANInBand != 0 && m.link.RXPause && m.link.TXPause
}

// gmacStatus is GMAC_Status.
func (m *Model) gmacStatus() (v uint32) {
	if !m.up() {
		return 0
	}
	v = neta.StatLink | neta.StatSync
	switch m.speed() {
	case 1000, 2500:
		v |= neta.Stat1000
	case 100:
		v |= neta.Stat100
	}
	an := m.load(neta.AN)
	if an&neta.ANInBand != 0 {
		v |= neta.StatANDone
	}
	if an&neta.ANFull != 0 || an&neta.ANInBand != 0 && an&neta.ANDuplexAuto != 0 && m.link.FullDuplex {
		v |= neta.StatFull
	}
	if an&neta.ANFlowAuto != 0 && m.link.RXPause && m.link.TXPause {
		v |= neta.StatRXFlow | neta.StatTXFlow
	}
	return v
}

// flap takes the link down for a millisecond.
func (m *Model) flap() {
	m.mu.Lock()
	up := m.link
	m.mu.Unlock()
	sim.FlapLink(m.clock, up, m.SetLink)
}

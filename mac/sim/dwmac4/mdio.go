package dwmac4

import (
	"sync"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/gmac4"
)

// mdio is the station management port and the PHY behind it.
//
// A transfer is busy until MAC_MDIO_Address has been read once, so that a driver
// must poll; its data are there only then.
type mdio struct {
	mu         sync.Mutex
	addr, data uint32
	busy       bool
	result     uint32
	reg        [32]uint16
	mmd        map[uint32]uint16 // device<<16 | register
	mmdControl uint16
	mmdAddr    uint16
	link       mac.Link
	downOnce   bool // BMSR latches a lost link until read
}

// Registers of IEEE 802.3 clause 22.
const (
	phyBMCR   = 0
	phyBMSR   = 1
	phyID1    = 2
	phyID2    = 3
	phyANAR   = 4
	phyANLPAR = 5
	phyANER   = 6
	phyGBCR   = 9
	phyGBSR   = 10
	phyMMDCtl = 13
	phyMMDDat = 14
	phyESR    = 15

	bmcrReset     = 1 << 15
	bmcrANEnable  = 1 << 12
	bmcrPowerDown = 1 << 11
	bmcrANRestart = 1 << 9

	bmsrAbilities = 0x7949 // 10 and 100 half and full, extended status, AN able
	bmsrANDone    = 1 << 5
	bmsrLink      = 1 << 2
)

func (p *mdio) init() {
	p.mmd = make(map[uint32]uint16)
	p.link = mac.Link{Up: true, Speed: 1000, FullDuplex: true}
	p.resetPHY()
}

func (p *mdio) resetPHY() {
	p.reg = [32]uint16{phyBMCR: bmcrANEnable | 0x0140, phyANAR: 0x01e1, phyANER: 0xf, phyGBCR: 0x0300, phyESR: 0x3000}
	clear(p.mmd)
}

func (p *mdio) linkChanged(l mac.Link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.downOnce = p.downOnce || p.link.Up && !l.Up
	p.link = l
}

// mdioStart is a write to MAC_MDIO_Address.
func (m *Model) mdioStart(v uint32) {
	p := &m.mdio
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy {
		m.bad.Record("MAC_MDIO_Address written with %#x while a transfer is busy", v)
		return
	}
	p.addr = v &^ gmac4.MDIOGB
	if v&gmac4.MDIOGB == 0 {
		return
	}
	p.busy, p.result = true, p.data
	dev, here := gmac4.Get(gmac4.MDIORDA, v), int(gmac4.Get(gmac4.MDIOPA, v)) == m.cfg.PHYAddress
	c45 := v&gmac4.MDIOC45E != 0
	at := dev<<16 | gmac4.Get(gmac4.MDIODataRA, p.data)
	switch op := gmac4.Get(gmac4.MDIOGOC, v); {
	case op == gmac4.MDIOWrite && here && c45:
		p.mmd[at] = uint16(p.data)
	case op == gmac4.MDIOWrite && here:
		p.write22(int(dev), uint16(p.data))
	case op == gmac4.MDIOWrite:
	case !here:
		p.result = 0xffff
	case c45:
		p.result = uint32(p.read45(at))
	default:
		p.result = uint32(p.read22(int(dev), m.cfg.PHYID))
	}
}

func (p *mdio) readAddr() uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy {
		p.busy, p.data = false, p.result
		return p.addr | gmac4.MDIOGB
	}
	return p.addr
}

func (p *mdio) readData() uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.data
}

func (p *mdio) writeData(v uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.data = v
}

// up reports a link that is up and not powered down.
func (p *mdio) up() bool { return p.link.Up && p.reg[phyBMCR]&bmcrPowerDown == 0 }

func (p *mdio) read22(reg int, id uint32) uint16 {
	switch reg {
	case phyBMSR:
		v := uint16(bmsrAbilities)
		if p.up() {
			v |= bmsrANDone
			if !p.downOnce {
				v |= bmsrLink
			}
		}
		p.downOnce = false
		return v
	case phyID1:
		return uint16(id >> 16)
	case phyID2:
		return uint16(id)
	case phyANLPAR:
		return p.partner()
	case phyGBSR:
		switch {
		case !p.up() || p.link.Speed < 1000:
			return 0
		case p.link.FullDuplex:
			return 0x3800 // receivers good, partner can 1000 full
		default:
			return 0x3400
		}
	case phyMMDDat:
		if p.mmdControl>>14 == 0 {
			return p.mmdAddr
		}
		return p.read45(uint32(p.mmdControl&31)<<16 | uint32(p.mmdAddr))
	}
	return p.reg[reg&31]
}

// partner is what the link partner advertises: just what the link has become.
func (p *mdio) partner() uint16 {
	if !p.up() {
		return 0
	}
	v := uint16(0x4001)
	switch {
	case p.link.Speed >= 100 && p.link.FullDuplex:
		v |= 0x0100
	case p.link.Speed >= 100:
		v |= 0x0080
	case p.link.FullDuplex:
		v |= 0x0040
	default:
		v |= 0x0020
	}
	switch {
	case p.link.RXPause && p.link.TXPause:
		v |= 0x0400
	case p.link.TXPause:
		v |= 0x0c00
	case p.link.RXPause:
		v |= 0x0800
	}
	return v
}

func (p *mdio) write22(reg int, v uint16) {
	switch reg {
	case phyBMCR:
		if v&bmcrReset != 0 {
			p.resetPHY()
			return
		}
		p.reg[phyBMCR] = v &^ bmcrANRestart
	case phyBMSR, phyID1, phyID2, phyANLPAR, phyANER, phyGBSR, phyESR:
	case phyMMDCtl:
		p.mmdControl = v
	case phyMMDDat:
		if p.mmdControl>>14 == 0 {
			p.mmdAddr = v
		} else {
			p.mmd[uint32(p.mmdControl&31)<<16|uint32(p.mmdAddr)] = v
		}
	default:
		p.reg[reg&31] = v
	}
}

// read45 knows the devices PMA, PCS and AN, whose registers hold what is written.
func (p *mdio) read45(at uint32) uint16 {
	switch at >> 16 {
	case 1, 3, 7, 30, 31:
		return p.mmd[at]
	}
	return 0xffff
}

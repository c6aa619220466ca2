// Package phy is a PHY as seen through MDIO: the registers of IEEE 802.3 clause
// 22, and those of clause 45 that hold what is written. What it says about link
// and partner follows the wire that the model is plugged into.
package phy

import (
	"sync"

	"github.com/barewire/barewire/mac"
)

// PHY is one PHY. Its methods may be called from any goroutine.
type PHY struct {
	id uint32

	mu         sync.Mutex
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

// New returns a PHY that reads id in registers 2 and 3, with the link up at 1
// Gbit/s.
func New(id uint32) *PHY {
	p := &PHY{id: id, mmd: make(map[uint32]uint16), link: mac.Link{Up: true, Speed: 1000, FullDuplex: true}}
	p.reset()
	return p
}

func (p *PHY) reset() {
	p.reg = [32]uint16{phyBMCR: bmcrANEnable | 0x0140, phyANAR: 0x01e1, phyANER: 0xf, phyGBCR: 0x0300, phyESR: 0x3000}
	clear(p.mmd)
}

// SetLink changes the link.
func (p *PHY) SetLink(l mac.Link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.downOnce = p.downOnce || p.link.Up && !l.Up
	p.link = l
}

// Read reads register reg, 0 to 31.
func (p *PHY) Read(reg int) uint16 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.read22(reg)
}

// Write writes register reg, 0 to 31.
func (p *PHY) Write(reg int, v uint16) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.write22(reg, v)
}

// Read45 reads register reg of device dev.
func (p *PHY) Read45(dev int, reg uint16) uint16 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.read45(uint32(dev)<<16 | uint32(reg))
}

// Write45 writes register reg of device dev.
func (p *PHY) Write45(dev int, reg, v uint16) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mmd[uint32(dev)<<16|uint32(reg)] = v
}

// up reports a link that is up and not powered down.
func (p *PHY) up() bool { return p.link.Up && p.reg[phyBMCR]&bmcrPowerDown == 0 }

func (p *PHY) read22(reg int) uint16 {
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
		return uint16(p.id >> 16)
	case phyID2:
		return uint16(p.id)
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
func (p *PHY) partner() uint16 {
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

func (p *PHY) write22(reg int, v uint16) {
	switch reg {
	case phyBMCR:
		if v&bmcrReset != 0 {
			p.reset()
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
func (p *PHY) read45(at uint32) uint16 {
	switch at >> 16 {
	case 1, 3, 7, 30, 31:
		return p.mmd[at]
	}
	return 0xffff
}

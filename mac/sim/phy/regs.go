package phy

import "github.com/barewire/barewire/mac/internal/mii"

// Read is a clause 22 read of register reg, 0 to 31.
func (p *PHY) Read(reg int) uint16 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cfg.NoClause22 || reg < 0 || reg > 31 {
		return 0xffff
	}
	if p.resetting {
		return p.reg[mii.BMCR] & mii.BMCRReset // what the others read is not defined
	}
	switch reg {
	case mii.BMSR:
		return p.bmsr()
	case mii.PHYID1:
		return uint16(p.cfg.ID >> 16)
	case mii.PHYID2:
		return uint16(p.cfg.ID)
	case mii.ANLPAR:
		return p.partnerAbility()
	case mii.ANER:
		v := uint16(mii.ANERNextPage)
		if p.done && !p.parallel {
			v |= mii.ANERPartnerAble | mii.ANERPage | mii.ANERPartnerNext
		}
		return v
	case mii.GBSR:
		if !p.done || p.parallel {
			return 0
		}
		v := pick(p.partner.Modes, Mode1000Half, mii.GBSRPartnerHalf) | pick(p.partner.Modes, Mode1000Full, mii.GBSRPartnerFull)
		if p.speed == 1000 {
			v |= mii.GBSRLocalOK | mii.GBSRRemoteOK
		}
		return v
	case mii.MMDC, mii.MMDD:
		return p.readIndirect(reg)
	}
	return p.reg[reg]
}

func (p *PHY) bmsr() uint16 {
	m := p.cfg.Modes
	v := uint16(mii.BMSRANAble|mii.BMSRExtCap|1<<6) | // preambles may be left out
		pick(m, Mode10Half, mii.BMSR10Half) | pick(m, Mode10Full, mii.BMSR10Full) |
		pick(m, Mode100Half, mii.BMSR100Half) | pick(m, Mode100Full, mii.BMSR100Full)
	if m&^UpTo100 != 0 {
		v |= mii.BMSRExtended
	}
	if p.done {
		v |= mii.BMSRANDone
	}
	return v | p.status(lostBMSR, mii.BMSRLink)
}

// Write is a clause 22 write.
func (p *PHY) Write(reg int, v uint16) {
	if p.cfg.NoClause22 {
		return
	}
	p.change(func() { p.write(reg, v) })
}

func (p *PHY) write(reg int, v uint16) {
	if p.resetting {
		return
	}
	switch reg {
	case mii.BMCR:
		p.writeControl(v)
	case mii.BMSR, mii.PHYID1, mii.PHYID2, mii.ANLPAR, mii.ANER, mii.GBSR, mii.ESR:
	case mii.MMDC, mii.MMDD:
		p.writeIndirect(reg, v)
	default:
		if reg >= 0 && reg < len(p.reg) {
			p.reg[reg] = v
		}
	}
}

// writeControl is a write to BMCR. What begins a new attempt at a link is a
// restart, and a change of what decides it.
func (p *PHY) writeControl(v uint16) {
	if v&mii.BMCRReset != 0 {
		p.reset()
		if p.resetting {
			p.reg[mii.BMCR] |= mii.BMCRReset
		}
		return
	}
	old := p.reg[mii.BMCR]
	p.reg[mii.BMCR] = v &^ (mii.BMCRANRestart | 0x3f)
	const decides = mii.BMCRANEnable | mii.BMCRPowerDown
	const forced = mii.BMCRSpeed100 | mii.BMCRSpeed1000 | mii.BMCRFull
	switch {
	case (old^v)&decides != 0, v&mii.BMCRANEnable != 0 && v&mii.BMCRANRestart != 0, v&mii.BMCRANEnable == 0 && (old^v)&forced != 0:
		p.restart()
	}
}

func (p *PHY) readIndirect(reg int) uint16 {
	switch {
	case p.cfg.NoMMD:
		return 0
	case reg == mii.MMDC:
		return p.reg[mii.MMDC]
	case p.reg[mii.MMDC]>>14 == 0:
		return p.reg[mii.MMDD] // the address
	}
	return p.read45(int(p.reg[mii.MMDC]&31), p.reg[mii.MMDD])
}

func (p *PHY) writeIndirect(reg int, v uint16) {
	switch {
	case p.cfg.NoMMD:
	case reg == mii.MMDC || p.reg[mii.MMDC]>>14 == 0:
		p.reg[reg] = v
	default:
		p.write45(int(p.reg[mii.MMDC]&31), p.reg[mii.MMDD], v)
	}
}

// Read45 is a clause 45 read of register reg of device dev.
func (p *PHY) Read45(dev int, reg uint16) uint16 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cfg.NoMMD {
		return 0xffff
	}
	return p.read45(dev, reg)
}

// Write45 is a clause 45 write.
func (p *PHY) Write45(dev int, reg, v uint16) {
	if !p.cfg.NoMMD {
		p.change(func() { p.write45(dev, reg, v) })
	}
}

func (p *PHY) read45(dev int, reg uint16) uint16 {
	if dev != mii.DevPMA && dev != mii.DevPCS && dev != mii.DevAN {
		return 0xffff
	}
	if p.resetting && reg != mii.Control1 {
		return 0
	}
	m := p.cfg.Modes
	switch reg {
	case mii.ID1:
		return uint16(p.cfg.ID >> 16)
	case mii.ID2:
		return uint16(p.cfg.ID)
	case mii.Devices1:
		v := uint16(mii.HasPMA | mii.HasPCS | mii.HasAN)
		if !p.cfg.NoClause22 {
			v |= mii.HasClause22
		}
		return v
	case mii.Devices2:
		return 0
	case mii.Control1:
		return p.control1(dev)
	case mii.Status1:
		return p.status1(dev)
	}
	switch at := uint32(dev)<<16 | uint32(reg); at {
	case mii.DevPMA<<16 | mii.PMAExtAbility:
		v := pick(m, Mode10Half|Mode10Full, mii.PMAExt10) | pick(m, Mode100Half|Mode100Full, mii.PMAExt100) |
			pick(m, Mode1000Half|Mode1000Full, mii.PMAExt1000) | pick(m, Mode10000, mii.PMAExt10G)
		return v | pick(m, Mode2500|Mode5000, mii.PMAExtMulti)
	case mii.DevPMA<<16 | mii.PMAMultiAbility:
		return pick(m, Mode2500, mii.PMAMulti2500) | pick(m, Mode5000, mii.PMAMulti5000)
	case mii.DevPCS<<16 | mii.PCSEEEAbility:
		if p.cfg.EEE {
			return mii.EEE100 | mii.EEE1000
		}
		return 0
	case mii.DevAN<<16 | mii.ANAdvertise:
		return p.reg[mii.ANAR]
	case mii.DevAN<<16 | mii.ANPartner:
		return p.partnerAbility()
	case mii.DevAN<<16 | mii.MGBTStatus:
		if !p.done || p.parallel {
			return 0
		}
		o := p.partner.Modes
		return pick(o, Mode2500, mii.MGBTStatus2500) | pick(o, Mode5000, mii.MGBTStatus5000) | pick(o, Mode10000, mii.MGBTStatus10G)
	default:
		return p.mmd[at]
	}
}

func (p *PHY) control1(dev int) uint16 {
	var v uint16
	if p.resetting {
		v |= mii.Control1Reset
	}
	if dev == mii.DevAN {
		return v | p.reg[mii.BMCR]&mii.BMCRANEnable // the same bit
	}
	return v | p.reg[mii.BMCR]&mii.BMCRPowerDown // the same bit
}

func (p *PHY) status1(dev int) uint16 {
	switch dev {
	case mii.DevPMA:
		return mii.Status1LowPower | p.status(lostPMA, mii.Status1Link)
	case mii.DevPCS:
		return mii.Status1LowPower | p.status(lostPCS, mii.Status1Link)
	}
	v := mii.ANStatus1Able | p.status(lostAN, mii.Status1Link)
	if p.done {
		v |= mii.ANStatus1Done
		if !p.parallel {
			v |= mii.ANStatus1LinkMate
		}
	}
	return v
}

func (p *PHY) write45(dev int, reg, v uint16) {
	if p.resetting {
		return
	}
	at := uint32(dev)<<16 | uint32(reg)
	switch {
	case reg == mii.Control1 && v&mii.Control1Reset != 0:
		p.writeControl(mii.BMCRReset)
	case at == mii.DevAN<<16|mii.Control1:
		p.writeControl(p.reg[mii.BMCR]&^mii.BMCRANEnable | v&(mii.ANControl1Enable|mii.ANControl1Again))
	case at == mii.DevPMA<<16|mii.Control1:
		p.writeControl(p.reg[mii.BMCR]&^mii.BMCRPowerDown | v&mii.Control1LowPower)
	case at == mii.DevAN<<16|mii.ANAdvertise:
		p.reg[mii.ANAR] = v
	case reg == mii.Control1, reg == mii.Status1, at == mii.DevAN<<16|mii.ANPartner, at == mii.DevAN<<16|mii.MGBTStatus:
	default:
		p.mmd[at] = v
	}
}

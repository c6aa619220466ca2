package ravb

import (
	"fmt"
	"sync"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/etheravb"
	"github.com/barewire/barewire/mac/internal/field"
)

// mdioBus is the PHY management interface: three pins in PIR that software moves
// (IEEE 802.3, 22.2.4 and 45.3). mu is held for a whole frame.
type mdioBus struct {
	regs mac.Registers
	mu   sync.Mutex
}

// halfPeriod keeps MDC below 2.5 MHz. The clock need not be regular, so that
// being off the CPU in a frame does no harm.
const halfPeriod = 200 * time.Nanosecond

// Frames begin with a start of frame and an operation of two bits each.
const (
	start22   = 1
	start45   = 0
	opWrite   = 1
	opRead    = 2
	opAddress = 0
	opRead45  = 3

	turnaround = 2
)

// edge moves the pins and lets half a period pass. The read brings a posted write to
// the pins first.
func (m *mdioBus) edge(pins uint32) {
	m.regs.Write32(etheravb.PIR, pins)
	m.regs.Read32(etheravb.PIR)
	// A clock that stands still must not hold this up: a look at it takes time, too.
	for i, begin := 0, time.Now(); i < 16 && time.Since(begin) < halfPeriod; i++ {
	}
}

// send clocks out the n low bits of v, most significant first.
func (m *mdioBus) send(v uint32, n int) {
	for i := n - 1; i >= 0; i-- {
		pins := etheravb.PIRMMD | field.Put(etheravb.PIRMDO, v>>i&1)
		m.edge(pins)
		m.edge(pins | etheravb.PIRMDC)
	}
}

// receive clocks in n bits. The PHY changes MDIO after a rising edge of MDC, and it
// is sampled before the next.
func (m *mdioBus) receive(n int) (v uint32) {
	for range n {
		m.edge(0)
		v = v<<1 | field.Get(etheravb.PIRMDI, m.regs.Read32(etheravb.PIR))
		m.edge(etheravb.PIRMDC)
	}
	return v
}

// frame does one frame: preamble, start, operation, two addresses and, behind the
// turnaround, 16 bits of data in either direction.
func (m *mdioBus) frame(start, op uint32, phy, reg int, data uint16, read bool) uint16 {
	m.send(0xFFFFFFFF, 32)
	m.send(start<<12|op<<10|uint32(phy)<<5|uint32(reg), 14)
	if read {
		m.receive(2)
		data = uint16(m.receive(16))
	} else {
		m.send(turnaround<<16|uint32(data), 18)
	}
	m.edge(0) // let go of MDIO
	return data
}

// access checks the addresses and runs f, which does the frames.
func (m *mdioBus) access(phy, reg int, f func() uint16) (uint16, error) {
	if phy < 0 || phy > 31 || reg < 0 || reg > 31 {
		return 0, fmt.Errorf("ravb: MDIO PHY %d, register or device %d: both go from 0 to 31: %w", phy, reg, mac.ErrConfig)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.regs.Read32(etheravb.CSR)&etheravb.CSROPS == 1<<etheravb.OPCReset {
		return 0, fmt.Errorf("ravb: MDIO PHY %d register %d: the core is in RESET, where its pins stand still: open the device first", phy, reg)
	}
	return f(), nil
}

// Read implements mac.MDIO.Read.
func (m *mdioBus) Read(phy, reg int) (uint16, error) {
	return m.access(phy, reg, func() uint16 { return m.frame(start22, opRead, phy, reg, 0, true) })
}

// Write implements mac.MDIO.Write.
func (m *mdioBus) Write(phy, reg int, v uint16) error {
	_, err := m.access(phy, reg, func() uint16 { return m.frame(start22, opWrite, phy, reg, v, false) })
	return err
}

// Read45 implements mac.MDIO.Read45.
func (m *mdioBus) Read45(phy, dev int, reg uint16) (uint16, error) {
	return m.access(phy, dev, func() uint16 {
		m.frame(start45, opAddress, phy, dev, reg, false)
		return m.frame(start45, opRead45, phy, dev, 0, true)
	})
}

// Write45 implements mac.MDIO.Write45.
func (m *mdioBus) Write45(phy, dev int, reg uint16, v uint16) error {
	_, err := m.access(phy, dev, func() uint16 {
		m.frame(start45, opAddress, phy, dev, reg, false)
		return m.frame(start45, opWrite, phy, dev, v, false)
	})
	return err
}

package mvneta

import (
	"fmt"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/neta"
)

// manager is the SoC's buffer manager. The process has it to itself, or at least
// the pools that it uses.
type manager struct {
	regs, bppi mac.Registers
	first      int // pool of receive queue 0
}

func newManager(bus mac.Bus, first int) (*manager, error) {
	if first < 0 || first >= neta.MaxPools {
		return nil, fmt.Errorf("mvneta: pool %d of the buffer manager: there are %d: %w", first, neta.MaxPools, mac.ErrConfig)
	}
	regs, err := bus.Registers(1)
	if err != nil {
		return nil, fmt.Errorf("mvneta: %s: registers of the buffer manager: %w", bus.Name(), err)
	}
	bppi, err := bus.Registers(2)
	if err != nil {
		return nil, fmt.Errorf("mvneta: %s: BPPI of the buffer manager: %w", bus.Name(), err)
	}
	return &manager{regs: regs, bppi: bppi, first: first}, nil
}

// queues is how many receive queues have a pool of their own.
func (m *manager) queues() int { return neta.MaxPools - m.first }

// start has the buffer manager hand out buffers, in bursts of 16 addresses. It
// has been stopped, or is another port's that has done the same.
func (m *manager) start() {
	m.regs.Write32(neta.BMMask, 0)
	m.regs.Write32(neta.BMCause, 0)
	v := m.regs.Read32(neta.BMConfig) &^ (neta.BMConfigBurst | neta.BMConfigEmpty)
	m.regs.Write32(neta.BMConfig, v|field.Put(neta.BMConfigBurst, neta.BMBurst16))
	m.regs.Write32(neta.BMCommand, neta.BMStart)
}

// pool is one pool of the buffer manager: a ring of buffer addresses in memory,
// and what of it is cached inside.
type pool struct {
	m     *manager
	index int
	ring  uint32 // device address of the ring
	slots int
}

// poolSlots is the length of a pool's ring that holds n buffers.
func poolSlots(n int) int {
	return (max(n, neta.MinPool) + neta.PoolStep - 1) / neta.PoolStep * neta.PoolStep
}

func (m *manager) newPool(q int, ring uint32, slots int) *pool {
	return &pool{m: m, index: m.first + q, ring: ring, slots: poolSlots(slots)}
}

// open points the pool at its ring, empty, in memory behind window w.
func (p *pool) open(w Window) {
	regs := p.m.regs
	regs.Write32(neta.BMPoolRead(p.index), 0)
	regs.Write32(neta.BMPoolWrite(p.index), 0)
	regs.Write32(neta.BMPoolSize(p.index), uint32(p.slots))
	regs.Write32(neta.BMPoolBase(p.index), p.ring)
	reg, target, attr := neta.BMXBar(p.index)
	v := regs.Read32(reg) &^ (target | attr)
	regs.Write32(reg, v|field.Put(target, uint32(w.Target))|field.Put(attr, uint32(w.Attr)))
	regs.Write32(neta.BMPoolBase(p.index), p.ring|neta.BMPoolEnable)
}

// put gives a buffer to the pool. Its address is all that is needed to know it
// again: the cookie that the port copies out of its first bytes is not used.
func (p *pool) put(addr uint32) { p.m.bppi.Write32(neta.BPPI(p.index), addr) }

// drain takes everything out of the pools of this port, wherever a crash left
// them, and closes them: what is cached inside would come out after the next start
// otherwise. The receive queues have been stopped.
//
// A read that finds nothing does not say that a pool is empty (Linux), so there are
// twice as many as it has slots.
func (m *manager) drain() {
	m.regs.Write32(neta.BMConfig, m.regs.Read32(neta.BMConfig)|neta.BMConfigEmpty)
	for p := m.first; p < neta.MaxPools; p++ {
		base := m.regs.Read32(neta.BMPoolBase(p))
		if base&neta.BMPoolEnable == 0 {
			continue
		}
		slots := int(m.regs.Read32(neta.BMPoolSize(p)) & neta.BMPoolSlots)
		for reads, got := 0, 0; reads < 2*slots && got < slots; reads++ {
			if m.bppi.Read32(neta.BPPI(p)) != 0 {
				got++
			}
		}
		m.regs.Write32(neta.BMPoolBase(p), base&^neta.BMPoolEnable)
	}
	m.regs.Write32(neta.BMConfig, m.regs.Read32(neta.BMConfig)&^neta.BMConfigEmpty)
}

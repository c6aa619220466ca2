package dwmac

import (
	"sync"

	"github.com/barewire/barewire/mac/sim"
)

// Line is a core's interrupt line. Mu guards it, and all status and enable
// registers that decide its level.
type Line struct {
	Mu     sync.Mutex
	irq    func(level bool)
	level  bool
	faults *sim.Faults
}

// Init says which faults the line has.
func (l *Line) Init(faults *sim.Faults) { l.faults = faults }

// Connect says whom to tell of changes.
func (l *Line) Connect(irq func(level bool)) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	l.irq = irq
}

// Drive puts the line at a level. Mu is held.
func (l *Line) Drive(level bool) {
	if level == l.level {
		if !level && l.irq != nil && l.faults.Hit(sim.SpuriousInterrupt) {
			l.irq(true)
			l.irq(false)
		}
		return
	}
	l.level = level
	if l.irq != nil && !(level && l.faults.Hit(sim.LostInterrupt)) {
		l.irq(level)
	}
}

package dwmac

import "sync"

// fakeRegs is a register file that remembers writes.
type fakeRegs struct {
	mu     sync.Mutex
	regs   map[uint32]uint32
	writes []access

	clearOnRead map[uint32]uint32 // bits that reading a register clears
	w1c         map[uint32]bool   // registers that are write 1 to clear
}

type access struct{ off, v uint32 }

func (f *fakeRegs) Read32(off uint32) uint32 {
	f.mu.Lock()
	defer f.mu.Unlock()
	v := f.regs[off]
	f.regs[off] = v &^ f.clearOnRead[off]
	return v
}

func (f *fakeRegs) Write32(off, v uint32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writes = append(f.writes, access{off, v})
	if f.w1c[off] {
		v = f.regs[off] &^ v
	}
	f.regs[off] = v
}

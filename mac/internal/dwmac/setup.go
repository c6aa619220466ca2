package dwmac

import (
	"fmt"

	"github.com/barewire/barewire/mac"
)

// CheckSetup checks what Configure of a GMAC4 or XGMAC is told, against what the core
// says of itself. limit is the largest MTU whatever the FIFO holds.
func CheckSetup(info *mac.Info, s *mac.Setup, limit int) error {
	core := info.Core
	switch {
	case s.RXQueues < 1 || s.RXQueues > info.RXQueues || s.TXQueues < 1 || s.TXQueues > info.TXQueues:
		return fmt.Errorf("%s: %d receive and %d transmit queues: the core has %d and %d: %w",
			core, s.RXQueues, s.TXQueues, info.RXQueues, info.TXQueues, mac.ErrConfig)
	case s.RXChecksum && !info.RXChecksum || s.TXChecksum && !info.TXChecksum:
		return fmt.Errorf("%s: checksum engine: the core has none for that direction: %w", core, mac.ErrUnsupported)
	case s.MTU < MinMTU || s.MTU > info.MaxMTU:
		return fmt.Errorf("%s: MTU %d: the core takes %d to %d: %w", core, s.MTU, MinMTU, info.MaxMTU, mac.ErrConfig)
	}
	if err := CheckBuffer(core, s.BufferSize, info.Ring.BufferAlign, info.Ring.MaxBuffer); err != nil {
		return err
	}
	fifo := Share(info.TXFIFO, s.TXQueues)
	if _, ok := Burst(fifo, s.MTU); !ok {
		return fmt.Errorf("%s: MTU %d: a frame does not fit the %d bytes of transmit FIFO that each of %d queues has; %d works, or fewer queues: %w",
			core, s.MTU, fifo, s.TXQueues, MaxMTU(fifo, limit), mac.ErrConfig)
	}
	return nil
}

// CheckMTU checks a new MTU for a running core whose transmit bursts have the length
// pbl, which cannot be changed while DMA runs.
func CheckMTU(info *mac.Info, s *mac.Setup, limit int, pbl uint32) error {
	if err := CheckSetup(info, s, limit); err != nil {
		return err
	}
	if fifo := Share(info.TXFIFO, s.TXQueues); fifo > 0 && !Fits(fifo, s.MTU, pbl) {
		return fmt.Errorf("%s: MTU %d: needs a shorter transmit burst: open the device with it: %w", info.Core, s.MTU, mac.ErrConfig)
	}
	return nil
}

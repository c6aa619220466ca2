package mvneta

import (
	"context"
	"fmt"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/neta"
	"github.com/barewire/barewire/mac/internal/queues"
)

const (
	// headerRoom is what a frame has beside its MTU before the FCS: Ethernet
	// header and two VLAN tags.
	headerRoom = 14 + 2*4
	minMTU     = 68 // IPv4's own limit

	resetLimit = time.Second
)

// Reset implements mac.Core.Reset. The port has no reset of everything: DMA is
// stopped, wherever a crash left it, its counters and positions are reset, and the
// MAC is (GMAC_Control2). Configure writes the rest.
func (c *Core) Reset(ctx context.Context) error {
	c.saveCounters()
	// Failing to stop is no reason to stop here: the reset is the remedy.
	_ = c.quiesce()
	c.set(neta.GMAC2, neta.GMAC2Reset)
	c.clear(neta.GMAC2, neta.GMAC2Reset)
	if !wait(ctx, c.regs, neta.GMAC2, resetLimit, func(v uint32) bool { return v&neta.GMAC2Reset == 0 }) {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("mvneta: %s: %w: %w", c.name, mac.ErrReset, err)
		}
		return fmt.Errorf("mvneta: %s: MAC still in reset after %v: is its clock on? %w", c.name, resetLimit, mac.ErrReset)
	}
	c.started = false
	c.link = mac.Link{}
	c.filter = filterState{}
	c.counters.running = false
	return nil
}

// Configure implements mac.Core.Configure.
func (c *Core) Configure(s mac.Setup) error {
	if err := c.check(s); err != nil {
		return err
	}
	c.setup = s
	c.writeWindows()
	c.configureUnit()
	c.configureQueues()
	c.configurePort()
	c.writeMode()
	c.writeFrameSize()
	c.clearFilter()
	c.writeFilter(plan(s.Address, mac.Filter{}))
	c.startCounters()
	for _, r := range c.rx {
		if r != nil {
			r.checksum = s.RXChecksum
		}
	}
	return nil
}

func (c *Core) check(s mac.Setup) error {
	switch {
	case s.RXQueues < 1 || s.RXQueues > c.info.RXQueues || s.TXQueues < 1 || s.TXQueues > c.info.TXQueues:
		return fmt.Errorf("mvneta: %d receive and %d transmit queues: the port has %d and %d: %w",
			s.RXQueues, s.TXQueues, c.info.RXQueues, c.info.TXQueues, mac.ErrConfig)
	case s.BufferSize < bufferAlign || s.BufferSize > maxBuffer || s.BufferSize%bufferAlign != 0:
		return fmt.Errorf("mvneta: receive buffers of %d bytes: take %d to %d in steps of %d: %w",
			s.BufferSize, bufferAlign, maxBuffer, bufferAlign, mac.ErrConfig)
	case s.TXChecksum && !c.info.TXChecksum:
		return fmt.Errorf("mvneta: transmit checksums: the limit of this port leaves none: %w", mac.ErrUnsupported)
	case s.MTU < minMTU || s.MTU > neta.MaxMTU:
		return fmt.Errorf("mvneta: MTU %d: the port takes %d to %d: %w", s.MTU, minMTU, neta.MaxMTU, mac.ErrConfig)
	}
	if m := c.info.ChecksumMTU; s.TXChecksum && m > 0 && s.MTU > m {
		return fmt.Errorf("mvneta: MTU %d: this port inserts checksums up to %d: open the device without: %w", s.MTU, m, mac.ErrConfig)
	}
	return nil
}

// configureUnit programs what lies between port and memory.
func (c *Core) configureUnit() {
	for _, cause := range []uint32{neta.Cause, neta.MiscCause, neta.OldCause, neta.UnitCause} {
		c.regs.Write32(cause, 0)
	}
	c.regs.Write32(neta.OldMask, 0)
	c.regs.Write32(neta.UnitMask, 0)
	c.regs.Write32(neta.MBUSRetry, neta.MBUSRetries)
	c.clear(neta.UnitControl, neta.UnitPolling)
	burst := field.Put(neta.SDMABurstRX, neta.SDMABurst16) | field.Put(neta.SDMABurstTX, neta.SDMABurst16)
	c.regs.Write32(neta.SDMAConfig, burst|neta.SDMANoSwapRX|neta.SDMANoSwapTX)
	accel := neta.AccelSW
	if c.bm != nil {
		accel = neta.AccelBM
		c.regs.Write32(neta.BMAddress, c.bppiAddr)
		c.bm.start()
	}
	c.regs.Write32(neta.Acceleration, accel)
}

// configureQueues puts the queues into a known state, off.
func (c *Core) configureQueues() {
	c.regs.Write32(neta.TXCommand1, 0)
	for q := range neta.MaxQueues {
		c.regs.Write32(neta.TokenConfig(q), 0)
		c.regs.Write32(neta.TokenCount(q), 0)
		c.regs.Write32(neta.RXThreshold(q), 0)
		c.regs.Write32(neta.RXTime(q), neta.RXTimeMask)
	}
	c.regs.Write32(neta.InterruptEnable, neta.AllQueues)
}

// configurePort programs what becomes of frames: untagged ones go to queue 0, and
// tagged ones are spread by priority when there are more queues.
func (c *Core) configurePort() {
	c.regs.Write32(neta.PortConfig, neta.ConfigPseudo|neta.ConfigNoTXStatus)
	c.regs.Write32(neta.PortConfigExt, 0)
	c.regs.Write32(neta.VLANType, 0x8100)
	priorities := uint32(0)
	for p := range 8 {
		priorities |= uint32(p*c.setup.RXQueues/8) << (3 * p)
	}
	c.regs.Write32(neta.VLANPriority, priorities)
	c.regs.Write32(neta.MinFrame, 64) // as Linux does; sources differ on the unit
	c.clear(neta.LPI1, neta.LPI1Request)
}

// writeFrameSize programs the largest frame each way, and the token buckets, which
// must hold one. The receive limit counts the FCS and, in units of two bytes, may
// be one more than asked for.
func (c *Core) writeFrameSize() {
	size := uint32(c.setup.MTU + headerRoom + fcsLen)
	c.change(neta.GMAC0, neta.GMAC0MaxRX, field.Put(neta.GMAC0MaxRX, (size+1)/2)|neta.GMAC0MIB)
	bits := min((size+neta.HeaderSize+7)&^7*8, neta.PortMTUMask)
	// The buckets first when it grows, and they are never too large.
	c.regs.Write32(neta.PortTokenSize, neta.TokenSizeMask)
	for q := range neta.MaxQueues {
		c.regs.Write32(neta.TokenSize(q), neta.TokenSizeMask)
	}
	c.regs.Write32(neta.PortMTU, bits)
}

// SetMTU implements mac.Core.SetMTU.
func (c *Core) SetMTU(mtu int) error {
	s := c.setup
	s.MTU = mtu
	if err := c.check(s); err != nil {
		return err
	}
	c.setup = s
	c.writeFrameSize()
	return nil
}

// Start implements mac.Core.Start. The queues are enabled with the link.
func (c *Core) Start() error {
	if err := queues.CheckStart("mvneta", &c.setup, c.started, c.rx[:], c.tx[:]); err != nil {
		return err
	}
	for q := range c.setup.TXQueues {
		c.startTX(c.tx[q])
	}
	for q := range c.setup.RXQueues {
		c.startRX(c.rx[q])
	}
	c.openIRQ()
	c.set(neta.GMAC0, neta.GMAC0Enable)
	c.started = true
	c.applyLink()
	return nil
}

// startTX points the queue at its ring, empty and without a limit on bandwidth.
func (c *Core) startTX(t *txRing) {
	q := t.queue
	c.regs.Write32(neta.TokenConfig(q), neta.TokenConfigFull)
	c.regs.Write32(neta.TokenCount(q), neta.TokenFull)
	c.regs.Write32(neta.TXBase(q), t.base)
	t.writeSize(0)
	t.live = true
	t.Kick(0)
}

// startRX does the same for receive, with the slots posted so far.
func (c *Core) startRX(r *rxRing) {
	q, config := r.queue, uint32(0)
	c.regs.Write32(neta.RXBase(q), r.base)
	c.regs.Write32(neta.RXRingSize(q), field.Put(neta.RXSizeSlots, uint32(r.slots))|field.Put(neta.RXSizeBuf, r.buffer/8))
	if r.pool != nil {
		w, _ := c.window(uint64(r.pool.ring), 1)
		r.pool.open(w)
		pool := uint32(r.pool.index)
		c.regs.Write32(neta.PoolSize(r.pool.index), r.buffer&neta.PoolBufSize)
		config = neta.RXConfigHWBuf | field.Put(neta.RXConfigShort, pool) | field.Put(neta.RXConfigLong, pool)
	}
	// Frames begin at the buffer's first byte.
	c.change(neta.RXConfig(q), neta.RXConfigOffset|neta.RXConfigShort|neta.RXConfigLong|neta.RXConfigHWBuf, config)
	r.live = true
	if r.pool != nil {
		r.words.DoorbellBarrier()
		for _, addr := range r.waiting {
			r.pool.put(addr)
		}
		r.waiting = r.waiting[:0]
	}
	r.Kick(0)
}

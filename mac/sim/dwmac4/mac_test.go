package dwmac4

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/phy"
)

func TestFeatures(t *testing.T) {
	m := New(Config{Inline: true, Queues: 3, Version: 0x42, RXFIFO: 8192, TXFIFO: 4096, HashBins: 256, PerfectSlots: 127, AddressBits: 48, NoTSO: true})
	require.EqualValues(t, 0x1042, m.Read32(gmac4.MACVersion))
	f0, f1, f2 := m.Read32(gmac4.MACFeature0), m.Read32(gmac4.MACFeature1), m.Read32(gmac4.MACFeature2)
	require.EqualValues(t, 31, field.Get(gmac4.Feat0Addr, f0))
	require.NotZero(t, f0&gmac4.Feat0Addr32)
	require.NotZero(t, f0&gmac4.Feat0Addr64)
	require.EqualValues(t, 8192, 128<<field.Get(gmac4.Feat1RxFIFO, f1))
	require.EqualValues(t, 4096, 128<<field.Get(gmac4.Feat1TxFIFO, f1))
	require.EqualValues(t, 2, field.Get(gmac4.Feat1Addr64, f1))
	require.EqualValues(t, 3, field.Get(gmac4.Feat1Hash, f1))
	require.Zero(t, f1&gmac4.Feat1TSO)
	for _, f := range []uint32{gmac4.Feat2RxQ, gmac4.Feat2TxQ, gmac4.Feat2RxCh, gmac4.Feat2TxCh} {
		require.EqualValues(t, 2, field.Get(f, f2))
	}
	require.Equal(t, []string{"snps,dwmac-4.20a", "snps,dwmac"}, m.Compatible())
	require.NoError(t, m.Close())
}

func TestReset(t *testing.T) {
	r := newRig(t, Config{MACAddress: ownAddr})
	r.post(0, 0, 7, 0)
	r.m.Deliver(frame(ownAddr, 60))
	r.write(gmac4.MACPacketFilter, dwregs.FilterPM)
	r.write(gmac4.DMAMode, gmac4.DMAModeSWR)
	require.Zero(t, r.read(gmac4.DMAMode))
	fresh := New(Config{Inline: true})
	for off := uint32(0); off < gmac4.WindowSize; off += 4 {
		require.Equal(t, fresh.Read32(off), r.read(off), gmac4.RegName(off))
	}
	require.Equal(t, uint32(0x8000ffff), r.read(gmac4.AddrHigh(0)), "the address is lost")
	require.False(t, r.level)
	r.m.Deliver(frame(ownAddr, 60))
	require.True(t, r.rx[0].own(1))
	require.NoError(t, fresh.Close())
}

func TestFirmwareAddress(t *testing.T) {
	m := New(Config{Inline: true, MACAddress: mac.HardwareAddr{2, 3, 4, 5, 6, 7}})
	require.Equal(t, uint32(0x80000706), m.Read32(gmac4.AddrHigh(0)))
	require.Equal(t, uint32(0x05040302), m.Read32(gmac4.AddrLow(0)))
	require.NoError(t, m.Close())
}

func TestSlowAndDeadReset(t *testing.T) {
	r := newRig(t, Config{})
	r.m.Faults().Once(sim.SlowReset)
	r.write(gmac4.DMAMode, gmac4.DMAModeSWR)
	r.clock.Advance(89 * time.Millisecond)
	require.Equal(t, gmac4.DMAModeSWR, r.read(gmac4.DMAMode))
	r.write(gmac4.MACPacketFilter, 1)
	require.Zero(t, r.read(gmac4.MACPacketFilter), "nothing is taken during reset")
	r.clock.Advance(time.Millisecond)
	require.Zero(t, r.read(gmac4.DMAMode))

	r.m.Faults().Always(sim.DeadReset)
	r.write(gmac4.DMAMode, gmac4.DMAModeSWR)
	r.clock.Advance(time.Hour)
	require.Equal(t, gmac4.DMAModeSWR, r.read(gmac4.DMAMode))
	require.EqualValues(t, 0x796d, r.mdioRead(1, 1), "MDIO works in reset")
	r.m.Faults().Clear(sim.DeadReset)
	require.Equal(t, gmac4.DMAModeSWR, r.read(gmac4.DMAMode))
	r.write(gmac4.DMAMode, gmac4.DMAModeSWR)
	require.Zero(t, r.read(gmac4.DMAMode))
}

func TestInterruptEnable(t *testing.T) {
	for _, c := range []struct {
		name     string
		version  uint8
		cause    uint32
		enable   uint32
		level    bool
		summary  uint32
		intm     uint32
		topLevel uint32
	}{
		{"receive", 0x51, gmac4.IntRI, 1<<15 | gmac4.IntRI, true, gmac4.StatusNIS, 0, 1},
		{"no summary enable", 0x51, gmac4.IntRI, gmac4.IntRI, false, gmac4.StatusNIS, 0, 0},
		{"cause not enabled", 0x51, gmac4.IntRI, 1 << 15, false, 0, 0, 0},
		{"abnormal", 0x51, gmac4.IntRBU, 1<<14 | gmac4.IntRBU, true, gmac4.StatusAIS, 0, 1},
		{"abnormal needs AIE", 0x51, gmac4.IntRBU, 1<<15 | gmac4.IntRBU, false, gmac4.StatusAIS, 0, 0},
		{"4.00: NIE is bit 16", 0x40, gmac4.IntTI, 1<<16 | gmac4.IntTI, true, gmac4.StatusNIS, 0, 1},
		{"4.00: bit 15 is AIE", 0x40, gmac4.IntTI, 1<<15 | gmac4.IntTI, false, gmac4.StatusNIS, 0, 0},
		{"4.00: abnormal", 0x40, gmac4.IntFBE, 1<<15 | gmac4.IntFBE, true, gmac4.StatusAIS, 0, 1},
		{"INTM takes receive off the common line", 0x51, gmac4.IntRI, 1<<15 | gmac4.IntRI, false, gmac4.StatusNIS, 1 << 16, 0},
		{"INTM leaves errors", 0x51, gmac4.IntFBE, 1<<14 | gmac4.IntFBE, true, gmac4.StatusAIS, 1 << 16, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, Config{Version: c.version})
			r.write(gmac4.DMAMode, c.intm)
			r.write(ch(0, gmac4.ChanIntEnable), c.enable)
			r.ack(0, ^uint32(0))
			r.m.RaiseStatus(0, c.cause)
			require.Equal(t, c.level, r.level)
			require.Equal(t, c.cause|c.summary, r.status(0))
			require.Equal(t, c.topLevel, r.read(gmac4.DMAIntStatus))
			r.ack(0, gmac4.StatusNIS|gmac4.StatusAIS)
			require.Equal(t, c.level, r.level, "a summary is no cause")
			r.write(ch(0, gmac4.ChanIntEnable), 0)
			require.False(t, r.level, "masked")
			r.write(ch(0, gmac4.ChanIntEnable), c.enable)
			require.Equal(t, c.level, r.level, "the level is there again")
			r.ack(0, c.cause)
			require.False(t, r.level)
		})
	}
}

func TestInterruptFaults(t *testing.T) {
	r := newRig(t, Config{})
	r.m.Faults().Once(sim.LostInterrupt)
	r.m.RaiseStatus(0, gmac4.IntRI)
	require.False(t, r.level)
	require.NotZero(t, r.status(0)&gmac4.IntRI)
	r.ack(0, gmac4.IntRI)
	r.m.RaiseStatus(0, gmac4.IntRI)
	require.True(t, r.level)
	r.ack(0, ^uint32(0))
	edges := r.edges
	r.m.Faults().Once(sim.SpuriousInterrupt)
	r.m.RaiseStatus(0, gmac4.IntTBU)
	require.Equal(t, edges+1, r.edges)
	require.False(t, r.level)
}

func TestCounters(t *testing.T) {
	r := newRig(t, Config{})
	r.post(0, 0, 7, 0)
	r.write(gmac4.MACPacketFilter, dwregs.FilterPM)
	r.m.Deliver(frame(ownAddr, 60))
	r.m.Deliver(frame(mac.Broadcast, 100))
	r.m.Deliver(frame(addr("01:00:5e:00:00:01"), 1514))
	r.m.Deliver(frame(peerAddr, 60)) // filtered: not counted
	r.send(0, 0, frame(peerAddr, 200), 0, 0)
	r.send(0, 1, frame(mac.Broadcast, 300), 0, 0)
	for off, want := range map[uint32]uint32{
		gmac4.MMC + dwregs.MMCRxPackets: 3, gmac4.MMC + dwregs.MMCRxOctets: 64 + 104 + 1518, gmac4.MMC + dwregs.MMCRxOctetsG: 1686, gmac4.MMC + dwregs.MMCRxBcastG: 1,
		gmac4.MMC + dwregs.MMCRxMcastG: 1, gmac4.MMC + dwregs.MMCRxUcastG: 1, gmac4.MMC + dwregs.MMCRx64: 1, gmac4.MMC + dwregs.MMCRx64 + 4: 1, gmac4.MMC + dwregs.MMCRx64 + 20: 1,
		gmac4.MMC + dwregs.MMCTxPackets: 2, gmac4.MMC + dwregs.MMCTxPacketsG: 2, gmac4.MMC + dwregs.MMCTxOctets: 508, gmac4.MMC + dwregs.MMCTxUcast: 1, gmac4.MMC + dwregs.MMCTxBcast: 1,
		gmac4.MMC + dwregs.MMCTxBcastG: 1, gmac4.MMC + dwregs.MMCTx64 + 8: 1, gmac4.MMC + dwregs.MMCTx64 + 12: 1,
	} {
		require.Equal(t, want, r.read(off), gmac4.RegName(off))
		require.Equal(t, want, r.read(off), "reading changes nothing")
	}
	r.write(gmac4.MMC+dwregs.MMCControl, dwregs.MMCResetOnRead)
	require.EqualValues(t, 3, r.read(gmac4.MMC+dwregs.MMCRxPackets))
	require.Zero(t, r.read(gmac4.MMC+dwregs.MMCRxPackets))
	r.write(gmac4.MMC+dwregs.MMCControl, dwregs.MMCFreeze)
	r.m.Deliver(frame(ownAddr, 60))
	require.Zero(t, r.read(gmac4.MMC+dwregs.MMCRxPackets))
	r.write(gmac4.MMC+dwregs.MMCControl, dwregs.MMCReset)
	require.Zero(t, r.read(gmac4.MMC+dwregs.MMCControl))
	require.Zero(t, r.read(gmac4.MMC+dwregs.MMCTxOctets))
}

func TestCounterInterrupts(t *testing.T) {
	r := newRig(t, Config{})
	r.write(gmac4.MMC+dwregs.MMCControl, dwregs.MMCPreset)
	require.Equal(t, uint32(0x7ffffff0), r.read(gmac4.MMC+dwregs.MMCRxPackets))
	r.m.Deliver(frame(ownAddr, 60)) // octets pass the half
	require.True(t, r.level, "not masked after reset")
	require.NotZero(t, r.read(gmac4.DMAIntStatus)&gmac4.DMAIntMAC)
	require.Equal(t, gmac4.MACIntMMC|gmac4.MACIntMMCRx, r.read(gmac4.MACIntStatus))
	r.write(gmac4.MMC+dwregs.MMCRxIntMask, ^uint32(0))
	require.False(t, r.level)
	require.EqualValues(t, 6, r.read(gmac4.MMC+dwregs.MMCRxInt), "octets, good and bad")
	r.read(gmac4.MMC + dwregs.MMCRxOctets)
	require.EqualValues(t, 4, r.read(gmac4.MMC+dwregs.MMCRxInt), "reading the counter clears it")
	r.write(gmac4.MMC+dwregs.MMCControl, dwregs.MMCPreset|dwregs.MMCPresetFull)
	r.m.Deliver(frame(ownAddr, 60))
	require.Equal(t, uint32(48), r.read(gmac4.MMC+dwregs.MMCRxOctets), "wraps")
	r.write(gmac4.MMC+dwregs.MMCControl, dwregs.MMCPreset|dwregs.MMCPresetFull|dwregs.MMCStop)
	r.m.Deliver(frame(ownAddr, 60))
	require.Equal(t, uint32(0xffffffff), r.read(gmac4.MMC+dwregs.MMCRxOctets), "stops at the top")
}

// mdioDo runs one transfer and polls it.
func (r *rig) mdioDo(v uint32) uint32 {
	r.write(gmac4.MACMDIOAddr, v|gmac4.MDIOGB)
	require.NotZero(r.t, r.read(gmac4.MACMDIOAddr)&gmac4.MDIOGB, "busy at first")
	require.Zero(r.t, r.read(gmac4.MACMDIOAddr)&gmac4.MDIOGB)
	return r.read(gmac4.MACMDIOData) & gmac4.MDIODataGD
}

func (r *rig) mdioRead(phy, reg uint32) uint32 {
	return r.mdioDo(field.Put(gmac4.MDIOPA, phy) | field.Put(gmac4.MDIORDA, reg) | field.Put(gmac4.MDIOGOC, gmac4.MDIORead))
}

func (r *rig) mdioWrite(phy, reg, v uint32) {
	r.write(gmac4.MACMDIOData, v)
	r.mdioDo(field.Put(gmac4.MDIOPA, phy) | field.Put(gmac4.MDIORDA, reg) | field.Put(gmac4.MDIOGOC, gmac4.MDIOWrite))
}

func TestMDIO(t *testing.T) {
	r := newRig(t, Config{PHYAddress: 7, PHY: phy.Config{ID: 0x001cc916}})
	require.EqualValues(t, 0xffff, r.mdioRead(1, 1), "nobody there")
	require.EqualValues(t, 0x001c, r.mdioRead(7, 2))
	require.EqualValues(t, 0xc916, r.mdioRead(7, 3))
	require.EqualValues(t, 0x0024, r.mdioRead(7, 1)&0x24, "link up, negotiated")
	r.m.SetLink(mac.Link{})
	r.m.SetLink(mac.Link{Up: true, Speed: 100, FullDuplex: true, RXPause: true, TXPause: true})
	require.Zero(t, r.mdioRead(7, 1)&4, "a lost link is latched")
	require.NotZero(t, r.mdioRead(7, 1)&4)
	require.EqualValues(t, 0x4501, r.mdioRead(7, 5))
	require.Zero(t, r.mdioRead(7, 10))
	r.mdioWrite(7, 4, 0x0541)
	require.EqualValues(t, 0x0541, r.mdioRead(7, 4))
	r.mdioWrite(7, 0, 1<<11)
	require.Zero(t, r.mdioRead(7, 1)&4, "powered down")
	r.mdioWrite(7, 0, 1<<15)
	require.EqualValues(t, 0x1140, r.mdioRead(7, 0), "reset is over")
	require.EqualValues(t, 0x01e1, r.mdioRead(7, 4))
	r.noViolations()
	r.write(gmac4.MACMDIOAddr, gmac4.MDIOGB)
	r.write(gmac4.MACMDIOAddr, gmac4.MDIOGB)
	require.Equal(t, 1, r.m.Violations().Count(), "started while busy")
}

func TestMDIOClause45(t *testing.T) {
	r := newRig(t, Config{})
	at := field.Put(gmac4.MDIOPA, 1) | field.Put(gmac4.MDIORDA, 7) | gmac4.MDIOC45E
	r.write(gmac4.MACMDIOData, 60<<16|0x0006)
	r.mdioDo(at | field.Put(gmac4.MDIOGOC, gmac4.MDIOWrite))
	r.write(gmac4.MACMDIOData, 60<<16)
	require.EqualValues(t, 6, r.mdioDo(at|field.Put(gmac4.MDIOGOC, gmac4.MDIORead)))
	// The same register by way of clause 22.
	r.mdioWrite(1, 13, 7)
	r.mdioWrite(1, 14, 60)
	r.mdioWrite(1, 13, 1<<14|7)
	require.EqualValues(t, 6, r.mdioRead(1, 14))
	r.write(gmac4.MACMDIOData, 0)
	require.EqualValues(t, 0xffff, r.mdioDo(field.Put(gmac4.MDIOPA, 1)|field.Put(gmac4.MDIORDA, 9)|gmac4.MDIOC45E|field.Put(gmac4.MDIOGOC, gmac4.MDIORead)))
}

func TestInBandLink(t *testing.T) {
	r := newRig(t, Config{InBandLink: true})
	r.write(gmac4.MACIntEnable, gmac4.MACIntRGSMII)
	r.m.SetLink(mac.Link{Up: true, Speed: 100, FullDuplex: true})
	require.True(t, r.level)
	require.NotZero(t, r.read(gmac4.DMAIntStatus)&gmac4.DMAIntMAC)
	v := r.read(gmac4.MACPHYIF)
	require.NotZero(t, v&gmac4.PHYIFLink)
	require.EqualValues(t, gmac4.PHYIFSpeed100, field.Get(gmac4.PHYIFSpeed, v))
	require.NotZero(t, v&gmac4.PHYIFDuplex)
	require.False(t, r.level, "cleared by reading")
	r.m.SetLink(mac.Link{})
	require.Zero(t, r.read(gmac4.MACPHYIF)&gmac4.PHYIFLink)
}

func TestLinkChangeWhileRunning(t *testing.T) {
	for _, accepted := range []bool{false, true} {
		r := newRig(t, Config{AnyLinkChange: accepted})
		r.set(gmac4.MACConfig, gmac4.ConfigTE|gmac4.ConfigRE)
		r.set(gmac4.MACConfig, gmac4.ConfigPS)
		require.Equal(t, !accepted, r.m.Violations().Count() == 1)
	}
}

func TestLinkFlap(t *testing.T) {
	r := newRig(t, Config{InBandLink: true})
	r.post(0, 0, 7, 0)
	r.m.Faults().Once(sim.LinkFlap)
	r.m.Deliver(frame(ownAddr, 60))
	require.True(t, r.rx[0].own(0), "lost with the link")
	require.Zero(t, r.read(gmac4.MACPHYIF)&gmac4.PHYIFLink)
	r.clock.Advance(time.Millisecond)
	require.NotZero(t, r.read(gmac4.MACPHYIF)&gmac4.PHYIFLink)
	r.m.Deliver(frame(ownAddr, 60))
	require.False(t, r.rx[0].own(0))
}

func TestRegistersOfAbsentQueues(t *testing.T) {
	r := newRig(t, Config{Queues: 2})
	for _, off := range []uint32{ch(2, gmac4.ChanIntEnable), qu(2, gmac4.RxQOpMode), ch(7, gmac4.ChanStatus)} {
		r.write(off, ^uint32(0))
		require.Zero(t, r.read(off))
	}
	require.Zero(t, r.read(2), "not aligned")
	require.Zero(t, r.read(gmac4.WindowSize))
	r.write(gmac4.WindowSize, 1)
	r.write(gmac4.MACVersion, 0)
	require.EqualValues(t, 0x1051, r.read(gmac4.MACVersion))
}

func TestSingleQueueFIFOIsFixed(t *testing.T) {
	r := newRig(t, Config{TXFIFO: 4096})
	r.write(qu(0, gmac4.TxQOpMode), 0)
	v := r.read(qu(0, gmac4.TxQOpMode))
	require.EqualValues(t, 15, field.Get(gmac4.TxQOpTQS, v))
	require.EqualValues(t, 2, field.Get(gmac4.TxQOpTXQEN, v))
}

func TestNames(t *testing.T) {
	m := New(Config{Inline: true})
	require.Equal(t, "DMA_CH0_TxTail", m.RegisterName(0x1120))
	require.True(t, m.Doorbell(0x1120))
	require.True(t, m.Doorbell(0x11a8))
	require.False(t, m.Doorbell(0x1160))
	require.NoError(t, m.Close())
}

package ravb_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	bussim "github.com/barewire/barewire/mac/bus/sim"
	"github.com/barewire/barewire/mac/internal/etheravb"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/ravb"
	"github.com/barewire/barewire/mac/sim"
	model "github.com/barewire/barewire/mac/sim/ravb"
	"github.com/barewire/barewire/ring"
)

// TestVerdicts: both engines, over frames that end anywhere in a buffer, so that the
// trailer straddles buffers of 256 bytes. Good is said of good packets only, and bad
// of bad ones only.
func TestVerdicts(t *testing.T) {
	kinds := []struct {
		v6    bool
		proto byte
	}{{false, 1}, {false, 6}, {false, 17}, {true, 6}, {true, 17}, {true, 58}}
	for _, v := range []model.Variant{model.Gen2, model.Gen3, model.GbEth} {
		inBubble(t, v, mac.Config{PageSize: 256, RXRing: 32, Pages: 64}, func(r *rig) {
			q := r.dev.Queues()[0]
			judge := func(f []byte) ring.Flags {
				r.model.Deliver(f)
				q.Ack()
				got, data := r.harvest(q, 4)
				require.Len(t, got, 1)
				require.True(t, bytes.Equal(f, data[0]), "%d bytes of %d", len(data[0]), len(f))
				q.Refill()
				return got[0].Flags & (ring.ChecksumGood | ring.ChecksumBad)
			}
			for _, k := range kinds {
				for n := 20; n < 600; n += 1 + n%7 {
					payload := ether(station, n, n)
					f := packet(k.v6, k.proto, payload, 0)
					require.Equal(t, ring.ChecksumGood, judge(f), "%+v, %d bytes", k, len(f))
					f[len(f)-1-n%(n/2)] ^= 1 << (n % 8)
					require.Equal(t, ring.ChecksumBad, judge(f), "%+v, %d bytes, a bit flipped", k, len(f))
				}
			}
			f := packet(false, 6, payload(100), 8)
			require.Equal(t, ring.ChecksumGood, judge(f), "options")
			f[24] ^= 1
			require.NotEqual(t, ring.ChecksumGood, judge(f), "IPv4 header checksum")

			open := map[string][]byte{
				"no IP":                packet(false, 17, payload(100), 0),
				"UDP without checksum": packet(false, 17, payload(100), 0),
				"fragment":             packet(false, 17, payload(100), 0),
				"other protocol":       packet(false, 17, payload(100), 0),
				"extension header":     packet(true, 17, payload(100), 0),
			}
			open["no IP"][12] = 0x88
			copy(open["UDP without checksum"][40:], []byte{0, 0})
			ip := open["fragment"][14:34]
			ip[6], ip[10], ip[11] = 0x20, 0, 0
			copy(ip[10:], bytes16(^sum(0, ip)))
			ip = open["other protocol"][14:34]
			ip[9], ip[10], ip[11] = 132, 0, 0
			copy(ip[10:], bytes16(^sum(0, ip)))
			open["extension header"][20] = 0
			for name, f := range open {
				require.Zero(t, judge(f), name)
			}
		})
	}
}

func payload(n int) []byte { return ether(station, n, n) }

func bytes16(v uint16) []byte { return []byte{byte(v >> 8), byte(v)} }

// Padding, which the sum of R-Car covers, leaves the question to software.
func TestPaddedFrame(t *testing.T) {
	for v, want := range map[model.Variant]ring.Flags{model.Gen3: 0, model.GbEth: ring.ChecksumGood} {
		inBubble(t, v, mac.Config{}, func(r *rig) {
			f := append(packet(false, 17, []byte{1, 2, 3}, 0), bytes.Repeat([]byte{0xEE}, 15)...)
			r.model.Deliver(f)
			got, data := r.harvest(r.dev.Queues()[0], 4)
			require.Equal(t, [][]byte{f}, data)
			require.Equal(t, want, got[0].Flags&(ring.ChecksumGood|ring.ChecksumBad))
		})
	}
}

// TestNetworkControl: with two queues R-Car receives network control in the second
// one, and sends from both.
func TestNetworkControl(t *testing.T) {
	for _, v := range []model.Variant{model.Gen2, model.Gen3} {
		inBubble(t, v, mac.Config{Queues: 2, RXRing: 8, TXRing: 8, Pages: 16}, func(r *rig) {
			be, nc := r.dev.Queues()[0], r.dev.Queues()[1]
			for i := range 50 {
				gptp := ether(mac.HardwareAddr{0x01, 0x80, 0xC2, 0, 0, 0x0E}, 80+i, i)
				copy(gptp[12:], []byte{0x88, 0xF7})
				plain := ether(station, 100+i, i)
				r.model.Deliver(gptp)
				r.model.Deliver(plain)
				synctest.Wait()
				for q, want := range map[*mac.Queue][]byte{be: plain, nc: gptp} {
					q.Ack()
					_, data := r.harvest(q, 4)
					require.Equal(t, [][]byte{want}, data, "queue %d", q.Index())
					q.Refill()
					q.Unmask()
					r.sent = nil
					require.Equal(t, 1, r.send(q, plain))
					require.Equal(t, [][]byte{plain}, r.sent)
				}
			}
			s := r.model.Stats()
			require.Equal(t, [2]uint64{50, 50}, s.RX)
			require.Equal(t, [2]uint64{50, 50}, s.TX)
			for _, q := range r.dev.Snapshot().Queues {
				require.EqualValues(t, 50, q.RXInterrupts)
			}
		})
	}
	inBubble(t, model.Gen3, mac.Config{}, func(r *rig) {
		gptp := ether(mac.HardwareAddr{0x01, 0x80, 0xC2, 0, 0, 0x0E}, 80, 1)
		r.model.Deliver(gptp)
		_, data := r.harvest(r.dev.Queues()[0], 4)
		require.Equal(t, [][]byte{gptp}, data, "with one queue it gets everything")
	})
}

// TestFrameEndsBeforeItsStart: the device runs while frames of two and three
// descriptors are given to it, and never meets the start of one whose end is not
// there (a queue error and a violation).
func TestFrameEndsBeforeItsStart(t *testing.T) {
	frames := 20_000
	if testing.Short() {
		frames = 2000
	}
	m := model.New(model.Config{Variant: model.Gen2, Seed: 1})
	received := make(chan int, 1)
	count := 0
	m.OnTransmit(func([]byte) {
		if count++; count == frames {
			received <- count
		}
	})
	bus := bussim.New(m, nil)
	core, err := ravb.NewRCar(bus)
	require.NoError(t, err)
	ravb.SplitFrames(core, 512)
	dev, err := mac.NewDevice(t.Context(), bus, core, &mac.Config{Address: station, Link: gigabit, TXRing: 8, RXRing: 8})
	require.NoError(t, err)
	require.NoError(t, dev.Start())
	q := dev.Queues()[0]
	frame := ether(station, 1514, 1)
	for i := range frames {
		tx := q.LockTX()
		require.NotNil(t, tx)
		n := 600 + i%900
		for {
			if b := tx.Reserve(n); b != nil {
				copy(b, frame)
				break
			}
			q.WaitTX()
		}
		tx.Commit(ring.TXFrame{})
		q.FlushTX()
		q.UnlockTX()
	}
	require.Equal(t, frames, <-received)
	require.Zero(t, dev.Snapshot().Recoveries)
	require.NoError(t, dev.Close())
	require.Empty(t, m.Violations().List())
}

// TestEveryCauseIsCleared raises each bit of each status register alone, enabled by
// whoever: after two interrupts the line is low, and what is not the driver's is
// masked and reported once.
func TestEveryCauseIsCleared(t *testing.T) {
	for _, v := range []model.Variant{model.Gen2, model.Gen3, model.GbEth} {
		inBubble(t, v, mac.Config{}, func(r *rig) {
			for _, s := range []struct{ status, control uint32 }{
				{etheravb.DIS, etheravb.DIC}, {etheravb.EIS, etheravb.EIC}, {etheravb.RIS0, etheravb.RIC0}, {etheravb.RIS1, etheravb.RIC1},
				{etheravb.RIS2, etheravb.RIC2}, {etheravb.TIS, etheravb.TIC}, {etheravb.GIS, etheravb.GIC}, {etheravb.ECSR, etheravb.ECSIPR},
			} {
				if s.status == etheravb.GIS && v == model.GbEth {
					continue // no gPTP
				}
				for bit := range 32 {
					name := fmt.Sprintf("%s bit %d", etheravb.RegName(s.status), bit)
					r.core.Unmask(0)
					r.core.UnmaskTX(0)
					r.model.Write32(s.control, r.model.Read32(s.control)|1<<bit)
					r.model.RaiseStatus(s.status, 1<<bit)
					for range 2 {
						r.core.Interrupt()
					}
					require.Zero(t, r.model.Read32(etheravb.ISS)&^(etheravb.ISSFRS|etheravb.ISSFTS), name)
					r.core.Ack(0)
					synctest.Wait()
				}
			}
			require.Zero(t, r.core.Interrupt())
		})
	}
}

// TestQueueErrorIsFatal: the cause is taken once and leads to a repair.
func TestQueueErrorIsFatal(t *testing.T) {
	inBubble(t, model.Gen3, mac.Config{}, func(r *rig) {
		r.model.RaiseStatus(etheravb.EIS, etheravb.EISQEF)
		synctest.Wait()
		require.True(t, r.dev.Queues()[0].Checkpoint())
		synctest.Wait()
		require.EqualValues(t, 1, r.dev.Snapshot().Recoveries.FatalBusError)
	})
}

// TestErrorsOfNoConcern: errors that nobody has enabled and that show beside a full
// queue do not keep a queue error from being told.
func TestErrorsOfNoConcern(t *testing.T) {
	inBubble(t, model.GbEth, mac.Config{}, func(r *rig) {
		r.model.RaiseStatus(etheravb.EIS, etheravb.EISMREF|etheravb.EISMTEF)
		r.model.RaiseStatus(etheravb.RIS2, 1)
		synctest.Wait()
		require.EqualValues(t, 1, r.dev.Snapshot().Queues[0].Starved)
		require.Zero(t, r.model.Read32(etheravb.EIS))
		r.model.RaiseStatus(etheravb.EIS, etheravb.EISQEF)
		synctest.Wait()
		require.True(t, r.dev.Queues()[0].Checkpoint())
		synctest.Wait()
		require.EqualValues(t, 1, r.dev.Snapshot().Recoveries.FatalBusError)
	})
}

// TestInterruptsWhileTheMTUChanges is for the race detector.
func TestInterruptsWhileTheMTUChanges(t *testing.T) {
	inBubble(t, model.Gen2, mac.Config{}, func(r *rig) {
		var done sync.WaitGroup
		done.Go(func() {
			for i := range 1000 {
				require.NoError(t, r.core.SetMTU(1000+i%500))
			}
		})
		for range 1000 {
			r.model.RaiseStatus(etheravb.RIS2, 1)
			r.core.Interrupt()
			r.core.Unmask(0)
		}
		done.Wait()
		synctest.Wait()
	})
}

// TestLinkPin: Gen2 has the LINK pin on its interrupt line.
func TestLinkPin(t *testing.T) {
	inBubble(t, model.Gen2, mac.Config{}, func(r *rig) {
		before := r.bus.Trace().Counts().Interrupts
		r.model.SetLink(mac.Link{})
		synctest.Wait()
		require.Equal(t, before+1, r.bus.Trace().Counts().Interrupts)
		require.Zero(t, r.model.Read32(etheravb.ECSR))
		r.model.SetLink(gigabit)
		synctest.Wait()
	})
}

// TestRegistersAfterEachStart: whatever was before, a start leaves every register
// the same, board settings that a reset loses among them.
func TestRegistersAfterEachStart(t *testing.T) {
	for _, v := range []model.Variant{model.Gen2, model.Gen3, model.GbEth} {
		m := model.New(model.Config{Variant: v, Inline: true, MACAddress: station, MII: true})
		bus := bussim.New(m, nil)
		if v == model.Gen3 {
			m.Write32(etheravb.APSR, 3<<13)
		}
		if v == model.GbEth {
			m.Write32(etheravb.CXR35, 1000<<16|etheravb.XMIIMII)
		}
		var first string
		for i := range 4 {
			d := ravb.RCar()
			if v == model.GbEth {
				d = ravb.GbEth()
			}
			core, err := d.New(bus)
			require.NoError(t, err)
			dev, err := mac.NewDevice(t.Context(), keep{bus}, core, &mac.Config{Link: gigabit})
			require.NoError(t, err)
			require.NoError(t, dev.Start())
			var registers strings.Builder
			for off := uint32(0); off < etheravb.WindowSize; off += 4 {
				if off != etheravb.DBAT && off != etheravb.CDAR(4) {
					fmt.Fprintf(&registers, "%s %#x\n", etheravb.RegName(off), m.Read32(off))
				}
			}
			if i == 0 {
				first = registers.String()
			}
			require.Equal(t, first, registers.String())
			require.NoError(t, dev.Close())
		}
		require.Contains(t, first, map[bool]string{true: "TGC 0x222200\n", false: "TGC 0x112210\n"}[v == model.GbEth])
		switch v {
		case model.Gen3:
			require.Contains(t, first, "APSR 0x6000\n")
		case model.GbEth:
			require.Contains(t, first, "CXR35 0x3e80002\n")
		}
		require.Empty(t, m.Violations().List())
		require.NoError(t, bus.Close())
	}
}

// keep leaves the model running when a device closes its bus.
type keep struct{ *bussim.Bus }

func (keep) Close() error { return nil }

// TestPHYAccess: MDIO through the pins, both clauses, and what is not there.
func TestPHYAccess(t *testing.T) {
	for _, v := range []model.Variant{model.Gen3, model.GbEth} {
		inBubble(t, v, mac.Config{}, func(r *rig) {
			mdio := r.dev.MDIO()
			id, err := mdio.Read(1, 2)
			require.NoError(t, err)
			want, err := r.model.MDIO().Read(1, 2)
			require.NoError(t, err)
			require.Equal(t, want, id)
			for _, x := range []uint16{0xA5A5, 0x5A5A, 0, 0xFFFF, 1, 0x8000} {
				require.NoError(t, mdio.Write(1, 4, x&0xDFE0|1))
				got, err := mdio.Read(1, 4)
				require.NoError(t, err)
				reference, err := r.model.MDIO().Read(1, 4)
				require.NoError(t, err)
				require.Equal(t, reference, got)
			}
			require.NoError(t, mdio.Write45(1, 7, 0x3C, 6))
			got, err := mdio.Read45(1, 7, 0x3C)
			require.NoError(t, err)
			reference, err := r.model.MDIO().Read45(1, 7, 0x3C)
			require.NoError(t, err)
			require.Equal(t, reference, got)
			nobody, err := mdio.Read(9, 2)
			require.NoError(t, err)
			require.EqualValues(t, 0xFFFF, nobody)
			_, err = mdio.Read(32, 0)
			require.ErrorIs(t, err, mac.ErrConfig)
			require.ErrorIs(t, mdio.Write(0, -1, 0), mac.ErrConfig)
		})
	}
	bus := bussim.New(model.New(model.Config{}), nil)
	core, err := ravb.NewRCar(bus)
	require.NoError(t, err)
	defer bus.Close()
	_, err = core.MDIO().Read(1, 0)
	require.ErrorContains(t, err, "RESET")
}

// TestErrorCounters: the E-MAC's counters are fetched, cleared and survive a reset.
func TestErrorCounters(t *testing.T) {
	inBubble(t, model.Gen3, mac.Config{}, func(r *rig) {
		q := r.dev.Queues()[0]
		for i := range 10 {
			r.model.Faults().Once(sim.BadCRC)
			r.model.Deliver(ether(station, 100, i))
			r.model.Deliver(ether(mac.Broadcast, 100, i))
		}
		r.harvest(q, 16)
		q.Refill()
		h := r.dev.Snapshot().Hardware
		require.Equal(t, []uint64{10, 10}, []uint64{h.RXCRC, h.RXMulticast})
		require.Zero(t, r.model.Read32(etheravb.CEFCR))
		r.model.Faults().Once(sim.BadCRC)
		r.model.Deliver(ether(station, 100, 1))
		r.model.RaiseStatus(etheravb.EIS, etheravb.EISQEF)
		synctest.Wait()
		require.True(t, q.Checkpoint())
		synctest.Wait()
		require.EqualValues(t, 11, r.dev.Snapshot().Hardware.RXCRC)
	})
}

// TestLinks: what neither family can do is refused.
func TestLinks(t *testing.T) {
	up := func(speed int, full bool) mac.Link { return mac.Link{Up: true, Speed: speed, FullDuplex: full} }
	inBubble(t, model.Gen3, mac.Config{}, func(r *rig) {
		require.ErrorIs(t, r.core.SetLink(up(10, true)), mac.ErrUnsupported)
		require.ErrorIs(t, r.core.SetLink(up(100, false)), mac.ErrUnsupported)
		require.ErrorIs(t, r.core.SetLink(up(2500, true)), mac.ErrConfig)
		pause := gigabit
		pause.RXPause, pause.TXPause = true, true
		require.NoError(t, r.core.SetLink(pause))
		require.Zero(t, r.model.Read32(etheravb.ECMR)&(etheravb.ECMRRXF|etheravb.ECMRTXF))
	})
	inBubble(t, model.GbEth, mac.Config{}, func(r *rig) {
		require.ErrorIs(t, r.core.SetLink(up(1000, false)), mac.ErrUnsupported)
		require.NoError(t, r.core.SetLink(up(10, false)))
		require.Zero(t, r.model.Read32(etheravb.ECMR)&etheravb.ECMRDM)
		require.EqualValues(t, etheravb.Speed10, field.Get(etheravb.GECMRSpeed, r.model.Read32(etheravb.GECMR)))
	})
}

// TestLongFrames: GbEth receives frames of up to 8 KiB over several pages, verdict and
// all, though its MTU is 1500.
func TestLongFrames(t *testing.T) {
	inBubble(t, model.GbEth, mac.Config{MaxFrame: etheravb.MaxGbEthRecv}, func(r *rig) {
		q := r.dev.Queues()[0]
		for _, n := range []int{1514, 2040, 2044, 2045, 2046, 2048, 4090, 6140, 8188, etheravb.MaxGbEthRecv} {
			f := packet(false, 17, payload(n-42), 0)
			require.Len(t, f, n)
			r.model.Deliver(f)
			q.Ack()
			got, data := r.harvest(q, 4)
			require.Len(t, got, 1, "%d bytes", n)
			require.True(t, bytes.Equal(f, data[0]))
			require.Len(t, got[0].Pieces, (n+2047)/2048)
			require.NotZero(t, got[0].Flags&ring.ChecksumGood)
			q.Refill()
		}
		r.model.Deliver(ether(station, etheravb.MaxGbEthRecv+1, 1))
		_, data := r.harvest(q, 4)
		require.Empty(t, data)
		require.EqualValues(t, 1, q.RX.Stats().Length)
	})
	bus := bussim.New(model.New(model.Config{Variant: model.Gen3}), nil)
	_, err := mac.Open(t.Context(), bus, &mac.Config{Link: gigabit, MaxFrame: 4000}, ravb.RCar())
	require.ErrorIs(t, err, mac.ErrConfig)
}

package sun8i_test

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	bussim "github.com/barewire/barewire/mac/bus/sim"
	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/mac/internal/mii"
	"github.com/barewire/barewire/mac/phy"
	simphy "github.com/barewire/barewire/mac/sim/phy"
	model "github.com/barewire/barewire/mac/sim/sun8i"
	"github.com/barewire/barewire/mac/sun8i"
	"github.com/barewire/barewire/ring"
)

var (
	station = mac.HardwareAddr{2, 0, 0, 0, 0, 1}
	fast    = mac.Link{Up: true, Speed: 100, FullDuplex: true}
	gigabit = mac.Link{Up: true, Speed: 1000, FullDuplex: true}
)

// bed is a device on a model that does all DMA inline.
type bed struct {
	*testing.T
	model *model.Model
	bus   *bussim.Bus
	core  *sun8i.Core
	dev   *mac.Device
	queue *mac.Queue
	sent  [][]byte
}

// newBed opens and starts a device, in a bubble; link is fixed unless it is zero.
func newBed(t *testing.T, cfg model.Config, board sun8i.Board, link mac.Link) *bed {
	t.Helper()
	cfg.Inline = true
	b := &bed{T: t, model: model.New(cfg)}
	b.bus = bussim.New(b.model, nil)
	b.model.OnTransmit(func(f []byte) { b.sent = append(b.sent, bytes.Clone(f)) })
	var err error
	b.core, err = sun8i.NewBoard(b.bus, board)
	require.NoError(t, err)
	dev, err := mac.NewDevice(context.Background(), b.bus, b.core, &mac.Config{Address: station, Link: link, RXRing: 16, TXRing: 16})
	require.NoError(t, err)
	b.dev, b.queue = dev, dev.Queues()[0]
	if link.Up {
		b.model.SetLink(link) // of the PHY that is connected now
	}
	require.NoError(t, dev.Start())
	require.NoError(t, b.queue.Own())
	synctest.Wait()
	t.Cleanup(func() {
		b.queue.Disown()
		require.NoError(t, dev.Close())
		require.Empty(t, b.model.Violations().List())
		require.Empty(t, b.bus.Space().Violations().List())
	})
	return b
}

// exchange passes one frame each way.
func (b *bed) exchange() {
	b.Helper()
	f := make([]byte, 100)
	copy(f, station[:])
	f[12] = 0x88
	b.model.Deliver(f)
	frames := make([]ring.Frame, 4)
	b.queue.Ack()
	require.Equal(b, 1, b.queue.RX.Harvest(frames))
	p := frames[0].Pieces[0]
	require.Equal(b, f, b.queue.Pool.Bytes(p.Page)[p.Off:p.Off+p.Len])
	b.queue.Pool.Recycle(p.Page)
	b.queue.Refill()
	b.send(f)
	require.Equal(b, f, b.sent[len(b.sent)-1])
}

func (b *bed) send(f []byte) {
	b.Helper()
	tx := b.queue.LockTX()
	require.NotNil(b, tx)
	copy(tx.Reserve(len(f)), f)
	tx.Commit(ring.TXFrame{})
	b.queue.FlushTX()
	b.queue.UnlockTX()
}

// TestColdSoCs brings each SoC up from power-on, with the PHY asleep: in the SoC,
// and on the board.
func TestColdSoCs(t *testing.T) {
	for _, s := range emac.SoCs() {
		boards := map[string]sun8i.Board{"MII": {Interface: sun8i.MII, PHY: 5}}
		if s.InternalPHY {
			boards["internal"] = sun8i.Board{}
		}
		if s.RMII {
			boards["RMII"] = sun8i.Board{Interface: sun8i.RMII, PHY: 5}
		}
		if s.RGMII {
			boards["RGMII"] = sun8i.Board{Interface: sun8i.RGMII, RXDelay: 700, PHY: 5}
		}
		for name, board := range boards {
			t.Run(s.Name+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					cfg := model.Config{
						SoC: s.Name, Windows: true, Cold: true, StalePHY: true, PHYAddress: 5,
						InBandLink: name == "RGMII", PHY: simphy.Config{PoweredDown: true, Isolated: true},
					}
					link := fast
					if name == "RGMII" {
						link = mac.Link{}
					}
					b := newBed(t, cfg, board, link)
					if name == "RGMII" {
						require.Equal(t, gigabit, b.dev.Link())
					}
					require.Equal(t, s.Name, b.dev.Info().Version)
					at := 5
					if name == "internal" {
						at = 1
					}
					id, err := b.dev.MDIO().Read(at, mii.PHYID1)
					require.NoError(t, err)
					require.NotEqual(t, uint16(0xFFFF), id)
					b.exchange()
				})
			})
		}
	}
}

// TestResetWithoutPHY: a PHY that cannot be woken is said to be missing.
func TestResetWithoutPHY(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := model.New(model.Config{Inline: true, Windows: true, PHY: simphy.Config{PoweredDown: true}})
		bus := bussim.New(m, nil)
		began := time.Now()
		_, err := mac.Open(context.Background(), bus, &mac.Config{Link: gigabit}, sun8i.BoardDriver(sun8i.Board{PHY: 9}))
		require.ErrorIs(t, err, mac.ErrReset)
		require.ErrorContains(t, err, "no clock from the PHY")
		require.Less(t, time.Since(began), 2*time.Second)
		require.Zero(t, bus.Space().Live())
	})
}

// TestStopWithTheLinkDown: the frame in the FIFO is flushed, and idle is proved.
func TestStopWithTheLinkDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, model.Config{}, sun8i.Board{}, gigabit)
		b.model.SetLink(mac.Link{})
		b.send(make([]byte, 60))
		require.Equal(t, uint32(emac.TxWaitStatus), b.model.Read32(emac.TxDMASta))
		require.NoError(t, b.core.Stop())
	})
}

// TestOverflowIsCounted once for each time that the latch is found set.
func TestOverflowIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, model.Config{}, sun8i.Board{}, gigabit)
		f := make([]byte, 1514)
		copy(f, station[:])
		for range 60 { // 16 in the ring, 10 in the FIFO
			b.model.Deliver(f)
		}
		synctest.Wait()
		s := b.dev.Snapshot()
		require.Positive(t, b.model.Stats().Overflow)
		require.Positive(t, s.Hardware.RXOverflow)
		require.LessOrEqual(t, s.Hardware.RXOverflow, b.model.Stats().Overflow)
		require.Equal(t, s.Hardware.RXOverflow, s.Stats.RXFIFOErrors)
		require.Zero(t, s.Recoveries)
	})
}

// TestStarvedByAnotherName: an interrupt with the bit of a stopped DMA, while DMA
// only waits for buffers, is no reason for a reset.
func TestStarvedByAnotherName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, model.Config{}, sun8i.Board{}, gigabit)
		f := make([]byte, 60)
		copy(f, station[:])
		for range b.queue.RX.Posted() {
			b.model.Deliver(f)
		}
		require.EqualValues(t, emac.RxSuspended, b.model.Read32(emac.RxDMASta))
		b.model.RaiseStatus(emac.IntRxDMAStop)
		synctest.Wait()
		s := b.dev.Snapshot()
		require.Zero(t, s.Recoveries)
		require.EqualValues(t, 1, s.Queues[0].Starved)
		frames := make([]ring.Frame, 16)
		require.Equal(t, 16, b.queue.RX.Harvest(frames))
		for _, f := range frames {
			b.queue.Pool.Recycle(f.Pieces[0].Page)
		}
		b.queue.Refill()
		b.exchange()
	})
}

// TestFollowsThePHY: with package mac/phy the link of the PHY in the SoC, and of one
// on the board, is found, lost and found again.
func TestFollowsThePHY(t *testing.T) {
	for _, c := range []struct {
		name  string
		soc   string
		board sun8i.Board
		want  mac.Link
	}{
		{"internal", "H3", sun8i.Board{}, fast},
		{"RMII", "H6", sun8i.Board{Interface: sun8i.RMII}, fast},
		{"RGMII", "R40", sun8i.Board{Interface: sun8i.RGMII}, gigabit},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := model.New(model.Config{
					Inline: true, SoC: c.soc, Windows: true, Cold: true, StalePHY: true,
					PHY: simphy.Config{PoweredDown: true, Negotiation: 2 * time.Second},
				})
				dev, err := mac.Open(context.Background(), bussim.New(m, nil), &mac.Config{PHY: phy.At(phy.Options{Address: phy.Scan})}, sun8i.BoardDriver(c.board))
				require.NoError(t, err)
				defer func() { require.NoError(t, dev.Close()) }()
				require.NoError(t, dev.Start())
				require.False(t, dev.Link().Up)
				if c.want.Speed == 100 {
					m.PHY().Plug(simphy.Partner{Modes: simphy.UpTo100})
				}
				for range 2 {
					time.Sleep(4 * time.Second)
					synctest.Wait()
					require.Equal(t, c.want, dev.Link())
					m.PHY().Unplug()
					time.Sleep(2 * time.Second)
					synctest.Wait()
					require.False(t, dev.Link().Up)
					m.PHY().Plug(simphy.Partner{Modes: simphy.Modes(mii.ModeOf(c.want.Speed, true))})
				}
				require.Empty(t, m.Violations().List())
			})
		})
	}
}

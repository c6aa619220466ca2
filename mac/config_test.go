package mac

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/ring"
)

func TestConfigDefaults(t *testing.T) {
	r := newRig(t, nil)
	c := r.Config()
	require.Equal(t, "bus0", c.Name)
	require.Equal(t, HardwareAddr{2, 0, 0, 0, 0, 1}, c.Address)
	require.Equal(t, 1500, c.MTU)
	require.Equal(t, 1, c.Queues)
	require.Equal(t, 512, c.RXRing)
	require.Equal(t, 512, c.TXRing)
	require.Equal(t, 2048, c.PageSize)
	require.Equal(t, 1024, c.Pages)
	require.Equal(t, 512, c.MaxLent)
	require.Equal(t, 512*1536, c.Arena)
	require.Equal(t, time.Second, c.CloseTimeout)
	require.Equal(t, 5*time.Second, c.TXTimeout)
	require.Equal(t, 199-4, c.Coalesce.RXUsecs, "what the watchdog makes of 200")
	require.Equal(t, 32, c.Coalesce.TXFrames)
	require.NoError(t, r.Close())
}

func TestConfigDefaultsFollowCoreAndMTU(t *testing.T) {
	info := newFakeCore().info
	info.Ring.MaxSlots, info.Ring.Reserve = 256, 1
	c, err := Config{MTU: 9000}.withDefaults(info, &fakeBus{})
	require.NoError(t, err)
	require.Equal(t, 256, c.RXRing, "what the core can do")
	require.Equal(t, 9088, c.PageSize, "one page for a frame: 9000 + 14 + 8 + 4, rounded up to lines")
	require.Equal(t, 512-255, c.MaxLent, "one slot is never posted")

	c, err = Config{RXRing: 64, TXRing: 16, Pages: 32}.withDefaults(info, &fakeBus{})
	require.NoError(t, err)
	require.Equal(t, 1, c.MaxLent, "fewer pages than slots")
	require.Equal(t, 256<<10, c.Arena, "never less")

	require.Equal(t, ring.DefaultCoalesce(), *c.Coalesce)
	info.RXUsecs = 30
	c, err = Config{}.withDefaults(info, &fakeBus{})
	require.NoError(t, err)
	require.Equal(t, 30, c.Coalesce.RXUsecs, "the core's own")
	require.Equal(t, ring.DefaultCoalesce().TXFrames, c.Coalesce.TXFrames)

	info.Address = HardwareAddr{0xff, 1, 2, 3, 4, 5}
	c, err = Config{}.withDefaults(info, &fakeBus{})
	require.NoError(t, err)
	require.True(t, c.Address.Usable())
	require.EqualValues(t, 2, c.Address[0]&3, "locally administered, no group")
}

func TestConfigRefuses(t *testing.T) {
	for _, tc := range []struct {
		spoil func(c *Config)
		want  string
	}{
		{func(c *Config) { c.MTU = 67 }, "mac: MTU 67: fake takes 68 to 9000: invalid configuration"},
		{func(c *Config) { c.MTU = 9001 }, "mac: MTU 9001: fake takes 68 to 9000: invalid configuration"},
		{func(c *Config) { c.MTU = -1 }, "mac: MTU -1: fake takes 68 to 9000: invalid configuration"},
		{func(c *Config) { c.Queues = 3 }, "mac: queues 3: fake takes 1 to 2: invalid configuration"},
		{func(c *Config) { c.Queues = -1 }, "mac: queues -1: fake takes 1 to 2: invalid configuration"},
		{func(c *Config) { c.RXRing = 3 }, "mac: receive ring 3: fake takes 4 to 1024: invalid configuration"},
		{func(c *Config) { c.RXRing = 1025 }, "mac: receive ring 1025: fake takes 4 to 1024: invalid configuration"},
		{func(c *Config) { c.TXRing = 1025 }, "mac: transmit ring 1025: fake takes 4 to 1024: invalid configuration"},
		{func(c *Config) { c.PageSize = 192 }, "mac: page size 192: fake takes 256 to 65536: invalid configuration"},
		{func(c *Config) { c.PageSize = 65600 }, "mac: page size 65600: fake takes 256 to 65536: invalid configuration"},
		{func(c *Config) { c.PageSize = 2000 }, "mac: page size 2000: must be a multiple of 64: invalid configuration"},
		{func(c *Config) { c.Pages = -1 }, "mac: pages -1: fake takes 1 to 1048576: invalid configuration"},
		{func(c *Config) { c.MaxLent = 17 }, "mac: loan limit 17: fake takes 0 to 16: invalid configuration"},
		{func(c *Config) { c.MaxLent = -1 }, "mac: loan limit -1: fake takes 0 to 16: invalid configuration"},
		{func(c *Config) { c.CopyBreak = -1 }, "mac: copy break -1: 0 measures it, more is a length in bytes: invalid configuration"},
		{func(c *Config) { c.Arena = 1024 }, "mac: arena 1024: fake takes 1536 to 1073741824: invalid configuration"},
		{func(c *Config) { c.CloseTimeout = -1 }, "mac: close timeout -1ns, transmit timeout 5s: cannot be negative: invalid configuration"},
		{func(c *Config) { c.TXTimeout = -time.Second }, "mac: close timeout 1s, transmit timeout -1s: cannot be negative: invalid configuration"},
		{func(c *Config) { c.Address = Broadcast }, "mac: address ff:ff:ff:ff:ff:ff: a station's own address is neither zero nor a group: invalid configuration"},
		{func(c *Config) { c.Coalesce = &ring.Coalesce{TXUsecs: -1} }, "ring: tx-usecs -1: must be 0 to 100000: coalescing value refused"},
	} {
		cfg := small()
		tc.spoil(cfg)
		r, err := tryRig(t, cfg)
		require.EqualError(t, err, tc.want)
		require.Nil(t, r.Device)
		require.Empty(t, r.bus.memory, "nothing was allocated")
		require.Equal(t, []string{"bus.Close"}, r.core.log(), "no register was touched")
	}
}

func TestNewDeviceFreesEverythingWhenAStepFails(t *testing.T) {
	step := func(name string, n int) func(*fakeCore, *fakeBus) {
		return func(c *fakeCore, _ *fakeBus) { c.fail[name] = append(make([]error, n), errTest) }
	}
	alloc := func(n int) func(*fakeCore, *fakeBus) { return func(_ *fakeCore, b *fakeBus) { b.failAt = n } }
	for _, tc := range []struct {
		prepare func(*fakeCore, *fakeBus)
		want    string
	}{
		{step("Reset", 0), "mac: bus0: reset fake: injected"},
		{alloc(1), "mac: bus0: queue 0: allocate receive ring: injected"},
		{alloc(2), "mac: bus0: queue 0: allocate transmit ring: injected"},
		{alloc(3), "mac: bus0: queue 0: allocate transmit arena: injected"},
		{alloc(4), "mac: bus0: queue 0: allocate receive pages: injected"},
		{alloc(8), "mac: bus0: queue 1: allocate receive pages: injected"},
		{step("NewRX", 0), "mac: bus0: queue 0: receive ring: injected"},
		{step("NewRX", 1), "mac: bus0: queue 1: receive ring: injected"},
		{step("NewTX", 0), "mac: bus0: queue 0: transmit ring: injected"},
		{step("Configure", 0), "mac: bus0: configure fake: injected"},
		{step("SetFilter", 0), "mac: bus0: program filter: injected"},
		{step("SetWatchdog", 0), "mac: bus0: injected"},
		{step("SetWatchdog", 1), "mac: bus0: injected"},
		{func(_ *fakeCore, b *fakeBus) { b.noIRQ = errTest }, "mac: bus0: open interrupt: injected"},
	} {
		t.Run(tc.want, func(t *testing.T) {
			cfg := small()
			cfg.Queues = 2
			r, err := tryRig(t, cfg, tc.prepare)
			require.EqualError(t, err, tc.want)
			require.ErrorIs(t, err, errTest)
			require.NoError(t, r.bus.released())
			require.Equal(t, 1, r.bus.closed)
			log := r.core.log()
			require.Equal(t, "bus.Close", log[len(log)-1], "the bus goes last")
			require.NotContains(t, log, "Start")
		})
	}
}

func TestNewDeviceNeedsALink(t *testing.T) {
	noLink := func(c *fakeCore, _ *fakeBus) { c.noLink = true }
	r, err := tryRig(t, small(), noLink)
	require.EqualError(t, err, "mac: bus0: fake knows no link state by itself: give its PHY as Config.PHY or the fixed link as Config.Link: invalid configuration")
	require.NoError(t, r.bus.released())
	require.Contains(t, r.core.log(), "irq.Close")

	cfg := small()
	cfg.Link = gigabit
	r, err = tryRig(t, cfg, noLink)
	require.NoError(t, err)
	require.NoError(t, r.Close())
}

// wiredBus is a bus whose machine is described.
type wiredBus struct {
	fakeBus
	wiring Wiring
}

func (b *wiredBus) Wiring() Wiring { return b.wiring }

// What the caller says goes first, then what the machine's description says, then
// the core's register, then a random address.
func TestConfigDefaultsFollowTheWiring(t *testing.T) {
	info := newFakeCore().info
	register, assigned, given := info.Address, HardwareAddr{2, 0, 0, 0, 0, 9}, HardwareAddr{2, 0, 0, 0, 0, 10}
	slow := Link{Up: true, Speed: 100}
	for _, c := range []struct {
		cfg     Config
		wiring  Wiring
		address HardwareAddr
		link    Link
	}{
		{Config{}, Wiring{}, register, Link{}},
		{Config{}, Wiring{Address: assigned, Link: gigabit}, assigned, gigabit},
		{Config{}, Wiring{Address: Broadcast}, register, Link{}},
		{Config{Address: given, Link: slow}, Wiring{Address: assigned, Link: gigabit}, given, slow},
	} {
		got, err := c.cfg.withDefaults(info, &wiredBus{wiring: c.wiring})
		require.NoError(t, err)
		require.Equal(t, c.address, got.Address)
		require.Equal(t, c.link, got.Link)
	}
}

// The device is reset before any memory is taken for it, and what it may do DMA
// to is aligned and within its reach.
func TestNewDeviceAllocatesAfterTheReset(t *testing.T) {
	cfg := small()
	cfg.Queues = 2
	r, err := tryRig(t, cfg, func(c *fakeCore, b *fakeBus) {
		c.hook = func(call string) {
			if call == "Reset" {
				require.Empty(t, b.memory)
			}
		}
	})
	require.NoError(t, err)
	require.Len(t, r.bus.memory, 8)
	for i, m := range r.bus.memory {
		require.Equal(t, 32, m.alloc.AddressBits)
		require.Equal(t, []Use{Descriptors, Descriptors, TXBuffers, RXBuffers}[i%4], m.alloc.Use)
		require.Equal(t, []int{8 * 16, 8 * 16, 256 << 10, 16 * 2048}[i%4], m.alloc.Size)
		require.GreaterOrEqual(t, m.alloc.Align, 64)
	}
	require.Equal(t, Setup{
		RXQueues: 2, TXQueues: 2, MTU: 1500, Address: r.Address(), BufferSize: 2048, RXChecksum: true, TXChecksum: true,
	}, r.core.setup)
	require.NoError(t, r.Close())
}

func TestFramesLongerThanTheMTU(t *testing.T) {
	cfg := small()
	cfg.MaxFrame = 8192
	inBubble(t, cfg, func(t *testing.T, r *rig) {
		require.Equal(t, 8192, r.core.setup.MaxFrame)
		require.NoError(t, r.SetMTU(1000))
		require.EqualValues(t, 8192, r.Queues()[0].maxFrame.Load(), "whatever the MTU")
	}, func(c *fakeCore, _ *fakeBus) { c.info.MaxFrame = 8192 })
	r := newRig(t, small(), func(c *fakeCore, _ *fakeBus) { c.info.MaxFrame = 8192 })
	require.NoError(t, r.SetMTU(1000))
	require.EqualValues(t, 1022, r.Queues()[0].maxFrame.Load())
	require.NoError(t, r.Close())
}

func TestNewDeviceLeavesChecksumsOff(t *testing.T) {
	cfg := small()
	cfg.NoRXChecksum, cfg.NoTXChecksum = true, true
	r := newRig(t, cfg)
	require.False(t, r.core.setup.RXChecksum || r.core.setup.TXChecksum || r.RXChecksum() || r.TXChecksum())
	require.NoError(t, r.Close())
}

func TestBufferSizeFitsPageAndCore(t *testing.T) {
	cfg := small()
	cfg.PageSize, cfg.Pages, cfg.MTU = 16384, 16, 9000
	r := newRig(t, cfg)
	require.Equal(t, 16320, r.core.setup.BufferSize)
	require.NoError(t, r.Close())
}

func TestHardwareAddr(t *testing.T) {
	a, err := ParseHardwareAddr("02:00:5e:10:00:01")
	require.NoError(t, err)
	require.Equal(t, "02:00:5e:10:00:01", a.String())
	require.True(t, a.Usable())
	require.False(t, HardwareAddr{}.Usable())
	require.False(t, Broadcast.Usable())
	require.True(t, Broadcast.Multicast())
	_, err = ParseHardwareAddr("02:00:5e:10:00:01:00:00")
	require.EqualError(t, err, "mac: address 02:00:5e:10:00:01:00:00 has 8 bytes: need 6")
	_, err = ParseHardwareAddr("nonsense")
	require.ErrorContains(t, err, "mac: address nonsense")
	for range 100 {
		require.True(t, RandomAddress().Usable())
	}
}

func TestLinkString(t *testing.T) {
	for want, l := range map[string]Link{
		"down":                                 {Speed: 100},
		"up 100 Mb/s half duplex":              {Up: true, Speed: 100},
		"up 1000 Mb/s full duplex pause rx/tx": gigabit,
		"up 10 Mb/s full duplex pause rx":      {Up: true, Speed: 10, FullDuplex: true, RXPause: true},
		"up 10 Mb/s full duplex pause tx":      {Up: true, Speed: 10, FullDuplex: true, TXPause: true},
	} {
		require.Equal(t, want, l.String())
	}
}

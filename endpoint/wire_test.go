package endpoint_test

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/barewire/barewire/endpoint"
	"github.com/barewire/barewire/endpoint/netstack"
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/fake"
	"github.com/barewire/barewire/mac/sim"
	model "github.com/barewire/barewire/mac/sim/dwmac4"
	"github.com/barewire/barewire/ring"
)

// immediate interrupts for each frame, so that a test need not wait.
var immediate = &ring.Coalesce{RXFrames: 1, TXFrames: 32, TXUsecs: 1000}

// TestDestinationAddress: what is not for this station is not delivered, even
// when the hardware's filter lets it through.
func TestDestinationAddress(t *testing.T) {
	m, ep, r := single(t, nodeOptions{fake: fake.Options{Config: mac.Config{Coalesce: immediate}}}, true)
	to := func(dst mac.HardwareAddr) []byte {
		f := udpFrame(m, 100)
		copy(f, dst[:])
		return f
	}
	other := mac.HardwareAddr{2, 0, 0, 0, 0, 0x55}
	group := mac.HardwareAddr{0x01, 0x00, 0x5e, 0, 0, 0xfb}
	unknown := mac.HardwareAddr{0x01, 0x00, 0x5e, 0x11, 0x22, 0x33}
	arrives := func(f []byte, kind tcpip.PacketType) {
		t.Helper()
		before := r.count.Load()
		m.Send(f)
		eventually(t, "delivery", func() bool { return r.count.Load() == before+1 })
		r.mu.Lock()
		require.Equal(t, kind, r.pkts[len(r.pkts)-1].PktType)
		r.mu.Unlock()
	}
	arrives(to(m.Address()), tcpip.PacketHost)
	arrives(to(mac.Broadcast), tcpip.PacketBroadcast)
	arrives(to(unknown), tcpip.PacketMulticast) // all groups, until told otherwise

	require.NoError(t, ep.JoinGroup(tcpip.LinkAddress(group[:])))
	delivered := r.count.Load()
	m.Send(to(unknown))
	m.Send(to(other))
	arrives(to(group), tcpip.PacketMulticast)
	require.Equal(t, delivered+1, r.count.Load(), "neither an unknown group nor another station")
	require.NoError(t, ep.LeaveGroup(tcpip.LinkAddress(group[:])))
	require.ErrorIs(t, ep.LeaveGroup(tcpip.LinkAddress(group[:])), mac.ErrConfig)

	// A second station address, in hardware and software.
	require.NoError(t, m.AddUnicast(other))
	arrives(to(other), tcpip.PacketHost)
	require.NoError(t, m.RemoveUnicast(other))

	// Promiscuous: packet sockets see it, network protocols do not.
	require.NoError(t, m.SetPromiscuous(true))
	delivered = r.count.Load()
	m.Send(to(other))
	eventually(t, "delivery to packet sockets", func() bool { return r.link.Load() == 1 })
	require.Equal(t, delivered, r.count.Load())
	require.NoError(t, m.SetPromiscuous(false))

	// Our own frame, looped back.
	own := to(mac.Broadcast)
	a := m.Address()
	copy(own[6:], a[:])
	m.Send(own)
	eventually(t, "own frame dropped", func() bool { return ep.Stats().RXOwn == 1 })
}

// TestBadFrames sends what no driver should trust and then a good frame, which
// must arrive alone. Everything else is in a counter.
func TestBadFrames(t *testing.T) {
	m, _, r := single(t, nodeOptions{fake: fake.Options{Config: mac.Config{Coalesce: immediate}, Core: fake.GMAC5(model.Config{JunkLengths: true})}}, true)
	wire := func(frame []byte, good bool) []byte {
		sum := crc32.ChecksumIEEE(frame)
		if !good {
			sum ^= 0xff
		}
		return binary.LittleEndian.AppendUint32(append([]byte(nil), frame...), sum)
	}
	good := udpFrame(m, 200)
	bad := 0
	for n := range 60 { // runts, down to nothing
		m.Model().(*model.Model).DeliverWire(wire(good[:n], n%2 == 0))
		bad++
	}
	m.Model().(*model.Model).DeliverWire(wire(good, false)) // bad FCS
	for _, n := range []int{1523, 2048, 9019, 16384, 40000} {
		giant := make([]byte, n)
		copy(giant, good)
		m.Model().(*model.Model).DeliverWire(wire(giant, true))
	}
	for _, f := range []sim.Fault{sim.BadCRC, sim.BadLength, sim.Overflow, sim.Truncated, sim.MissingFirst} {
		m.Faults().Once(f)
		m.Send(good)
	}
	m.Send(good)
	eventually(t, "the good frame", func() bool { return r.count.Load() >= 1 })
	for i := range 100 { // and many more
		m.Send(good)
		want := int64(i + 2)
		eventually(t, "good frames", func() bool { return r.count.Load() >= want })
	}
	require.EqualValues(t, 101, r.count.Load(), "only the good frames")
	r.mu.Lock()
	for _, p := range r.pkts {
		require.Equal(t, len(good), p.Size())
	}
	r.mu.Unlock()
	s := m.Stats()
	require.Positive(t, s.RXErrors)
	require.Positive(t, s.RXCRCErrors+m.Snapshot().Hardware.RXCRC)
	require.Positive(t, s.RXLengthErrors+m.Snapshot().Hardware.RXOversize)
}

// TestChecksums: a packet with a wrong checksum never reaches a socket and one
// with a right checksum always does, whether the hardware checks it or not.
func TestChecksums(t *testing.T) {
	for name, cfg := range map[string]mac.Config{"offload": {Coalesce: immediate}, "software": {Coalesce: immediate, NoRXChecksum: true}} {
		t.Run(name, func(t *testing.T) {
			m, err := fake.New(&fake.Options{Config: cfg})
			require.NoError(t, err)
			ep, err := endpoint.New(m.Device, &endpoint.Options{GRO: true})
			require.NoError(t, err)
			host, err := netstack.New(ep, &netstack.Options{Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/24")}, NoLinkLocal6: true})
			require.NoError(t, err)
			defer func() { require.NoError(t, host.Close()) }()
			pc, err := host.ListenPacket(context.Background(), "udp", "192.0.2.1:2")
			require.NoError(t, err)

			frames := map[string]struct {
				frame []byte
				good  bool
			}{}
			add := func(name string, f []byte, good bool) {
				frames[name] = struct {
					frame []byte
					good  bool
				}{f, good}
			}
			flip := func(f []byte, at int) []byte {
				f = append([]byte(nil), f...)
				f[at] ^= 0x10
				return f
			}
			plain := udpFrame(m, 100)
			add("plain", plain, true)
			add("wrong UDP checksum", flip(plain, 40), false)
			add("wrong payload byte", flip(plain, 90), false)
			add("wrong IP checksum", flip(plain, 24), false)
			none := append([]byte(nil), plain...)
			none[40], none[41] = 0, 0
			add("no UDP checksum", none, true)
			add("padded with junk", append(udpFrame(m, 4), []byte("junk of padding!")...), true)
			withOptions := func(corrupt bool) []byte {
				f := append([]byte(nil), plain[:34]...)
				f = append(f, 1, 1, 1, 0)
				f = append(f, plain[34:]...)
				ip := header.IPv4(f[14:])
				ip.SetHeaderLength(24)
				ip.SetTotalLength(ip.TotalLength() + 4)
				ip.SetChecksum(0)
				ip.SetChecksum(^ip.CalculateChecksum())
				if corrupt {
					f[80] ^= 1
				}
				return f
			}
			add("IP options", withOptions(false), true)
			add("IP options, wrong payload byte", withOptions(true), false)

			buf := make([]byte, 2000)
			recv := func(d time.Duration) (int, error) {
				pc.SetReadDeadline(time.Now().Add(d))
				n, _, err := pc.ReadFrom(buf)
				return n, err
			}
			for name, f := range frames {
				m.Send(f.frame)
				// A good frame with a length of its own after each tells when it is done.
				m.Send(udpFrame(m, 333))
				if f.good {
					n, err := recv(patience)
					require.NoError(t, err, name)
					require.NotEqual(t, 333, n, "%s was lost", name)
				}
				n, err := recv(patience)
				require.NoError(t, err, name)
				require.Equal(t, 333, n, "%s was delivered", name)
			}

			// Fragments: nobody has checked the UDP checksum until they are joined.
			for _, corrupt := range []bool{false, true} {
				for _, f := range fragments(m, 1000, corrupt) {
					m.Send(f)
				}
				m.Send(udpFrame(m, 333))
				want := 1000
				if corrupt {
					want = 333
				}
				n, err := recv(patience)
				require.NoError(t, err)
				require.Equal(t, want, n, "fragments, corrupt %v", corrupt)
				if !corrupt {
					n, err = recv(patience)
					require.NoError(t, err)
					require.Equal(t, 333, n)
				}
			}
		})
	}
}

// fragments cuts a datagram of n bytes in two.
func fragments(m *fake.MAC, n int, corrupt bool) [][]byte {
	whole := udpFrame(m, n)
	if corrupt {
		whole[len(whole)-1] ^= 1
	}
	payload := whole[34:]
	const cut = 504
	var out [][]byte
	for i, part := range [][]byte{payload[:cut], payload[cut:]} {
		f := append([]byte(nil), whole[:34]...)
		f = append(f, part...)
		ip := header.IPv4(f[14:])
		ip.SetTotalLength(uint16(20 + len(part)))
		flags := uint8(0)
		if i == 0 {
			flags = header.IPv4FlagMoreFragments
		}
		ip.SetID(77)
		ip.SetFlagsFragmentOffset(flags, uint16(i*cut))
		ip.SetChecksum(0)
		ip.SetChecksum(^ip.CalculateChecksum())
		out = append(out, f)
	}
	return out
}

// TestDatagramSizes carries UDP of every interesting size both ways, far above
// the MTU too: fragments then, whose checksum no hardware can insert.
func TestDatagramSizes(t *testing.T) {
	for name, cfg := range map[string]mac.Config{"offload": {Coalesce: immediate}, "software": {Coalesce: immediate, NoTXChecksum: true, NoRXChecksum: true}} {
		t.Run(name, func(t *testing.T) {
			o := nodeOptions{fake: fake.Options{Config: cfg}}
			a, b := pair(t, o, o)
			ctx := testContext(t)
			for _, addr := range []netip.Addr{b.ip4, b.ip6} {
				pc, err := b.host.ListenPacket(ctx, "udp", netip.AddrPortFrom(addr, 7).String())
				require.NoError(t, err)
				go echo(pc)
				c, err := a.host.DialContext(ctx, "udp", pc.LocalAddr().String())
				require.NoError(t, err)
				buf := make([]byte, 65536)
				for _, n := range []int{1, 17, 18, 19, 100, 1452, 1453, 1472, 1473, 2000, 5000, 9000, 30000, 65000} {
					msg := make([]byte, n)
					for i := range msg {
						msg[i] = byte(i * n)
					}
					_, err := c.Write(msg)
					require.NoError(t, err)
					require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
					got, err := c.Read(buf)
					require.NoError(t, err, "%d bytes over %v", n, addr)
					require.Equal(t, msg, buf[:got])
				}
				require.NoError(t, c.Close())
				require.NoError(t, pc.Close())
			}
			require.Zero(t, b.host.Stack().Stats().UDP.ChecksumErrors.Value())
		})
	}
}

func echo(pc net.PacketConn) {
	buf := make([]byte, 65536)
	for {
		n, from, err := pc.ReadFrom(buf)
		if err != nil {
			return
		}
		if _, err := pc.WriteTo(buf[:n], from); err != nil {
			return
		}
	}
}

// TestTooLong: a packet above the MTU is refused and counted.
func TestTooLong(t *testing.T) {
	m, ep, _ := single(t, nodeOptions{}, false)
	var list stack.PacketBufferList
	long, fits := packet(make([]byte, 1515)), packet(make([]byte, 1514))
	defer long.DecRef()
	defer fits.DecRef()
	list.PushBack(long)
	list.PushBack(fits)
	n, err := ep.WritePackets(list)
	require.Equal(t, 1, n)
	require.IsType(t, &tcpip.ErrMessageTooLong{}, err)
	require.EqualValues(t, 1, ep.Stats().TXTooLong)
	require.EqualValues(t, 1, m.Stats().TXDropped)

	ep.SetMTU(3000)
	require.EqualValues(t, 3000, ep.MTU())
	n, err = ep.WritePackets(list)
	require.Equal(t, 2, n)
	require.Nil(t, err)
	ep.SetMTU(20) // refused, logged
	require.EqualValues(t, 3000, ep.MTU())
}

package dwxgmac2_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/xgmac2"
	"github.com/barewire/barewire/mac/mactest"
	model "github.com/barewire/barewire/mac/sim/dwxgmac2"
)

// The key that the package documents, and a Toeplitz hash of its own.
var documentedKey = [...]byte{
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0,
	0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c,
	0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
}

func toeplitz(input []byte) (hash uint32) {
	keyBits := func(at int) (v uint32) { // 32 bits of the key from bit at on
		for i := range 32 {
			bit := (at + i) % (8 * len(documentedKey))
			v = v<<1 | uint32(documentedKey[bit/8]>>(7-bit%8)&1)
		}
		return v
	}
	for i := range 8 * len(input) {
		if input[i/8]>>(7-i%8)&1 != 0 {
			hash ^= keyBits(i)
		}
	}
	return hash
}

func TestToeplitz(t *testing.T) {
	// From Microsoft's "Verifying the RSS Hash Calculation": source and destination
	// address and port.
	require.Equal(t, uint32(0x51ccc178), toeplitz([]byte{66, 9, 149, 187, 161, 142, 100, 80, 2794 >> 8, 2794 & 0xff, 1766 >> 8, 1766 & 0xff}))
	require.Equal(t, uint32(0x323e8fc2), toeplitz([]byte{66, 9, 149, 187, 161, 142, 100, 80}))
}

// udp4 is a datagram of n bytes from a port of 10.0.0.2 to port 80 of 10.0.0.1.
func udp4(to mac.HardwareAddr, port uint16, n, number int) []byte {
	f := make([]byte, n)
	copy(f, to[:])
	copy(f[6:], []byte{2, 0, 0, 0, 0, 2, 8, 0, 0x45})
	ip, udp := f[14:34], f[34:]
	binary.BigEndian.PutUint16(ip[2:], uint16(n-14))
	ip[8], ip[9] = 64, 17
	copy(ip[12:], []byte{10, 0, 0, 2, 10, 0, 0, 1})
	sum := uint32(0)
	for i := 0; i < 20; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	binary.BigEndian.PutUint16(ip[10:], ^uint16(sum+sum>>16))
	binary.BigEndian.PutUint16(udp, port)
	binary.BigEndian.PutUint16(udp[2:], 80)
	binary.BigEndian.PutUint16(udp[4:], uint16(len(udp)))
	for i := 8; i < len(udp); i++ { // no checksum
		udp[i] = byte(i + number)
	}
	return f
}

// queueOf is the queue of udp4's flow by the documented key and table.
func queueOf(port uint16, queues int) int {
	hash := toeplitz([]byte{10, 0, 0, 2, 10, 0, 0, 1, byte(port >> 8), byte(port), 0, 80})
	return int(hash&0xff) % queues
}

// TestQueues is the suite for several queues, once with RSS and once with a FIFO queue
// for each channel.
func TestQueues(t *testing.T) {
	const count = 4
	var ports [count]uint16 // of a flow for each queue
	for port := uint16(1000); port < 2000; port++ {
		ports[queueOf(port, count)] = port
	}
	c := full()
	c.Model = hardware(model.Config{Version: 0x32, Queues: count})
	t.Run("RSS", func(t *testing.T) {
		mactest.RunQueues(t, c, mactest.Queues{Count: count, Frame: func(to mac.HardwareAddr, queue, n, number int) []byte {
			return udp4(to, ports[queue], n, number)
		}})
	})
	c.Name = "dwxgmac2 3.20 without RSS"
	c.Model = hardware(model.Config{Version: 0x32, Queues: count, NoRSS: true, RXFIFO: 256 << 10})
	t.Run("VLAN", func(t *testing.T) {
		mactest.RunQueues(t, c, mactest.Queues{Count: count, Frame: func(to mac.HardwareAddr, queue, n, number int) []byte {
			f := udp4(to, 1000, n-4, number)
			tag := []byte{0x81, 0, byte(2*queue) << 5, 1} // priorities 0 and 1 are of queue 0, and so on
			return append(append(f[:12:12], tag...), f[12:]...)
		}})
	})
}

// TestFlowsSpread: flows go over all queues by the documented key and table, and each
// stays where it is.
func TestFlowsSpread(t *testing.T) {
	const queues, flows = 8, 512
	m, dev := open(t, model.Config{Queues: queues}, mac.Config{Queues: queues})
	var want [queues]uint64
	for range 2 {
		for flow := range flows {
			m.Deliver(udp4(dev.Address(), uint16(5000+flow), 100, 0))
			want[queueOf(uint16(5000+flow), queues)]++
			for _, q := range dev.Queues() {
				drain(t, q)
			}
		}
	}
	for q := range queues {
		require.Equal(t, want[q], m.Stats().RX[q], "queue %d", q)
		require.InDelta(t, 2*flows/queues, want[q], flows/queues, "flows are spread")
		require.Equal(t, want[q], dev.Queues()[q].RX.Stats().Frames)
	}
	// What is not IP goes to queue 0.
	f := udp4(dev.Address(), 1, 100, 0)
	f[12], f[13] = 0x88, 0xb5
	before := m.Stats().RX[0]
	m.Deliver(f)
	require.Equal(t, before+1, m.Stats().RX[0])
	require.EqualValues(t, xgmac2.RxQDMADynamic*0x01010101, m.Read32(xgmac2.RxQDMAMap(0)))
	require.EqualValues(t, 0xF, m.Read32(xgmac2.MACRSSControl))
}

package endpoint

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/fake"
)

// asker is a dispatcher that asks for the receive capability as netstack does.
type asker struct {
	ep        *Endpoint
	each      func() // called with every delivery
	validated []bool
	sizes     []int
}

func (a *asker) DeliverNetworkPacket(_ tcpip.NetworkProtocolNumber, pkt *stack.PacketBuffer) {
	a.validated = append(a.validated, a.ep.Capabilities()&stack.CapabilityRXChecksumOffload != 0)
	a.sizes = append(a.sizes, pkt.Data().Size())
	if a.each != nil {
		a.each()
	}
}

func (a *asker) DeliverLinkPacket(tcpip.NetworkProtocolNumber, *stack.PacketBuffer) {}

func received(frame []byte) *stack.PacketBuffer {
	pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(frame)})
	pkt.NetworkProtocolNumber = header.Ethernet(frame).Type()
	pkt.LinkHeader().Consume(header.EthernetMinimumSize)
	return pkt
}

// segment is a TCP segment of 100 bytes, the nth of its flow.
func segment(n int) []byte {
	tcp := tcpHeader(0)
	header.TCP(tcp).SetSequenceNumber(uint32(100 * n))
	return ipv4(protoTCP, nil, tcp, pattern(100))
}

// TestJoinedAndUnvouched: what GRO has joined has stale checksums. It must be
// called verified even though another queue delivers, at the same moment, a packet
// that is not.
func TestJoinedAndUnvouched(t *testing.T) {
	m, err := fake.New(&fake.Options{Config: mac.Config{Queues: 2}})
	require.NoError(t, err)
	ep, err := New(m.Device, &Options{GRO: true})
	require.NoError(t, err)
	defer ep.Close()
	var p [2]*poller
	for i := range p {
		p[i], err = newPoller(ep, ep.dev.Queues()[i])
		require.NoError(t, err)
		defer p[i].q.Disown()
	}

	joined := &asker{ep: ep}
	p[1].joined.NetworkDispatcher = joined
	flushed := make(chan struct{})
	unvouched := &asker{ep: ep, each: func() {
		go func() {
			defer close(flushed)
			for n := range 3 {
				p[1].hand(joined, received(segment(n)), true)
			}
			p[1].flush()
		}()
		for range 1000 { // let it come as far as it can
			runtime.Gosched()
		}
	}}
	p[0].joined.NetworkDispatcher = unvouched
	p[0].hand(unvouched, received(segment(0)), false)
	<-flushed
	require.Equal(t, []bool{false}, unvouched.validated)
	require.Equal(t, []int{20 + 20 + 300}, joined.sizes)
	require.Equal(t, []bool{true}, joined.validated)
	require.True(t, ep.Capabilities()&stack.CapabilityRXChecksumOffload != 0)
}

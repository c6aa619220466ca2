package dwxgmac2

import (
	"encoding/binary"
	"sync"

	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/xgmac2"
	"github.com/barewire/barewire/mac/sim/internal/eqos"
	"github.com/barewire/barewire/mac/sim/internal/offload"
)

// rss is key and table of the receive-side scaling, behind MAC_RSS_Address and
// MAC_RSS_Data. An access is busy until the address register has been read once. The
// order of the key's words is stmmac's, one of two that there are.
type rss struct {
	mu    sync.Mutex
	key   [4 * xgmac2.RSSKeyWords]byte
	table [xgmac2.RSSTableSize]uint8
	busy  bool
}

// access is a write to MAC_RSS_Address. It returns the data register, and false when
// an access was busy.
func (r *rss) access(addr, data uint32) (uint32, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if addr&xgmac2.RSSAddrOB == 0 {
		return data, true
	}
	if r.busy {
		return data, false
	}
	r.busy = true
	i := int(field.Get(xgmac2.RSSAddrRSSIA, addr))
	key, read := addr&xgmac2.RSSAddrADDRT != 0, addr&xgmac2.RSSAddrCT != 0
	switch {
	case key && i >= xgmac2.RSSKeyWords:
	case key && read:
		data = binary.LittleEndian.Uint32(r.key[4*i:])
	case key:
		binary.LittleEndian.PutUint32(r.key[4*i:], data)
	case read:
		data = uint32(r.table[i])
	default:
		r.table[i] = uint8(data & xgmac2.RSSChannel)
	}
	return data, true
}

// done reports whether an access is busy, for the last time.
func (r *rss) done() (busy bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	busy, r.busy = r.busy, false
	return busy
}

func (r *rss) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.key[:])
	clear(r.table[:])
	r.busy = false
}

// channel is the DMA channel of a hash.
func (r *rss) channel(hash uint32) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return int(r.table[hash%xgmac2.RSSTableSize])
}

// toeplitz is the Toeplitz hash of input: the key shifted left by i, its top 32 bits,
// for each bit i of the input that is set.
func (r *rss) toeplitz(input []byte) (hash uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	window := binary.BigEndian.Uint32(r.key[:])
	for i, b := range input {
		next := r.key[(i+4)%len(r.key)]
		for bit := 7; bit >= 0; bit-- {
			if b>>bit&1 != 0 {
				hash ^= window
			}
			window = window<<1 | uint32(next>>bit&1)
		}
	}
	return hash
}

// hash gives a frame its hash: of addresses and ports where MAC_RSS_Control says so,
// of addresses for all other IP, none for what is not IP. An IP header with options
// or extensions, and a fragment, have no ports.
func (m *chip) hash(a *eqos.Arrival) {
	control := m.Load(xgmac2.MACRSSControl)
	if m.cfg.NoRSS || control&xgmac2.RSSControlRSSE == 0 {
		return
	}
	v := offload.Check(a.Frame)
	_, at, ok := offload.EtherType(a.Frame, 1)
	if !ok || v.HeaderError || !v.IPv4 && !v.IPv6 {
		return
	}
	ip := a.Frame[at:]
	var input [36]byte // two IPv6 addresses and two ports
	n := 0
	if v.IPv4 {
		n = copy(input[:], ip[12:20])
	} else {
		n = copy(input[:], ip[8:40])
	}
	ports := v.Payload == offload.TCP && control&xgmac2.RSSControlTCP4TE != 0 ||
		v.Payload == offload.UDP && control&xgmac2.RSSControlUDP4TE != 0
	switch {
	case ports && len(ip) >= v.Header+4:
		n += copy(input[n:], ip[v.Header:v.Header+4])
	case control&xgmac2.RSSControlIP2TE == 0:
		return
	}
	a.Hash, a.Hashed = m.rss.toeplitz(input[:n]), true
}

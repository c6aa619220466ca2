package dwxgmac2

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/xgmac2"
)

// rssLimit bounds one access to key or table.
const rssLimit = 10 * time.Millisecond

// rssKey is the key of the Toeplitz hash: that of Microsoft's "Verifying the RSS Hash
// Calculation". Its results are published, and hold for a core that takes word 0 first.
func rssKey() [4 * xgmac2.RSSKeyWords]byte {
	return [4 * xgmac2.RSSKeyWords]byte{
		0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0,
		0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c,
		0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
	}
}

// configureRSS programs key and table and switches the hash on: of addresses and
// ports for TCP and UDP, of addresses for all other IP. Queues have been mapped
// dynamically before.
func (c *Core) configureRSS() error {
	key := rssKey()
	for i := range xgmac2.RSSKeyWords {
		if !c.writeRSS(xgmac2.RSSAddrADDRT, i, binary.LittleEndian.Uint32(key[4*i:])) {
			return c.rssError("key word", i)
		}
	}
	for i := range xgmac2.RSSTableSize {
		if !c.writeRSS(0, i, uint32(i%c.setup.RXQueues)) {
			return c.rssError("table entry", i)
		}
	}
	c.regs.Write32(xgmac2.MACRSSControl, xgmac2.RSSControlUDP4TE|xgmac2.RSSControlTCP4TE|xgmac2.RSSControlIP2TE|xgmac2.RSSControlRSSE)
	return nil
}

// writeRSS writes one word of the key or one entry of the table.
func (c *Core) writeRSS(which uint32, index int, v uint32) bool {
	c.regs.Write32(xgmac2.MACRSSData, v)
	c.regs.Write32(xgmac2.MACRSSAddr, which|field.Put(xgmac2.RSSAddrRSSIA, uint32(index))|xgmac2.RSSAddrOB)
	return dwmac.Wait(context.Background(), c.regs, xgmac2.MACRSSAddr, rssLimit, func(v uint32) bool { return v&xgmac2.RSSAddrOB == 0 })
}

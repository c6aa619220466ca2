package sun8i

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/ring"
)

func TestDecodeRX(t *testing.T) {
	const both = ring.First | ring.Last
	for _, c := range []struct {
		name     string
		status   uint32
		checksum bool
		want     ring.Completion
	}{
		{"whole frame", 0x00400320, false, ring.Completion{Len: 64, Trim: 4, Flags: both}},
		{"largest", 0x05F60320, false, ring.Completion{Len: 1526, Trim: 4, Flags: both}},
		{"first of several, junk in the rest", 0x3FFF02FF, true, ring.Completion{Flags: ring.First}},
		{"middle", 0x00400020, true, ring.Completion{}},
		{"last of several", 0x08000120, false, ring.Completion{Len: 2048, Trim: 4, Flags: ring.Last}},
		{"promiscuous: address filter failed", 0x40400320, false, ring.Completion{Len: 64, Trim: 4, Flags: both}},
		{"dribble with a right FCS", 0x00400324, false, ring.Completion{Len: 64, Trim: 4, Flags: both}},
		{"CRC", 0x00400322, true, ring.Completion{Len: 64, Trim: 4, Flags: both | ring.ErrCRC}},
		{"PHY", 0x00400328, true, ring.Completion{Len: 64, Trim: 4, Flags: both | ring.ErrReceive}},
		{"late collision", 0x00400360, true, ring.Completion{Len: 64, Trim: 4, Flags: both | ring.ErrReceive}},
		{"watchdog", 0x08000330, true, ring.Completion{Len: 2048, Trim: 4, Flags: both | ring.ErrLength}},
		{"length field", 0x00401300, true, ring.Completion{Len: 64, Trim: 4, Flags: both | ring.ErrLength}},
		{"overflow, nothing of it", 0x00000B00, true, ring.Completion{Trim: 4, Flags: both | ring.ErrOverflow}},
		{"cut off for want of buffers", 0x01004100, true, ring.Completion{Len: 256, Trim: 4, Flags: ring.Last | ring.ErrOverflow}},
		{"everything at once", 0x3FFF7FFF, true, ring.Completion{Len: 16383, Trim: 4,
			Flags: both | ring.ErrCRC | ring.ErrLength | ring.ErrOverflow | ring.ErrReceive}},
		{"checked: right", 0x00400320, true, ring.Completion{Len: 64, Trim: 4, Flags: both | ring.ChecksumGood}},
		{"checked: payload", 0x00400321, true, ring.Completion{Len: 64, Trim: 4, Flags: both | ring.ChecksumBad}},
		{"checked: header", 0x004003A0, true, ring.Completion{Len: 64, Trim: 4, Flags: both | ring.ChecksumBad}},
		{"checked: both", 0x004003A1, true, ring.Completion{Len: 64, Trim: 4, Flags: both | ring.ChecksumBad}},
		{"not checked: payload unknown, or a fragment", 0x00400301, true, ring.Completion{Len: 64, Trim: 4, Flags: both}},
		{"not checked: no IP", 0x00400381, true, ring.Completion{Len: 64, Trim: 4, Flags: both}},
		{"not checked: length field", 0x00400300, true, ring.Completion{Len: 64, Trim: 4, Flags: both}},
		{"engine off", 0x004003A1, false, ring.Completion{Len: 64, Trim: 4, Flags: both}},
	} {
		require.Equal(t, c.want, decodeRX(c.status, c.checksum), "%s: %#x", c.name, c.status)
	}
}

func TestDescriptorControl(t *testing.T) {
	require.EqualValues(t, 0x010007FC, rxDescControl(2044))
	for _, c := range []struct {
		name        string
		f           ring.TXFrame
		n           uint32
		first, last bool
		want        uint32
	}{
		{"whole frame", ring.TXFrame{}, 60, true, true, 0x6100003C},
		{"with an interrupt", ring.TXFrame{Interrupt: true}, 1514, true, true, 0xE10005EA},
		{"with checksums", ring.TXFrame{Checksum: ring.ChecksumFull}, 1514, true, true, 0x790005EA},
		{"first of several", ring.TXFrame{Checksum: ring.ChecksumFull, Interrupt: true}, 2047, true, false, 0x390007FF},
		{"middle", ring.TXFrame{Checksum: ring.ChecksumFull, Interrupt: true}, 2047, false, false, 0x010007FF},
		{"last", ring.TXFrame{Checksum: ring.ChecksumFull, Interrupt: true}, 1, false, true, 0xC1000001},
	} {
		require.EqualValues(t, c.want, txDescControl(&c.f, c.n, c.first, c.last), c.name)
	}
}

// FuzzDecodeRX: whatever the device writes, the completion makes sense.
func FuzzDecodeRX(f *testing.F) {
	for _, s := range []uint32{0, 0x00400320, 0x3FFF7FFF, 0x004003A1, 0x01004100} {
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, status uint32, checksum bool) {
		c := decodeRX(status, checksum)
		good, bad := c.Flags&ring.ChecksumGood != 0, c.Flags&ring.ChecksumBad != 0
		last := c.Flags&ring.Last != 0
		switch {
		case good && bad, (good || bad) && !checksum:
			t.Fatalf("%#x: verdict %v", status, c)
		case (good || bad) && c.Flags&ring.ErrAny != 0:
			t.Fatalf("%#x: a bad frame with a verdict: %v", status, c)
		case !last && (c.Len != 0 || c.Trim != 0 || c.Flags&^ring.First != 0):
			t.Fatalf("%#x: nothing is known before the last descriptor: %v", status, c)
		case last && (c.Trim != 4 || c.Len > 0x3FFF):
			t.Fatalf("%#x: %v", status, c)
		case last && (status&rxErrors != 0) != (c.Flags&ring.ErrAny != 0):
			t.Fatalf("%#x: error not passed on: %v", status, c)
		}
	})
}

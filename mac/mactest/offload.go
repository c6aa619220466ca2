package mactest

import (
	"bytes"
	"encoding/binary"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/ring"
)

var offloadChecks = []check{
	{"checksum/received", checksumReceived},
	{"checksum/off", checksumOff},
	{"checksum/sent", checksumSent},
	{"segmentation", segmentation},
}

// udp is a datagram in IPv4 with right checksums, n bytes long.
func udp(dst mac.HardwareAddr, n int) []byte {
	f := ether(dst, n, n)
	binary.BigEndian.PutUint16(f[12:], 0x0800)
	ip, u := f[14:34], f[34:]
	copy(ip, []byte{0x45, 0, 0, 0, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1})
	binary.BigEndian.PutUint16(ip[2:], uint16(n-14))
	binary.BigEndian.PutUint16(ip[10:], ^sum(0, ip))
	binary.BigEndian.PutUint16(u[4:], uint16(len(u)))
	u[6], u[7] = 0, 0
	pseudo := sum(uint32(17+len(u)), ip[12:20])
	binary.BigEndian.PutUint16(u[6:], ^sum(uint32(pseudo), u))
	return f
}

// sum is the Internet checksum (RFC 1071) of b, not inverted, going on from s.
func sum(s uint32, b []byte) uint16 {
	for i := 0; i+1 < len(b); i += 2 {
		s += uint32(b[i])<<8 | uint32(b[i+1])
	}
	if len(b)%2 != 0 {
		s += uint32(b[len(b)-1]) << 8
	}
	for s>>16 != 0 {
		s = s>>16 + s&0xFFFF
	}
	return uint16(s)
}

// checksumReceived: good is said of good datagrams and of nothing else.
func checksumReceived(b *bench) {
	b.start(mac.Config{})
	if !b.dev.RXChecksum() {
		b.Fatal("the core has no engine: list the sub-test as missing")
	}
	for n := 60; n < 1500; n += 7 {
		good := udp(station, n)
		bad, fragment := bytes.Clone(good), bytes.Clone(good)
		bad[n-1] ^= 0x40
		fragment[20] |= 0x20
		binary.BigEndian.PutUint16(fragment[24:], 0)
		binary.BigEndian.PutUint16(fragment[24:], ^sum(0, fragment[14:34]))
		in := [][]byte{good, bad, fragment, ether(station, n, 1)}
		b.deliver(in...)
		got := b.receive()
		b.want(in, got)
		for i, f := range got {
			if isGood := f.flags&ring.ChecksumGood != 0; isGood != (i == 0) {
				b.Fatalf("%d bytes, %s: checked and good is %v", n, [...]string{"good datagram", "bad datagram", "fragment", "no IP"}[i], isGood)
			}
		}
	}
}

// checksumOff: with the engine off no frame carries a verdict.
func checksumOff(b *bench) {
	b.start(mac.Config{NoRXChecksum: true, NoTXChecksum: true})
	for n := 60; n < 1500; n += 97 {
		in := [][]byte{udp(station, n), ether(station, n, 1)}
		b.deliver(in...)
		got := b.receive()
		b.want(in, got)
		for _, f := range got {
			b.equal(ring.Flags(0), f.flags, "verdict with the engine off")
		}
	}
	b.send(udp(partner, 500))
}

// checksumSent: both checksums are inserted when asked for, whatever the fields
// hold, and left alone otherwise.
func checksumSent(b *bench) {
	b.start(mac.Config{})
	if !b.dev.TXChecksum() {
		b.Fatal("the core has no engine: list the sub-test as missing")
	}
	for n := 60; n < 1500; n += 7 {
		want := udp(partner, n)
		out := bytes.Clone(want)
		out[24], out[25], out[40], out[41] = 0xBA, 0xD0, 0xBA, 0xD1
		b.forget()
		b.queueTX(ring.TXFrame{Checksum: ring.ChecksumFull}, out)
		b.wantSent([][]byte{want})
		if b.core.InsertsAlways {
			b.forget()
			b.queueTX(ring.TXFrame{}, out)
			b.wantSent([][]byte{want})
			continue
		}
		b.send(out)
	}
}

func segmentation(b *bench) {
	b.start(mac.Config{})
	if !b.drv.Info().TSO {
		b.Fatal("the core has no segmentation: list the sub-test as missing")
	}
	for lap := range 30 {
		b.segments(1448*lap+lap+1, 1448)
		b.segments(20_000+lap, 536)
	}
	b.works()
}

// tcp is a frame to be cut into segments, with payload bytes behind 54 of headers.
func tcp(payload int) []byte {
	f := ether(partner, 54+payload, payload)
	binary.BigEndian.PutUint16(f[12:], 0x0800)
	copy(f[14:], []byte{0x45, 0, 0, 0, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2})
	copy(f[34:], []byte{0, 80, 0x30, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 1, 0, 0, 0, 0, 0})
	return f
}

// segments sends payload bytes of TCP in one frame and puts the segments on the
// wire together again.
func (b *bench) segments(payload, mss int) {
	b.Helper()
	f := tcp(payload)
	b.forget()
	req := ring.TXFrame{MSS: uint16(mss), HeaderLen: 54, L4HeaderLen: 20, Checksum: ring.ChecksumFull}
	if b.queueTX(req, f) != 1 {
		b.Fatalf("no room for %d bytes", len(f))
	}
	b.equal((payload+mss-1)/mss, len(b.sent()), "segments of %d bytes at %d", payload, mss)
	at := 0
	for i, s := range b.sent() {
		n := int(binary.BigEndian.Uint16(s[16:])) - 40
		if n < 1 || n > mss || 54+n > len(s) {
			b.Fatalf("segment %d of %d bytes says that it holds %d", i, len(s), n)
		}
		b.equal(uint32(1+at), binary.BigEndian.Uint32(s[38:]), "sequence number of segment %d", i)
		b.equal(uint16(0xFFFF), sum(0, s[14:34]), "IP header checksum of segment %d", i)
		pseudo := sum(uint32(6+20+n), s[26:34])
		b.equal(uint16(0xFFFF), sum(uint32(pseudo), s[34:54+n]), "TCP checksum of segment %d", i)
		if !bytes.Equal(f[54+at:54+at+n], s[54:54+n]) {
			b.Fatalf("segment %d: other bytes than were sent", i)
		}
		at += n
	}
	b.equal(payload, at, "bytes in segments")
}

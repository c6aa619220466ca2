package sun8i

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/sim"
)

func TestReceive(t *testing.T) {
	r := newRig(t, Config{})
	r.post(0, 8, 0)
	f := frame(ownAddr, 100)
	r.m.Deliver(f)
	st := r.rx.status(0)
	require.EqualValues(t, 104, field.Get(emac.RxLen, st), "with FCS")
	require.Equal(t, emac.RxFirst|emac.RxLast|emac.RxType, st&(emac.RxFirst|emac.RxLast|emac.RxType|rxBad))
	require.Equal(t, f, r.rx.bytes(0, 100))
	require.Equal(t, crc32.ChecksumIEEE(f), binary.LittleEndian.Uint32(r.rx.bytes(0, 104)[100:]))
	require.Equal(t, []uint32{2044, r.rx.bufAddr(0), r.rx.addr(1)}, r.rx.w[1:4], "the status alone is written back")
	require.True(t, r.level)
	require.Equal(t, r.rx.addr(1), r.read(emac.RxCurDesc))
	require.Equal(t, r.rx.bufAddr(0), r.read(emac.RxCurBuf))
	require.Equal(t, emac.IntRx, r.taken())
	require.False(t, r.level)

	r.set(emac.RxCtl0, emac.RxCtl0StripFCS)
	r.m.Deliver(f[:20])
	require.EqualValues(t, 60, field.Get(emac.RxLen, r.rx.status(1)), "padded by the sender, and stripped")
	r.noViolations()
	require.EqualValues(t, 2, r.m.Stats().RX)

	r = newRig(t, Config{})
	r.post(0, 2, emac.RxIntOff)
	r.m.Deliver(f)
	require.False(t, r.rx.own(0))
	require.Zero(t, r.taken(), "a frame that ends there does not interrupt")
}

const rxBad = emac.RxCRC | emac.RxPHYErr | emac.RxWatchdog | emac.RxOverflow | emac.RxNoBuf | emac.RxLengthErr

// TestDryChain: the engine stays where it is; frames wait in the FIFO, or are lost
// where it is set to flush them; it goes on when told, and when a frame comes.
func TestDryChain(t *testing.T) {
	r := newRig(t, Config{})
	require.EqualValues(t, emac.RxSuspended, r.read(emac.RxDMASta))
	r.post(0, 2, 0)
	require.EqualValues(t, emac.RxWaitFrame, r.read(emac.RxDMASta))
	for n := range 3 {
		r.m.Deliver(frame(ownAddr, 100+n))
	}
	require.Equal(t, emac.IntRx|emac.IntRxBufUA, r.taken())
	require.EqualValues(t, emac.RxSuspended, r.read(emac.RxDMASta))
	require.Zero(t, r.taken(), "said once")
	r.post(2, 4, 0)
	require.EqualValues(t, 106, field.Get(emac.RxLen, r.rx.status(2)), "the one that waited")
	require.True(t, r.rx.own(3))
	r.m.Deliver(frame(ownAddr, 200))
	r.rx.arm(4, 2044) // and nobody says so
	r.m.Deliver(frame(ownAddr, 201))
	require.EqualValues(t, 205, field.Get(emac.RxLen, r.rx.status(4)), "a frame makes it look again")

	r.write(emac.RxCtl1, r.read(emac.RxCtl1)&^emac.RxCtl1NoFlush)
	r.m.Deliver(frame(ownAddr, 300))
	r.post(5, 7, 0)
	require.True(t, r.rx.own(5))
	require.Equal(t, Stats{RX: 5, Missed: 1}, r.m.Stats())
	r.noViolations()
}

func TestFIFO(t *testing.T) {
	r := newRig(t, Config{RXFIFO: 4096})
	for range 5 {
		r.m.Deliver(frame(ownAddr, 1000))
	}
	require.EqualValues(t, 1, r.m.Stats().Overflow)
	require.NotZero(t, r.taken()&emac.IntRxOverflow)
	r.post(0, 8, 0)
	require.False(t, r.rx.own(3))
	require.True(t, r.rx.own(4))
}

// TestFrameOverDescriptors: First and Last, lengths, and a chain that ends in the
// middle of a frame.
func TestFrameOverDescriptors(t *testing.T) {
	r := newRig(t, Config{})
	r.rx = r.chain(8, 64)
	r.write(emac.RxCtl1, rxMode)
	r.write(emac.RxDescList, r.rx.addr(0))
	r.write(emac.RxCtl1, rxMode|emac.RxCtl1DMAEn)
	r.post(0, 6, 0)
	f := frame(ownAddr, 190)
	r.m.Deliver(f)
	for i, want := range []uint32{emac.RxFirst, 0, 0, emac.RxLast} {
		require.Equal(t, want, r.rx.status(i)&(emac.RxFirst|emac.RxLast), "descriptor %d", i)
	}
	require.EqualValues(t, 194, field.Get(emac.RxLen, r.rx.status(3)), "the whole frame")
	require.Equal(t, f, bytes.Join([][]byte{r.rx.bytes(0, 64), r.rx.bytes(1, 64), r.rx.bytes(2, 62)}, nil))

	r.m.Deliver(f)
	require.Equal(t, emac.RxFirst, r.rx.status(4)&(emac.RxFirst|emac.RxLast))
	require.Equal(t, emac.RxLast|emac.RxNoBuf, r.rx.status(5)&(emac.RxFirst|emac.RxLast|emac.RxNoBuf), "cut off here")
	require.EqualValues(t, 128, field.Get(emac.RxLen, r.rx.status(5)))
	r.post(6, 8, 0)
	require.True(t, r.rx.own(6), "the rest is gone")
	r.noViolations()
}

func TestErrorsAndRunts(t *testing.T) {
	wire := func(f []byte, good bool) []byte {
		sum := crc32.ChecksumIEEE(f)
		if !good {
			sum++
		}
		return binary.LittleEndian.AppendUint32(append([]byte(nil), f...), sum)
	}
	for _, c := range []struct {
		name  string
		wire  []byte
		clear uint32 // of RX_CTL1
		want  uint32 // of the status; 0: not delivered
	}{
		{"bad FCS", wire(frame(ownAddr, 100), false), 0, emac.RxCRC},
		{"bad FCS, dropped in the FIFO", wire(frame(ownAddr, 100), false), emac.RxCtl1Err, 0},
		{"bad FCS, already forwarded", wire(frame(ownAddr, 100), false), emac.RxCtl1Err | emac.RxCtl1MD, emac.RxCRC},
		{"runt", wire(frame(ownAddr, 40), true), 0, emac.RxLast},
		{"runt, dropped", wire(frame(ownAddr, 40), true), emac.RxCtl1Runt, 0},
		{"too long, first part", wire(frame(ownAddr, 3000), true), 0, emac.RxFirst},
	} {
		r := newRig(t, Config{})
		r.write(emac.RxCtl1, r.read(emac.RxCtl1)&^c.clear)
		r.post(0, 8, 0)
		r.m.DeliverWire(c.wire)
		require.Equal(t, c.want == 0, r.rx.own(0), c.name)
		require.Equal(t, c.want, r.rx.status(0)&c.want, c.name)
		if len(c.wire) > 2048 {
			require.Equal(t, emac.RxWatchdog|emac.RxCRC|emac.RxLast|emac.RxErrSummary, r.rx.status(1)&(emac.RxWatchdog|emac.RxCRC|emac.RxLast|emac.RxErrSummary))
			require.EqualValues(t, 2048, field.Get(emac.RxLen, r.rx.status(1)))
		}
		r.noViolations()
	}
}

// TestVerdicts: three bits tell what the checksum engine found.
func TestVerdicts(t *testing.T) {
	good := ipv4(17, udp(50))
	change := func(at int, v byte) []byte {
		f := bytes.Clone(good)
		f[at] ^= v
		return f
	}
	noSum := ipv4(17, udp(50))
	noSum[40], noSum[41] = 0, 0
	length := frame(ownAddr, 100)
	length[12], length[13] = 0, 86
	const typ, header, payload = emac.RxType, emac.RxHeaderErr, emac.RxPayloadErr
	for _, c := range []struct {
		name  string
		frame []byte
		want  uint32
	}{
		{"right", good, typ}, {"payload", change(60, 1), typ | payload}, {"header", change(24, 1), typ | header},
		{"unknown payload", ipv4(47, udp(50)), payload}, {"UDP without checksum", noSum, payload},
		{"fragment", ipv4Fragment(), payload}, {"no IP", frame(ownAddr, 100), header | payload}, {"length", length, 0},
	} {
		r := newRig(t, Config{})
		r.set(emac.RxCtl0, emac.RxCtl0Check)
		r.post(0, 2, 0)
		r.m.Deliver(c.frame)
		require.Equal(t, c.want, r.rx.status(0)&(typ|header|payload), c.name)
	}
	r := newRig(t, Config{})
	r.set(emac.RxCtl0, emac.RxCtl0Check)
	r.write(emac.RxCtl1, r.read(emac.RxCtl1)&^emac.RxCtl1Err)
	r.post(0, 2, 0)
	r.m.Deliver(change(60, 1))
	require.True(t, r.rx.own(0), "wrong ones end in the FIFO")
	r.m.Deliver(good)
	require.False(t, r.rx.own(0))
}

func ipv4Fragment() []byte {
	f := ipv4(17, udp(50))
	ip := f[14:34]
	ip[6], ip[10], ip[11] = 0x20, 0, 0
	sum := uint32(0)
	for i := 0; i < 20; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	sum = sum>>16 + sum&0xFFFF
	binary.BigEndian.PutUint16(ip[10:], ^uint16(sum>>16+sum))
	return f
}

func TestFilter(t *testing.T) {
	group := mac.HardwareAddr{0x33, 0x33, 0xff, 0x12, 0x34, 0x56} // bin 61
	other := mac.HardwareAddr{0x01, 0x00, 0x5e, 0, 0, 1}          // bin 32
	for _, c := range []struct {
		name     string
		flt      uint32
		slot     uint32 // AddrHigh flags of slot 1, which has peerAddr
		hash     [2]uint32
		to       mac.HardwareAddr
		pass, ok bool
	}{
		{"own", 0, 0, [2]uint32{}, ownAddr, true, true},
		{"broadcast", 0, 0, [2]uint32{}, mac.Broadcast, true, true},
		{"no broadcast", emac.FltDisBroadcast, 0, [2]uint32{}, mac.Broadcast, false, false},
		{"another", 0, 0, [2]uint32{}, peerAddr, false, false},
		{"slot", 0, emac.AddrHighEn, [2]uint32{}, peerAddr, true, true},
		{"slot of sources", 0, emac.AddrHighEn | emac.AddrHighSA, [2]uint32{}, peerAddr, false, false},
		{"slot with a mask", 0, emac.AddrHighEn | 1<<29, [2]uint32{}, mac.HardwareAddr{2, 0, 0, 0, 0, 9}, true, true},
		{"group", 0, 0, [2]uint32{}, group, false, false},
		{"all groups", emac.FltAllMulticast, 0, [2]uint32{}, group, true, true},
		{"all groups, another station", emac.FltAllMulticast, 0, [2]uint32{}, peerAddr, false, false},
		{"hash, upper word first", emac.FltHashMulti, 0, [2]uint32{1 << 29, 0}, group, true, true},
		{"hash, another bin", emac.FltHashMulti, 0, [2]uint32{1 << 29, 0}, other, false, false},
		{"everything, and it says which did not match", emac.FltAll, 0, [2]uint32{}, peerAddr, true, false},
		{"filter off", emac.FltDisAddr, 0, [2]uint32{}, peerAddr, true, true},
		{"inverse", emac.FltDAInverse, 0, [2]uint32{}, peerAddr, true, true},
	} {
		r := newRig(t, Config{})
		r.setAddr(1, peerAddr, c.slot)
		r.write(emac.RxFrmFlt, c.flt)
		r.write(emac.RxHash0, c.hash[0])
		r.write(emac.RxHash1, c.hash[1])
		r.post(0, 2, 0)
		r.m.Deliver(frame(c.to, 80))
		require.Equal(t, c.pass, !r.rx.own(0), c.name)
		if c.pass {
			require.Equal(t, c.ok, r.rx.status(0)&emac.RxDAFail == 0, c.name)
		}
	}
}

func TestReceiveFaults(t *testing.T) {
	r := newRig(t, Config{})
	r.post(0, 8, 0)
	r.m.Faults().Once(sim.RXBusError)
	r.m.Deliver(frame(ownAddr, 100))
	require.Equal(t, emac.IntRxDMAStop, r.taken())
	require.EqualValues(t, emac.DMAStopped, r.read(emac.RxDMASta))
	r.post(0, 8, 0)
	require.EqualValues(t, emac.DMAStopped, r.read(emac.RxDMASta), "until a reset")
	r.write(emac.BasicCtl1, emac.Ctl1SoftRst)
	r.start()
	r.post(0, 8, 0)
	r.m.Deliver(frame(ownAddr, 100))
	require.False(t, r.rx.own(0))
	r.noViolations()
	r.write(emac.RxDescList, r.rx.addr(0))
	require.Len(t, r.m.Violations().List(), 1, "while DMA runs")
}

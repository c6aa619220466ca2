package pcap

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/cable"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var epoch = time.Unix(1_700_000_000, 123_456_789)

// record writes frames, one a millisecond.
func record(t testing.TB, o WriterOptions, frames ...[]byte) []byte {
	clock := sim.NewManualClock(epoch)
	o.Clock = clock
	var file bytes.Buffer
	w, err := NewWriter(&file, &o)
	require.NoError(t, err)
	for _, f := range frames {
		w.Frame(f)
		clock.Advance(time.Millisecond)
	}
	require.NoError(t, w.Close())
	require.EqualValues(t, file.Len(), w.Stats().Bytes)
	return file.Bytes()
}

func recordNG(t testing.TB, link layers.LinkType, frames ...[]byte) []byte {
	var file bytes.Buffer
	w, err := pcapgo.NewNgWriter(&file, link)
	require.NoError(t, err)
	for i, f := range frames {
		at := epoch.Add(time.Duration(i) * time.Millisecond)
		require.NoError(t, w.WritePacket(gopacket.CaptureInfo{Timestamp: at, CaptureLength: len(f), Length: len(f)}, f))
	}
	require.NoError(t, w.Flush())
	return file.Bytes()
}

func frames(n int) [][]byte {
	var all [][]byte
	for i := range n {
		all = append(all, bytes.Repeat([]byte{byte(i)}, 60+i))
	}
	return all
}

// replay plays a file and returns what it sent.
func replay(file []byte) (sent [][]byte, err error) {
	p, err := NewReplay(bytes.NewReader(file), nil)
	if err != nil {
		return nil, err
	}
	p.OnTransmit(func(f []byte) { sent = append(sent, append([]byte(nil), f...)) })
	p.Start()
	return sent, p.Wait(context.Background())
}

func TestRecordAndReplay(t *testing.T) {
	want := frames(5)
	for name, file := range map[string][]byte{
		"pcap":   record(t, WriterOptions{}, want...),
		"pcapng": recordNG(t, layers.LinkTypeEthernet, want...),
	} {
		got, err := replay(file)
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
	got, err := replay(record(t, WriterOptions{}))
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestStampsAreNanoseconds(t *testing.T) {
	r, err := pcapgo.NewReader(bytes.NewReader(record(t, WriterOptions{}, frames(2)...)))
	require.NoError(t, err)
	_, info, err := r.ReadPacketData()
	require.NoError(t, err)
	require.True(t, info.Timestamp.Equal(epoch), "%v", info.Timestamp)
	_, info, err = r.ReadPacketData()
	require.NoError(t, err)
	require.True(t, info.Timestamp.Equal(epoch.Add(time.Millisecond)))
}

func TestAZeroClockIsNotTheWallClock(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file, &WriterOptions{Clock: sim.NewManualClock(time.Time{})})
	require.NoError(t, err)
	w.Frame(make([]byte, 60))
	require.NoError(t, w.Flush())
	require.Zero(t, binary.LittleEndian.Uint32(file.Bytes()[fileHeaderLen:]))
}

func TestSnapLengthAndSizeLimit(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file, &WriterOptions{SnapLen: 20, MaxBytes: fileHeaderLen + 2*(recordHeaderLen+20)})
	require.NoError(t, err)
	w.Frame(make([]byte, 100))
	w.Frame(make([]byte, 20))
	w.Frame(make([]byte, 100)) // does not fit
	w.Frame(nil)               // would fit, but a hole would be a lie
	require.NoError(t, w.Close())
	w.Frame(nil)
	require.NoError(t, w.Close())
	require.Equal(t, WriterStats{Frames: 2, Bytes: int64(file.Len()), Cut: 1, Skipped: 3}, w.Stats())

	sent, err := replay(file.Bytes())
	require.ErrorIs(t, err, ErrCut)
	require.ErrorContains(t, err, "frame 1: 20 of 100 bytes")
	require.Empty(t, sent)

	for _, bad := range []WriterOptions{{SnapLen: -1}, {SnapLen: maxSnapLen + 1}, {MaxBytes: 23}, {MaxBytes: -1}} {
		_, err := NewWriter(io.Discard, &bad)
		require.Error(t, err, "%+v", bad)
	}
}

type brokenFile struct{}

var errDisk = errors.New("disk full")

func (brokenFile) Write([]byte) (int, error) { return 0, errDisk }

func TestWriteErrorsAreKept(t *testing.T) {
	w, err := NewWriter(brokenFile{}, nil)
	require.NoError(t, err)
	for range 3 {
		w.Frame(make([]byte, 64<<10))
	}
	require.ErrorIs(t, w.Flush(), errDisk)
	require.ErrorIs(t, w.Close(), errDisk)
	require.EqualValues(t, 3, w.Stats().Skipped)
}

func TestCreate(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.pcap")
	w, err := Create(name, nil)
	require.NoError(t, err)
	w.Frame(frames(1)[0])
	require.NoError(t, w.Close())
	file, err := os.ReadFile(name)
	require.NoError(t, err)
	sent, err := replay(file)
	require.NoError(t, err)
	require.Equal(t, frames(1), sent)
	_, err = Create(filepath.Join(name, "y"), nil)
	require.Error(t, err)
	_, err = Create(name, &WriterOptions{SnapLen: -1})
	require.Error(t, err)
}

func TestConcurrentFrames(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file, nil)
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 500 {
				w.Tap(cable.AToB, make([]byte, 60))
			}
		})
	}
	all.Wait()
	require.NoError(t, w.Close())
	sent, err := replay(file.Bytes())
	require.NoError(t, err)
	require.Len(t, sent, 2000)
}

// link returns a file with another link-type field.
func link(file []byte, value uint32) []byte {
	file = bytes.Clone(file)
	binary.LittleEndian.PutUint32(file[20:], value)
	return file
}

func TestRefusedFiles(t *testing.T) {
	good := record(t, WriterOptions{}, frames(2)...)
	ng := recordNG(t, layers.LinkTypeEthernet, frames(2)...)
	for name, c := range map[string]struct {
		file []byte
		want error
		text string
	}{
		"empty":         {nil, ErrFormat, "has 0 bytes"},
		"short":         {good[:23], ErrFormat, "has 23 bytes"},
		"text":          {bytes.Repeat([]byte("hello "), 9), ErrFormat, "begins with 68 65 6c 6c"},
		"gzip":          {append([]byte{0x1f, 0x8b}, make([]byte, 40)...), ErrFormat, "gunzip"},
		"linux cooked":  {link(good, 113), ErrLinkType, "link type 113"},
		"ng cooked":     {recordNG(t, layers.LinkTypeLinuxSLL, frames(1)...), ErrLinkType, "link type 113"},
		"cut in header": {good[:fileHeaderLen+5], ErrFormat, "ends inside frame 1"},
		"cut at data":   {good[:fileHeaderLen+recordHeaderLen], ErrFormat, "ends inside frame 1"},
		"cut in data":   {good[:len(good)-1], ErrFormat, "ends inside frame 2"},
		"ng cut":        {ng[:len(ng)-40], ErrFormat, "ends inside frame 2"},
		"fcs only":      {link(record(t, WriterOptions{}, []byte{1}), 1|1<<26|2<<28), ErrFormat, "1 bytes with 4 of FCS"},
	} {
		_, err := replay(c.file)
		require.ErrorIs(t, err, c.want, name)
		require.ErrorContains(t, err, c.text, name)
	}
}

func TestFCSIsStripped(t *testing.T) {
	file := link(record(t, WriterOptions{}, []byte("sixteen bytes 16FCS!")), 1|1<<26|2<<28)
	sent, err := replay(file)
	require.NoError(t, err)
	require.Equal(t, "sixteen bytes 16", string(sent[0]))
}

func TestSpacedReplay(t *testing.T) {
	clock := sim.NewManualClock(time.Unix(50, 0))
	p, err := NewReplay(bytes.NewReader(record(t, WriterOptions{}, frames(4)...)), &ReplayOptions{Spaced: true, Clock: clock})
	require.NoError(t, err)
	p.OnTransmit(func([]byte) {})
	sent := func() uint64 { return p.Stats().Sent }
	p.Start()
	p.Start()
	require.EqualValues(t, 1, sent())
	clock.Advance(time.Millisecond - 1)
	require.EqualValues(t, 1, sent())
	clock.Advance(1)
	require.EqualValues(t, 2, sent())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, p.Wait(ctx), context.Canceled)
	clock.Advance(time.Second)
	require.EqualValues(t, 4, sent())
	require.NoError(t, p.Wait(context.Background()))
}

func TestCloseEndsAReplay(t *testing.T) {
	file := record(t, WriterOptions{}, frames(4)...)
	clock := sim.NewManualClock(time.Unix(50, 0))
	p, err := NewReplay(bytes.NewReader(file), &ReplayOptions{Spaced: true, Clock: clock})
	require.NoError(t, err)
	p.Start()
	require.NoError(t, p.Close())
	require.ErrorIs(t, p.Wait(context.Background()), ErrClosed)
	require.Zero(t, clock.Timers())
	require.EqualValues(t, 1, p.Stats().Unplugged)

	p, err = NewReplay(bytes.NewReader(file), nil)
	require.NoError(t, err)
	p.OnTransmit(func([]byte) { p.Close() })
	p.Start()
	require.ErrorIs(t, p.Wait(context.Background()), ErrClosed)
	require.EqualValues(t, 1, p.Stats().Sent)

	p, err = NewReplay(bytes.NewReader(file), nil)
	require.NoError(t, err)
	require.NoError(t, p.Close())
	p.Start()
	require.ErrorIs(t, p.Wait(context.Background()), ErrClosed)
	require.Zero(t, p.Stats().Sent)
}

func TestReplayThroughACable(t *testing.T) {
	want := frames(20)
	var taped, received bytes.Buffer
	tape, err := NewWriter(&taped, nil)
	require.NoError(t, err)
	rec, err := NewWriter(&received, nil)
	require.NoError(t, err)
	from, err := NewReplay(bytes.NewReader(record(t, WriterOptions{}, want...)), nil)
	require.NoError(t, err)
	to, err := NewReplay(bytes.NewReader(record(t, WriterOptions{})), &ReplayOptions{Record: rec, Keep: 3})
	require.NoError(t, err)
	c := cable.Connect(from, to, &cable.Options{Manual: true, Taps: []cable.Tap{tape.Tap}})
	from.Start()
	_, err = c.Run(100)
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.NoError(t, tape.Close())
	require.NoError(t, rec.Close())
	require.Equal(t, want[:3], to.Received())
	require.EqualValues(t, 20, to.Stats().Received)
	for _, file := range []*bytes.Buffer{&taped, &received} {
		sent, err := replay(file.Bytes())
		require.NoError(t, err)
		require.Equal(t, want, sent)
	}
}

func FuzzReplay(f *testing.F) {
	good := record(f, WriterOptions{}, frames(2)...)
	f.Add(good)
	f.Add(good[:50])
	f.Add(link(good, 113))
	f.Add(recordNG(f, layers.LinkTypeEthernet, frames(2)...))
	f.Add(recordNG(f, layers.LinkTypeLinuxSLL, frames(1)...))
	f.Fuzz(func(t *testing.T, file []byte) {
		sent, err := replay(file)
		total := 0
		for _, s := range sent {
			total += len(s)
		}
		if total > len(file) {
			t.Fatalf("%d bytes sent from a file of %d", total, len(file))
		}
		if err != nil && !errors.Is(err, ErrFormat) && !errors.Is(err, ErrLinkType) && !errors.Is(err, ErrCut) {
			t.Fatalf("error without a kind: %v", err)
		}
	})
}

func BenchmarkWriter(b *testing.B) {
	w, err := NewWriter(io.Discard, nil)
	require.NoError(b, err)
	frame := make([]byte, 1514)
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for range b.N {
		w.Frame(frame)
	}
}

func ExampleWriter() {
	var file bytes.Buffer
	w, err := NewWriter(&file, &WriterOptions{Clock: sim.NewManualClock(time.Unix(0, 0))})
	if err != nil {
		fmt.Println(err)
		return
	}
	w.Frame(make([]byte, 60)) // or cable.Options{Taps: []cable.Tap{w.Tap}}
	fmt.Println(w.Close(), file.Len())
	// Output: <nil> 100
}

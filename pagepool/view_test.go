//lint:file-ignore U1000 the fields of layouts are looked at by reflection

package pagepool

import (
	"errors"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"gvisor.dev/gvisor/pkg/atomicbitops"
	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// Layouts that gVisor might have one day. None may be lent.
type (
	refs     struct{ n atomicbitops.Int64 }
	wideRefs struct {
		n     atomicbitops.Int64
		flags int64
	}
	plainRefs struct{ n int64 }

	goodChunk struct {
		refs
		data []byte
	}
	swappedChunk struct {
		data []byte
		refs
	}
	biggerChunk struct {
		refs
		data   []byte
		pooled bool
	}
	wideChunk struct {
		wideRefs
		data []byte
	}
	plainChunk struct {
		plainRefs
		data []byte
	}
	renamedChunk struct {
		refs
		bytes []byte
	}
	arrayChunk struct {
		refs
		data *[64]byte
	}
	bareChunk struct {
		refCount int64
		data     []byte
	}
)

func TestLayoutMismatch(t *testing.T) {
	for _, c := range []struct {
		view reflect.Type
		want string // empty: matches
	}{
		{reflect.TypeFor[buffer.View](), ""},
		{reflect.TypeFor[struct {
			read, write int
			chunk       *goodChunk
		}](), ""},
		{reflect.TypeFor[struct{ bytes *goodChunk }](), "no field chunk"},
		{reflect.TypeFor[struct{ chunk goodChunk }](), "no field chunk"},
		{reflect.TypeFor[struct{ chunk *[]byte }](), "no field chunk"},
		{reflect.TypeFor[struct{ chunk *biggerChunk }](), "3 fields"},
		{reflect.TypeFor[struct{ chunk *swappedChunk }](), "want data []byte"},
		{reflect.TypeFor[struct{ chunk *renamedChunk }](), "bytes []uint8"},
		{reflect.TypeFor[struct{ chunk *arrayChunk }](), "data *[64]uint8"},
		{reflect.TypeFor[struct{ chunk *wideChunk }](), "wideRefs"},
		{reflect.TypeFor[struct{ chunk *plainChunk }](), "plainRefs"},
		{reflect.TypeFor[struct{ chunk *bareChunk }](), "refCount int64"},
	} {
		_, err := layoutOf(c.view)
		if c.want == "" {
			require.NoError(t, err, "%v", c.view)
		} else {
			require.ErrorContains(t, err, c.want, "%v", c.view)
		}
	}
}

// A layout that looks right and is not is found by the self-test, which turns
// what goes wrong into an error.
func TestSelfTestFindsWrongOffsets(t *testing.T) {
	l, err := findLayout()
	require.NoError(t, err)
	require.NoError(t, selfTest(l))
	swapped, err := layoutOf(reflect.TypeFor[struct {
		a, b, c, d *goodChunk
		chunk      *goodChunk
	}]())
	require.NoError(t, err)
	wrongType := l
	wrongType.chunk = swapped.chunk // lacks gVisor's methods
	require.ErrorContains(t, selfTest(wrongType), "ReadRefs")
	wrongRefs := l
	wrongRefs.refsAt = l.dataAt + reflect.TypeFor[uintptr]().Size() // the length of data
	require.Error(t, selfTest(wrongRefs))
}

// Without lending a pool works; its user copies.
func TestLendingOff(t *testing.T) {
	reason := errors.New("chunk has 3 fields")
	for _, set := range []int{CopyBreakAuto, LendAlways, 4096} {
		p, err := newPool(NewHeap(4*64, 0), Config{PageSize: 64, CopyBreak: set},
			func() (layout, error) { return layout{}, reason })
		require.NoError(t, err)
		require.ErrorIs(t, p.CanLend(), reason)
		require.ErrorContains(t, p.CanLend(), "lending is off")
		require.Equal(t, CopyAlways, p.CopyBreak())
		for range 10 {
			pg := hold(t, p)
			v, ok := p.Lend(pg, 0, 10)
			require.False(t, ok)
			require.Nil(t, v)
			p.Recycle(pg)
			p.Reclaim()
			require.NoError(t, p.Check())
		}
		require.Equal(t, uint64(10), p.Stats().CopiedLimit)
		require.Zero(t, p.Stats().LentHighWater)
		require.NoError(t, p.Close(t.Context()))
	}
	p, err := newPool(NewHeap(4*64, 0), Config{PageSize: 64}, func() (layout, error) {
		l, err := findLayout()
		l.chunk = reflect.TypeFor[goodChunk]()
		return l, err
	})
	require.NoError(t, err)
	require.ErrorContains(t, p.CanLend(), "self-test")
}

// Writes of every kind leave the page, and the other views of it, alone.
func TestWritesCopyFirst(t *testing.T) {
	p, _ := newTestPool(t, 2, 192, 2)
	pg := hold(t, p)
	for i := range p.Bytes(pg) {
		p.Bytes(pg)[i] = byte(i)
	}
	want := string(p.Bytes(pg))
	v, ok := p.Lend(pg, 10, 50)
	require.True(t, ok)
	for name, write := range map[string]func(w *buffer.View){
		"WriteAt": func(w *buffer.View) { _, err := w.WriteAt([]byte{0xff}, 3); require.NoError(t, err) },
		"Write":   func(w *buffer.View) { _, err := w.Write([]byte{0xff}); require.NoError(t, err) },
		"Grow":    func(w *buffer.View) { w.Grow(500); _, err := w.WriteAt([]byte{0xff}, 3); require.NoError(t, err) },
	} {
		w := v.Clone()
		write(w)
		require.Equal(t, want, string(p.Bytes(pg)), name)
		require.Equal(t, want[10:60], string(v.AsSlice()), name)
		w.Release()
	}
	require.Equal(t, int64(2), p.lender.refs(pg).Load())
	v.Release()
	require.Zero(t, p.ReclaimAll())
}

// The whole way of a TCP segment through netstack's buffers: the application
// reads the payload at its address in the page, and only its last reference
// brings the page home.
func TestHandoffIsZeroCopy(t *testing.T) {
	p, _ := newTestPool(t, 2, 2048, 2)
	pg := hold(t, p)
	for i := range p.Bytes(pg) {
		p.Bytes(pg)[i] = byte(i * 7)
	}
	want := string(p.Bytes(pg)[headers:1514])
	where := &p.Bytes(pg)[headers]

	pkt := packetLend(p, pg, 1514)
	require.NotNil(t, pkt)
	consume(pkt)
	require.Equal(t, 1, p.ReclaimAll(), "parsing the headers does not copy the page")
	segment := pkt.Clone()
	pkt.DecRef()
	require.Equal(t, 1, p.ReclaimAll(), "the packet is gone, its data is queued")
	var at *byte
	_, err := segment.Data().ReadTo(writerFunc(func(b []byte) (int, error) {
		at = &b[0]
		require.Equal(t, want, string(b))
		return len(b), nil
	}), true)
	require.NoError(t, err)
	require.Same(t, where, at)
	segment.DecRef()
	require.Zero(t, p.ReclaimAll())
	require.NoError(t, p.Check())

	// A frame in one view is what must not be done: it is copied as a whole.
	pg = hold(t, p)
	v, ok := p.Lend(pg, 0, 1514)
	require.True(t, ok)
	pkt = stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithView(v)})
	pkt.LinkHeader().Consume(header.EthernetMinimumSize)
	require.Zero(t, p.ReclaimAll(), "safe, and no longer zero-copy")
	pkt.DecRef()
}

type writerFunc func(b []byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

package pagepool

import (
	"errors"
	"fmt"
	"reflect"
	"unsafe"

	"gvisor.dev/gvisor/pkg/atomicbitops"
	"gvisor.dev/gvisor/pkg/buffer"
)

// This file is the only one that touches gVisor's private parts:
//
//	type View struct  { …; chunk *chunk }
//	type chunk struct { chunkRefs; data []byte }
//	type chunkRefs struct { refCount atomicbitops.Int64 }
//
// atomicbitops.Int64 is public and finds the aligned half of itself on 32-bit
// machines, so the count is read with its Load and nothing is assumed about
// its inside.

// layout is where the fields are. The zero layout is invalid.
type layout struct {
	chunk   reflect.Type // gVisor's buffer.chunk
	chunkAt uintptr      // of the *chunk in a View
	refsAt  uintptr      // of the reference count in a chunk
	dataAt  uintptr      // of the bytes in a chunk
}

// findLayout finds the layout of the gVisor that this program was built with.
func findLayout() (layout, error) { return layoutOf(reflect.TypeFor[buffer.View]()) }

// layoutOf finds the layout of a View type. It is strict: a field more or less
// could mean a rule that the pool does not know.
func layoutOf(view reflect.Type) (layout, error) {
	f, ok := view.FieldByName("chunk")
	if !ok || f.Type.Kind() != reflect.Pointer || f.Type.Elem().Kind() != reflect.Struct {
		return layout{}, fmt.Errorf("%v has no field chunk that points to a struct", view)
	}
	l := layout{chunk: f.Type.Elem(), chunkAt: f.Offset}
	if n := l.chunk.NumField(); n != 2 {
		return layout{}, fmt.Errorf("%v has %d fields, want a reference count and data", l.chunk, n)
	}
	refs, data := l.chunk.Field(0), l.chunk.Field(1)
	if data.Name != "data" || data.Type != reflect.TypeFor[[]byte]() {
		return layout{}, fmt.Errorf("%v has %s %v, want data []byte", l.chunk, data.Name, data.Type)
	}
	l.dataAt = data.Offset
	if refs.Type.Kind() != reflect.Struct || refs.Type.NumField() != 1 ||
		refs.Type.Field(0).Type != reflect.TypeFor[atomicbitops.Int64]() {
		return layout{}, fmt.Errorf("%v has %s %v, want a struct of one atomicbitops.Int64", l.chunk, refs.Name, refs.Type)
	}
	l.refsAt = refs.Offset + refs.Type.Field(0).Offset
	return l, nil
}

// lender makes views of pages. Masters and chunks live as long as any view.
type lender struct {
	layout
	chunks  unsafe.Pointer // first of an array with one chunk per page
	stride  uintptr
	masters []buffer.View // one per page, never released; cloned by the owner only
}

// newLender makes a chunk and a master for each page of mem, after a self-test
// on a page of its own.
func newLender(find func() (layout, error), mem []byte, pageSize int) (*lender, error) {
	lay, err := find()
	if err != nil {
		return nil, fmt.Errorf("pagepool: lending is off, payloads are copied: gVisor's buffers have changed: %w", err)
	}
	if err := selfTest(lay); err != nil {
		return nil, fmt.Errorf("pagepool: lending is off, payloads are copied: gVisor's buffers behave differently: self-test: %w", err)
	}
	return lay.lender(mem, pageSize), nil
}

func (l layout) lender(mem []byte, pageSize int) *lender {
	n := len(mem) / pageSize
	// A slice of gVisor's own type, so that the garbage collector knows its
	// pointers and the counts lie side by side for Reclaim.
	chunks := reflect.MakeSlice(reflect.SliceOf(l.chunk), n, n)
	r := &lender{
		layout:  l,
		chunks:  chunks.UnsafePointer(),
		stride:  l.chunk.Size(),
		masters: make([]buffer.View, n),
	}
	for i := range n {
		c := r.at(Page(i))
		*(*[]byte)(unsafe.Add(c, l.dataAt)) = mem[i*pageSize : (i+1)*pageSize : (i+1)*pageSize]
		// Not InitRefs: that would register the chunk with gVisor's leak
		// checker, and the master never goes away.
		r.refs(Page(i)).Store(1)
		m := &r.masters[i]
		*(*unsafe.Pointer)(unsafe.Add(unsafe.Pointer(m), l.chunkAt)) = c
		m.Grow(pageSize)
	}
	return r
}

// at is the chunk of a page.
func (l *lender) at(pg Page) unsafe.Pointer {
	return unsafe.Add(l.chunks, uintptr(pg)*l.stride)
}

func (l *lender) refs(pg Page) *atomicbitops.Int64 {
	return (*atomicbitops.Int64)(unsafe.Add(l.at(pg), l.refsAt))
}

// view returns a new view of a part of the page.
func (l *lender) view(pg Page, off, n int) *buffer.View {
	v := l.masters[pg].Clone()
	v.TrimFront(off)
	v.CapLength(n)
	return v
}

// home reports whether only the master refers to the page. The load pairs with
// the atomic add of the last release: what the reader did came before.
func (l *lender) home(pg Page) bool { return l.refs(pg).Load() == 1 }

// selfTest proves on heap memory what lending relies on: views alias the page,
// whatever writes copies first, and the reference count comes back to one.
func selfTest(l layout) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	const size = 192 // not a size class of gVisor's
	mem := make([]byte, 2*size)
	for i := range mem {
		mem[i] = byte(i)
	}
	r := l.lender(mem, size)
	for _, t := range []struct {
		name string
		do   func(v *buffer.View) error
	}{
		{"alias", func(v *buffer.View) error {
			if s := v.AsSlice(); len(s) != 100 || &s[0] != &mem[size+10] || v.Capacity() != size {
				return errors.New("the view does not alias the page")
			}
			return nil
		}},
		{"clone", func(v *buffer.View) error {
			c := v.Clone()
			defer c.Release()
			counter, ok := reflect.NewAt(l.chunk, r.at(1)).Interface().(interface{ ReadRefs() int64 })
			if !ok {
				return errors.New("the chunk has no method ReadRefs")
			}
			if n, theirs := r.refs(1).Load(), counter.ReadRefs(); n != 3 || theirs != 3 {
				return fmt.Errorf("%d references, %d by gVisor's own reading, want 3", n, theirs)
			}
			return nil
		}},
		{"WriteAt", func(v *buffer.View) error {
			_, err := v.WriteAt([]byte{0xff}, 0)
			return err
		}},
		{"Write", func(v *buffer.View) error {
			_, err := v.Write([]byte{0xff})
			return err
		}},
		{"Grow", func(v *buffer.View) error {
			v.Grow(2 * size)
			_, err := v.WriteAt([]byte{0xff}, 0)
			return err
		}},
		{"PullUp", func(v *buffer.View) error {
			b := buffer.MakeWithView(v.Clone())
			defer b.Release()
			h, ok := b.PullUp(5, 20)
			if !ok || h.Size() != 20 || h.AsSlice()[0] != byte(size+15) {
				return errors.New("wrong bytes")
			}
			h.AsSlice()[0] = 0xff // netstack edits headers like this
			return nil
		}},
		{"Append and Prepend", func(v *buffer.View) error {
			b := buffer.MakeWithView(v.Clone())
			defer b.Release()
			return errors.Join(
				b.Append(buffer.NewViewWithData([]byte{0xff})),
				b.Prepend(buffer.NewViewWithData([]byte{0xff})))
		}},
	} {
		v := r.view(1, 10, 100)
		if r.home(1) || !r.home(0) {
			return fmt.Errorf("%s: page of a view counts as home, or its neighbour does not", t.name)
		}
		if err := t.do(v); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		v.Release()
		if !r.home(1) || !r.home(0) {
			return fmt.Errorf("%s: %d references after the release, want 1", t.name, r.refs(1).Load())
		}
		for i, b := range mem {
			if b != byte(i) {
				return fmt.Errorf("%s: wrote to the page without copying", t.name)
			}
		}
	}
	return nil
}

package guest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

var errTree = errors.New("not a flattened device tree")

// ParseTree reads a flattened device tree.
func ParseTree(b []byte) (*Tree, error) {
	be := binary.BigEndian
	if len(b) < fdtHeaderLen || be.Uint32(b) != fdtMagic {
		return nil, fmt.Errorf("guest: magic number: %w", errTree)
	}
	structs, err := part(b, be.Uint32(b[8:]), be.Uint32(b[36:]))
	if err != nil {
		return nil, err
	}
	texts, err := part(b, be.Uint32(b[12:]), be.Uint32(b[32:]))
	if err != nil {
		return nil, err
	}
	t := &Tree{cpu: be.Uint32(b[28:])}
	reserved := b[min(int64(be.Uint32(b[16:])), int64(len(b))):]
	for n := 0; ; n += fdtReservation {
		if n+fdtReservation > len(reserved) {
			return nil, fmt.Errorf("guest: reservation block: %w", errTree)
		}
		if entry := reserved[n : n+fdtReservation]; be.Uint64(entry) == 0 && be.Uint64(entry[8:]) == 0 {
			t.reservations = bytes.Clone(reserved[:n+fdtReservation])
			break
		}
	}
	r := &fdtReader{structs: structs, texts: texts}
	if token := r.token(); token != fdtBegin {
		return nil, fmt.Errorf("guest: token %d in front of the root: %w", token, errTree)
	}
	if t.Root = r.node(0); r.err != nil {
		return nil, r.err
	}
	return t, nil
}

func part(b []byte, off, n uint32) ([]byte, error) {
	if uint64(off)+uint64(n) > uint64(len(b)) {
		return nil, fmt.Errorf("guest: block of %d bytes at %d of %d: %w", n, off, len(b), errTree)
	}
	return b[off : off+n], nil
}

// fdtReader reads the structure block. After an error it reads ends of nodes.
type fdtReader struct {
	structs, texts []byte
	err            error
}

func (r *fdtReader) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("guest: %s: %w", what, errTree)
	}
	r.structs = nil
}

func (r *fdtReader) u32() uint32 {
	if len(r.structs) < 4 {
		r.fail("end of structure block")
		return fdtEnd
	}
	v := binary.BigEndian.Uint32(r.structs)
	r.structs = r.structs[4:]
	return v
}

// token is the next one that means something.
func (r *fdtReader) token() uint32 {
	for {
		if t := r.u32(); t != fdtNop {
			return t
		}
	}
}

// take returns n bytes and skips what fills up the last word.
func (r *fdtReader) take(n uint32) []byte {
	padded := (uint64(n) + 3) &^ 3
	if padded > uint64(len(r.structs)) {
		r.fail(fmt.Sprintf("%d bytes", n))
		return nil
	}
	b := r.structs[:n]
	r.structs = r.structs[padded:]
	return b
}

// maxDepth is more than any tree has.
const maxDepth = 64

// node reads what follows the beginning of a node.
func (r *fdtReader) node(depth int) (n Node) {
	end := bytes.IndexByte(r.structs, 0)
	if end < 0 || depth > maxDepth {
		r.fail("node name")
		return n
	}
	n.Name = string(r.structs[:end])
	r.take(uint32(end) + 1)
	for r.err == nil {
		switch token := r.token(); token {
		case fdtBegin:
			n.Children = append(n.Children, r.node(depth+1))
		case fdtProp:
			size, name := r.u32(), r.u32()
			n.Props = append(n.Props, Prop{Name: r.text(name), Value: bytes.Clone(r.take(size))})
		case fdtEnd:
			return n
		default:
			r.fail(fmt.Sprintf("token %d", token))
		}
	}
	return n
}

// text is a name in the strings block.
func (r *fdtReader) text(at uint32) string {
	if uint64(at) < uint64(len(r.texts)) {
		if s, _, ok := bytes.Cut(r.texts[at:], []byte{0}); ok {
			return string(s)
		}
	}
	r.fail("property name")
	return ""
}

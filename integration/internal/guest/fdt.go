package guest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Node is a node of a device tree.
type Node struct {
	Name     string
	Props    []Prop
	Children []Node
}

// Prop is a property of a node.
type Prop struct {
	Name  string
	Value []byte
}

// Strings is a property of one or more strings.
func Strings(name string, v ...string) Prop {
	var b []byte
	for _, s := range v {
		b = append(append(b, s...), 0)
	}
	return Prop{name, b}
}

// Cells is a property of 32-bit numbers.
func Cells(name string, v ...uint32) Prop {
	var b []byte
	for _, n := range v {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	return Prop{name, b}
}

// Flattened device tree (Devicetree Specification 0.4, chapter 5).
const (
	fdtMagic     = 0xd00dfeed
	fdtHeaderLen = 40
	fdtBegin     = 1
	fdtEnd       = 2
	fdtProp      = 3
	fdtNop       = 4
	fdtFinish    = 9
)

var errTree = errors.New("not a flattened device tree")

// AddNodes returns tree with nodes added to its root.
func AddNodes(tree []byte, nodes ...Node) ([]byte, error) {
	be := binary.BigEndian
	if len(tree) < fdtHeaderLen || be.Uint32(tree) != fdtMagic {
		return nil, fmt.Errorf("guest: magic number: %w", errTree)
	}
	structs, err := part(tree, be.Uint32(tree[8:]), be.Uint32(tree[36:]))
	if err != nil {
		return nil, err
	}
	texts, err := part(tree, be.Uint32(tree[12:]), be.Uint32(tree[32:]))
	if err != nil {
		return nil, err
	}
	reserved := be.Uint32(tree[16:])
	if reserved > be.Uint32(tree[8:]) || be.Uint32(tree[8:]) > uint32(len(tree)) {
		return nil, fmt.Errorf("guest: reservation block: %w", errTree)
	}
	end, err := rootEnd(structs)
	if err != nil {
		return nil, err
	}
	w := &fdtWriter{structs: bytes.Clone(structs[:end]), texts: bytes.Clone(texts)}
	for _, n := range nodes {
		w.node(n)
	}
	w.u32(fdtEnd)
	w.u32(fdtFinish)

	// The blocks in the order that the header has them: reservations, structure,
	// strings.
	out := make([]byte, fdtHeaderLen)
	out = append(out, tree[reserved:be.Uint32(tree[8:])]...)
	for len(out)%8 != 0 {
		out = append(out, 0)
	}
	atStruct := len(out)
	out = append(out, w.structs...)
	atTexts := len(out)
	out = append(out, w.texts...)
	copy(out, tree[:fdtHeaderLen])
	be.PutUint32(out[4:], uint32(len(out)))
	be.PutUint32(out[8:], uint32(atStruct))
	be.PutUint32(out[12:], uint32(atTexts))
	be.PutUint32(out[16:], fdtHeaderLen)
	be.PutUint32(out[32:], uint32(len(w.texts)))
	be.PutUint32(out[36:], uint32(len(w.structs)))
	return out, nil
}

func part(b []byte, off, n uint32) ([]byte, error) {
	if uint64(off)+uint64(n) > uint64(len(b)) {
		return nil, fmt.Errorf("guest: block of %d bytes at %d of %d: %w", n, off, len(b), errTree)
	}
	return b[off : off+n], nil
}

// rootEnd is where the token that ends the root node stands.
func rootEnd(s []byte) (int, error) {
	depth := 0
	for at := 0; at+4 <= len(s); {
		token := binary.BigEndian.Uint32(s[at:])
		next := at + 4
		switch token {
		case fdtBegin:
			depth++
			n := bytes.IndexByte(s[next:], 0)
			if n < 0 {
				return 0, fmt.Errorf("guest: node name: %w", errTree)
			}
			next += (n + 4) &^ 3
		case fdtEnd:
			if depth--; depth == 0 {
				return at, nil
			}
		case fdtProp:
			if next+8 > len(s) {
				return 0, fmt.Errorf("guest: property: %w", errTree)
			}
			n := uint64(binary.BigEndian.Uint32(s[next:]))
			if n > uint64(len(s)) {
				return 0, fmt.Errorf("guest: property of %d bytes: %w", n, errTree)
			}
			next += 8 + (int(n)+3)&^3
		case fdtNop:
		default:
			return 0, fmt.Errorf("guest: token %d: %w", token, errTree)
		}
		at = next
	}
	return 0, fmt.Errorf("guest: no end of the root: %w", errTree)
}

type fdtWriter struct{ structs, texts []byte }

func (w *fdtWriter) u32(v int) { w.structs = binary.BigEndian.AppendUint32(w.structs, uint32(v)) }

func (w *fdtWriter) pad() {
	for len(w.structs)%4 != 0 {
		w.structs = append(w.structs, 0)
	}
}

func (w *fdtWriter) node(n Node) {
	w.u32(fdtBegin)
	w.structs = append(append(w.structs, n.Name...), 0)
	w.pad()
	for _, p := range n.Props {
		w.u32(fdtProp)
		w.u32(len(p.Value))
		w.u32(len(w.texts))
		w.texts = append(append(w.texts, p.Name...), 0)
		w.structs = append(w.structs, p.Value...)
		w.pad()
	}
	for _, c := range n.Children {
		w.node(c)
	}
	w.u32(fdtEnd)
}

package guest

import (
	"encoding/binary"
	"slices"
	"strings"
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
	// fdtReservation is the size of an entry of the reservation block, whose last
	// one is zeros.
	fdtReservation = 16
	fdtBegin       = 1
	fdtEnd         = 2
	fdtProp        = 3
	fdtNop         = 4
	fdtFinish      = 9
)

// AddNodes returns tree with nodes added to its root.
func AddNodes(tree []byte, nodes ...Node) ([]byte, error) {
	t, err := ParseTree(tree)
	if err != nil {
		return nil, err
	}
	t.Root.Children = append(t.Root.Children, nodes...)
	return t.Bytes(), nil
}

// Tree is a device tree. The zero value is one with nothing in it.
type Tree struct {
	Root Node
	// reservations is the block of memory reservations, and cpu the CPU to boot.
	reservations []byte
	cpu          uint32
}

// At is the node at a path from the root ("soc/ethernet@1c30000"), nil when there is
// none. It is valid until nodes are added.
func (t *Tree) At(path string) *Node {
	n := &t.Root
	for name := range strings.SplitSeq(path, "/") {
		i := slices.IndexFunc(n.Children, func(c Node) bool { return c.Name == name })
		if i < 0 {
			return nil
		}
		n = &n.Children[i]
	}
	return n
}

// Set sets properties, in the place of those of the same name.
func (n *Node) Set(props ...Prop) {
	for _, p := range props {
		n.Props = append(slices.DeleteFunc(n.Props, func(o Prop) bool { return o.Name == p.Name }), p)
	}
}

// Bytes is the tree as a boot loader passes it on: reservations, structure, strings.
func (t *Tree) Bytes() []byte {
	w := &fdtWriter{}
	w.node(t.Root)
	w.u32(fdtFinish)
	reservations := t.reservations
	if reservations == nil {
		reservations = make([]byte, fdtReservation)
	}
	atStruct := fdtHeaderLen + len(reservations)
	atTexts := atStruct + len(w.structs)
	var out []byte
	for _, v := range []uint32{
		fdtMagic, uint32(atTexts + len(w.texts)), uint32(atStruct), uint32(atTexts), fdtHeaderLen,
		17, 16, t.cpu, uint32(len(w.texts)), uint32(len(w.structs)),
	} {
		out = binary.BigEndian.AppendUint32(out, v)
	}
	return append(append(append(out, reservations...), w.structs...), w.texts...)
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

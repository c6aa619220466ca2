package devtree

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// base is where the kernel shows the tree.
const base = "/sys/firmware/devicetree/base"

// Tree is the tree of one machine. Its methods, and those of its nodes, may be called
// from any goroutine.
type Tree struct {
	dir      string
	handles  sync.Once
	byHandle map[uint32]string // paths; set in handles
}

// Open returns the tree of the machine whose root directory is root; "" is this one.
// The error wraps fs.ErrNotExist where there is none, as on most x86 machines.
func Open(root string) (*Tree, error) {
	dir, err := filepath.EvalSymlinks(filepath.Join("/", root, base))
	if err != nil {
		return nil, fmt.Errorf("devtree: no device tree: %w", err)
	}
	return &Tree{dir: dir}, nil
}

// Node is one node of a tree.
type Node struct {
	tree *Tree
	path string // from the root of the tree, "/" being that
}

// Root is the node that all others are below.
func (t *Tree) Root() Node { return Node{t, "/"} }

// Node returns the node at a path of the tree ("/soc/ethernet@1c30000").
func (t *Tree) Node(path string) (Node, error) {
	n := Node{t, filepath.Join("/", path)}
	if i, err := os.Stat(n.dir()); err != nil || !i.IsDir() {
		return n, fmt.Errorf("devtree: no node %s: %w", n.path, fs.ErrNotExist)
	}
	return n, nil
}

// At returns the node that a link in sysfs leads to, as the of_node of a device does.
func (t *Tree) At(link string) (Node, error) {
	dir, err := filepath.EvalSymlinks(link)
	if err != nil {
		return Node{}, fmt.Errorf("devtree: no node: %w", err)
	}
	rel, err := filepath.Rel(t.dir, dir)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return Node{}, fmt.Errorf("devtree: %s is no node: %w", dir, fs.ErrNotExist)
	}
	return t.Node(rel)
}

// Of returns the node of a device, which is a directory of sysfs below root, and nil
// when it has none.
func Of(root, device string) *Node {
	t, err := Open(root)
	if err != nil {
		return nil
	}
	n, err := t.At(filepath.Join("/", root, device, "of_node"))
	if err != nil {
		return nil
	}
	return &n
}

// Walk calls visit for every node, parents first, until it returns false.
func (t *Tree) Walk(visit func(Node) bool) { t.Root().walk(visit) }

func (n Node) walk(visit func(Node) bool) bool {
	if !visit(n) {
		return false
	}
	for _, c := range n.Children() {
		if !c.walk(visit) {
			return false
		}
	}
	return true
}

func (n Node) dir() string { return filepath.Join(n.tree.dir, n.path) }

// Path is the node's path in the tree.
func (n Node) Path() string { return n.path }

// Name is the last element of the path ("ethernet@1c30000"), "" for the root.
func (n Node) Name() string { return strings.TrimPrefix(filepath.Base(n.path), "/") }

// Parent is the node above. ok is false for the root.
func (n Node) Parent() (p Node, ok bool) {
	if n.path == "/" {
		return n, false
	}
	return Node{n.tree, filepath.Dir(n.path)}, true
}

// Children are the nodes below, by name.
func (n Node) Children() []Node {
	entries, _ := os.ReadDir(n.dir())
	var c []Node
	for _, e := range entries {
		if e.IsDir() {
			c = append(c, Node{n.tree, filepath.Join(n.path, e.Name())})
		}
	}
	return c
}

// Child is the node of this name below. ok is false when there is none.
func (n Node) Child(name string) (c Node, ok bool) {
	c, err := n.tree.Node(filepath.Join(n.path, name))
	return c, err == nil
}

// Property is a property's value. ok is false when the node does not have it; one
// without a value is empty.
func (n Node) Property(name string) (value []byte, ok bool) {
	value, err := os.ReadFile(filepath.Join(n.dir(), name))
	return value, err == nil
}

// Has reports whether the node has a property.
func (n Node) Has(name string) bool {
	_, ok := n.Property(name)
	return ok
}

// Strings is a property that is a list of strings.
func (n Node) Strings(name string) []string {
	value, _ := n.Property(name)
	var all []string
	for s := range strings.SplitSeq(string(value), "\x00") {
		if s != "" {
			all = append(all, s)
		}
	}
	return all
}

// String is the first string of a property, "" without one.
func (n Node) String(name string) string {
	if s := n.Strings(name); len(s) > 0 {
		return s[0]
	}
	return ""
}

// Cells is a property that is a list of cells, nil without one.
func (n Node) Cells(name string) []uint32 {
	value, _ := n.Property(name)
	var cells []uint32
	for ; len(value) >= 4; value = value[4:] {
		cells = append(cells, binary.BigEndian.Uint32(value))
	}
	return cells
}

// Cell is the first cell of a property.
func (n Node) Cell(name string) (v uint32, ok bool) {
	if c := n.Cells(name); len(c) > 0 {
		return c[0], true
	}
	return 0, false
}

// Compatible lists what the node says it is, most specific first.
func (n Node) Compatible() []string { return n.Strings("compatible") }

// Enabled reports whether the node may be used: its status is "okay", or it has none.
func (n Node) Enabled() bool {
	s := n.String("status")
	return s == "" || s == "okay" || s == "ok"
}

// Refer follows the i-th cell of a property as a reference to another node.
func (n Node) Refer(name string, i int) (Node, error) {
	cells := n.Cells(name)
	if i < 0 || i >= len(cells) {
		return Node{}, fmt.Errorf("devtree: %s: property %s has %d cells: %w", n.path, name, len(cells), fs.ErrNotExist)
	}
	n.tree.handles.Do(n.tree.readHandles)
	path, ok := n.tree.byHandle[cells[i]]
	if !ok {
		return Node{}, fmt.Errorf("devtree: %s: property %s refers to node %#x, which is not there: %w", n.path, name, cells[i], fs.ErrNotExist)
	}
	return Node{n.tree, path}, nil
}

// readHandles reads once what references refer to: it takes a look at every node.
func (t *Tree) readHandles() {
	t.byHandle = map[uint32]string{}
	t.Walk(func(n Node) bool {
		for _, name := range []string{"linux,phandle", "phandle"} {
			if v, ok := n.Cell(name); ok {
				t.byHandle[v] = n.path
			}
		}
		return true
	})
}

// ErrMalformed is wrapped by errors about a tree that contradicts itself.
var ErrMalformed = errors.New("malformed device tree")

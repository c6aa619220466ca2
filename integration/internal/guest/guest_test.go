package guest

import (
	"encoding/binary"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// emptyTree is a tree of a root with one property and one node.
func emptyTree() []byte {
	t := Tree{Root: Node{Props: []Prop{Cells("#address-cells", 2)}, Children: []Node{{Name: "cpus"}}}}
	return t.Bytes()
}

// text writes a tree as its paths and properties.
func text(t *testing.T, tree []byte) string {
	be := binary.BigEndian
	structs, err := part(tree, be.Uint32(tree[8:]), be.Uint32(tree[36:]))
	require.NoError(t, err)
	texts, err := part(tree, be.Uint32(tree[12:]), be.Uint32(tree[32:]))
	require.NoError(t, err)
	require.EqualValues(t, len(tree), be.Uint32(tree[4:]))
	str := func(b []byte) string { s, _, _ := strings.Cut(string(b), "\x00"); return s }
	var out strings.Builder
	for at := 0; ; {
		token := be.Uint32(structs[at:])
		at += 4
		switch token {
		case fdtBegin:
			name := str(structs[at:])
			at += (len(name) + 4) &^ 3
			out.WriteString("/" + name + "{")
		case fdtEnd:
			out.WriteString("}")
		case fdtProp:
			n, name := int(be.Uint32(structs[at:])), str(texts[be.Uint32(structs[at+4:]):])
			out.WriteString(name + "=" + strconv.Quote(string(structs[at+8:at+8+n])) + ";")
			at += 8 + (n+3)&^3
		case fdtFinish:
			require.Equal(t, len(structs), at)
			return out.String()
		default:
			t.Fatalf("token %d", token)
		}
	}
}

func TestAddNodes(t *testing.T) {
	tree, err := AddNodes(emptyTree(),
		Node{Name: "clock", Props: []Prop{Cells("phandle", 7), Strings("compatible", "a", "bc")}},
		Node{Name: "mac@1", Children: []Node{{Name: "link", Props: []Prop{{Name: "full-duplex"}}}}})
	require.NoError(t, err)
	require.Equal(t, `/{#address-cells="\x00\x00\x00\x02";/cpus{}/clock{phandle="\x00\x00\x00\a";compatible="a\x00bc\x00";}/mac@1{/link{full-duplex="";}}}`, text(t, tree))
	again, err := AddNodes(tree, Node{Name: "x"})
	require.NoError(t, err)
	require.Equal(t, strings.TrimSuffix(text(t, tree), "}")+"/x{}}", text(t, again))
}

func TestTree(t *testing.T) {
	tree, err := ParseTree(emptyTree())
	require.NoError(t, err)
	require.Nil(t, tree.At("cpus/cpu@0"))
	cpus := tree.At("cpus")
	cpus.Set(Cells("reg", 1), Strings("status", "okay"))
	cpus.Set(Strings("status", "disabled"))
	cpus.Children = append(cpus.Children, Node{Name: "cpu@0"})
	require.NotNil(t, tree.At("cpus/cpu@0"))
	again, err := ParseTree(tree.Bytes())
	require.NoError(t, err)
	require.Equal(t, tree, again)
	require.Equal(t, `/{#address-cells="\x00\x00\x00\x02";/cpus{reg="\x00\x00\x00\x01";status="disabled\x00";/cpu@0{}}}`, text(t, again.Bytes()))
}

func FuzzAddNodes(f *testing.F) {
	f.Add(emptyTree())
	f.Add(emptyTree()[:70])
	f.Fuzz(func(t *testing.T, tree []byte) {
		if out, err := AddNodes(tree, Node{Name: "x"}); err != nil {
			require.ErrorIs(t, err, errTree)
		} else {
			require.Greater(t, len(out), fdtHeaderLen)
		}
	})
}

func TestInitrd(t *testing.T) {
	r := NewInitrd([]byte("busybox"), []Module{{"b", []byte("B1")}, {"a", []byte("A")}}, "echo hello\n")
	b := r.Bytes()
	files := map[string]string{}
	var names []string
	for at := 0; ; {
		require.Equal(t, "070701", string(b[at:at+6]))
		field := func(i int) int {
			n, err := strconv.ParseUint(string(b[at+6+8*i:at+14+8*i]), 16, 32)
			require.NoError(t, err)
			return int(n)
		}
		size, nameLen, mode := field(6), field(11), field(1)
		name := string(b[at+110 : at+110+nameLen-1])
		if name == "TRAILER!!!" {
			break
		}
		data := (at + 110 + nameLen + 3) &^ 3
		names = append(names, name)
		if mode&modeFile != 0 {
			files[name] = string(b[data : data+size])
		} else {
			require.EqualValues(t, modeDir|0o755, mode)
		}
		at = (data + size + 3) &^ 3
	}
	require.Contains(t, names, "proc")
	require.Equal(t, "busybox", files["bin/busybox"])
	require.Equal(t, "b\na\n", files["mod/order"])
	require.Equal(t, "B1", files["mod/b.ko"])
	require.Equal(t, "echo hello\n", files["test"])
	require.Contains(t, files["init"], "sh /test")
}

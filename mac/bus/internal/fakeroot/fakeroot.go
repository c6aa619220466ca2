// Package fakeroot makes a directory that stands for / in tests: what the kernel says
// about a machine that is not there.
package fakeroot

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// Root is the directory.
type Root struct {
	testing.TB
	Dir string
}

// New returns an empty one, which goes with the test.
func New(t testing.TB) *Root { return &Root{t, t.TempDir()} }

// Write makes a file and the directories above it.
func (r *Root) Write(path, text string) {
	r.Helper()
	path = r.prepare(path)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.Fatal(err)
	}
}

// Cells writes a property of the device tree.
func (r *Root) Cells(path string, cells ...uint32) {
	r.Helper()
	var b []byte
	for _, c := range cells {
		b = binary.BigEndian.AppendUint32(b, c)
	}
	r.Write(path, string(b))
}

// Link makes a relative symbolic link, as those of sysfs are.
func (r *Root) Link(path, to string) {
	r.Helper()
	path = r.prepare(path)
	to, err := filepath.Rel(filepath.Dir(path), filepath.Join(r.Dir, to))
	if err == nil {
		err = os.Symlink(to, path)
	}
	if err != nil {
		r.Fatal(err)
	}
}

// Read is the contents of a file.
func (r *Root) Read(path string) string {
	r.Helper()
	b, err := os.ReadFile(filepath.Join(r.Dir, path))
	if err != nil {
		r.Fatal(err)
	}
	return string(b)
}

// Remove takes a file or a directory away.
func (r *Root) Remove(path string) {
	r.Helper()
	if err := os.RemoveAll(filepath.Join(r.Dir, path)); err != nil {
		r.Fatal(err)
	}
}

func (r *Root) prepare(path string) string {
	r.Helper()
	path = filepath.Join(r.Dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.Fatal(err)
	}
	return path
}

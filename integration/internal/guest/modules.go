package guest

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Module is a kernel module.
type Module struct {
	Name string
	Data []byte
}

// Modules are the named modules and all that they need, in the order they load
// in. Names may be written with - or _. Needs xz.
func (d *Debian) Modules(ctx context.Context, names ...string) ([]Module, error) {
	files := map[string]string{}
	for _, dir := range []string{filepath.Join(d.modules, "kernel"), d.built} {
		if dir == "" {
			continue
		}
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if base, _, ok := strings.Cut(filepath.Base(path), ".ko"); ok && err == nil {
				files[plain(base)] = path
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("guest: %w", err)
		}
	}
	var loaded []Module
	seen := map[string]bool{}
	var need func(name string) error
	need = func(name string) error {
		if name = plain(name); seen[name] {
			return nil
		}
		seen[name] = true
		path, ok := files[name]
		if !ok {
			return fmt.Errorf("guest: kernel %s has no module %s", d.KernelVersion(), name)
		}
		data, err := readModule(ctx, path)
		if err != nil {
			return err
		}
		deps, err := moduleDepends(data)
		if err != nil {
			return fmt.Errorf("guest: module %s: %w", name, err)
		}
		for _, dep := range deps {
			if err := need(dep); err != nil {
				return err
			}
		}
		loaded = append(loaded, Module{name, data})
		return nil
	}
	for _, name := range names {
		if err := need(name); err != nil {
			return nil, err
		}
	}
	return loaded, nil
}

func plain(name string) string { return strings.ReplaceAll(name, "-", "_") }

func readModule(ctx context.Context, path string) ([]byte, error) {
	if strings.HasSuffix(path, ".xz") {
		out, err := exec.CommandContext(ctx, "xz", "-dc", path).Output()
		if err != nil {
			return nil, fmt.Errorf("guest: xz -dc %s: %w", path, err)
		}
		return out, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("guest: %w", err)
	}
	return b, nil
}

// moduleDepends reads what modinfo calls depends.
func moduleDepends(data []byte) ([]string, error) {
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := f.Section(".modinfo")
	if s == nil {
		return nil, fmt.Errorf("no .modinfo section")
	}
	info, err := s.Data()
	if err != nil {
		return nil, err
	}
	for _, field := range bytes.Split(info, []byte{0}) {
		if v, ok := bytes.CutPrefix(field, []byte("depends=")); ok {
			return strings.FieldsFunc(string(v), func(r rune) bool { return r == ',' }), nil
		}
	}
	return nil, nil
}

package guest

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Program is a program and the shared libraries that it needs, by their paths in
// the guest.
type Program map[string][]byte

// Ethtool is ethtool for the guest.
func (d *Debian) Ethtool() (Program, error) {
	return program(d.ethtool, "usr/sbin/ethtool", "sbin/ethtool")
}

// libraries are the folders of shared libraries in Debian's arm64 packages.
var libraries = [...]string{"usr/lib/aarch64-linux-gnu", "lib/aarch64-linux-gnu", "usr/lib", "lib"}

// loader is where the dynamic linker must be.
const loader = "ld-linux-aarch64.so.1"

// program collects the program at file below root, and the libraries there.
func program(root, file, as string) (Program, error) {
	p := Program{}
	data, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return nil, fmt.Errorf("guest: %w", err)
	}
	p[as] = data
	if err := p.library(root, loader); err != nil {
		return nil, err
	}
	return p, p.needs(root, filepath.Join(root, file))
}

func (p Program) needs(root, file string) error {
	f, err := elf.Open(file)
	if err != nil {
		return fmt.Errorf("guest: %w", err)
	}
	defer f.Close()
	names, err := f.ImportedLibraries()
	if err != nil {
		return fmt.Errorf("guest: %s: %w", file, err)
	}
	for _, n := range names {
		if err := p.library(root, n); err != nil {
			return err
		}
	}
	return nil
}

func (p Program) library(root, name string) error {
	as := path.Join("lib", name)
	if _, ok := p[as]; ok {
		return nil
	}
	for _, dir := range libraries {
		file := filepath.Join(root, dir, name)
		data, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("guest: %w", err)
		}
		p[as] = data
		return p.needs(root, file)
	}
	return fmt.Errorf("guest: no %s in %s: remove it and try again", name, root)
}

package guest

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
)

// Programs are programs and the shared libraries that they need, by their paths
// in the guest.
type Programs map[string][]byte

// Tools are ethtool and ip, which busybox has not, or not all of.
func (d *Debian) Tools() (Programs, error) {
	p := Programs{}
	return p, errors.Join(
		p.add(d.tools, "usr/sbin/ethtool", "sbin/ethtool"),
		p.add(d.tools, "usr/bin/ip", "sbin/ip"),
	)
}

// libraries are the folders of shared libraries in Debian's arm64 and armhf packages.
var libraries = [...]string{
	"usr/lib/aarch64-linux-gnu", "lib/aarch64-linux-gnu", "usr/lib/arm-linux-gnueabihf", "lib/arm-linux-gnueabihf", "usr/lib", "lib",
}

// loaders are the dynamic linkers. They must be where programs look for them.
var loaders = map[elf.Machine]string{elf.EM_AARCH64: "ld-linux-aarch64.so.1", elf.EM_ARM: "ld-linux-armhf.so.3"}

// add takes in the program at file below root, and the libraries there.
func (p Programs) add(root, file, as string) error {
	data, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return fmt.Errorf("guest: %w", err)
	}
	p[as] = data
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("guest: %s: %w", file, err)
	}
	loader, ok := loaders[f.Machine]
	if !ok {
		return fmt.Errorf("guest: %s is for %v: no dynamic linker is known for it", file, f.Machine)
	}
	if err := p.library(root, loader); err != nil {
		return err
	}
	return p.needs(root, filepath.Join(root, file))
}

func (p Programs) needs(root, file string) error {
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

func (p Programs) library(root, name string) error {
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

// Build returns the package of this name as a static program for a guest of an
// architecture as Go names it. Files are made in dir.
func Build(ctx context.Context, dir, arch, pkg string) ([]byte, error) {
	file := filepath.Join(dir, path.Base(pkg))
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOARM=7")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("guest: build %s for %s: %w: %s", pkg, arch, err, out)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("guest: %w", err)
	}
	return data, nil
}

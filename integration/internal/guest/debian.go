package guest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/barewire/barewire/integration/internal/fetch"
)

// Debian is what a test needs of Debian: QEMU for this machine, and a kernel with
// its modules, busybox, ethtool and ip for a guest.
type Debian struct {
	qemu    string // roots of unpacked packages
	kernel  string
	busybox string
	tools   string
	modules string // .../lib/modules/VERSION
	built   string // modules that go before those, if any: see Build
}

func debianArchive() *fetch.Archive {
	return &fetch.Archive{
		Suites: []string{"trixie", "trixie-backports"}, Target: "trixie-backports", Architectures: []string{"amd64", "arm64"},
	}
}

// Fetch gets what is not in the cache yet: about 140 MB.
func Fetch(ctx context.Context) (*Debian, error) {
	d := &Debian{}
	if err := d.fetchARM64(ctx); err != nil {
		return nil, err
	}
	var err error
	d.tools, err = debianArchive().Unpacked(ctx, true, "ethtool:arm64", "iproute2:arm64")
	return d, err
}

func (d *Debian) fetchARM64(ctx context.Context) (err error) {
	archive := debianArchive()
	if d.qemu, err = archive.Unpacked(ctx, true, "qemu-system-arm"); err != nil {
		return err
	}
	if d.busybox, err = archive.Unpacked(ctx, false, "busybox-static:arm64"); err != nil {
		return err
	}
	parts, err := kernelPackages(ctx, archive)
	if err != nil {
		return err
	}
	if d.kernel, err = archive.Unpacked(ctx, false, parts...); err != nil {
		return err
	}
	return d.findModules()
}

// findModules looks for the modules of the one kernel that was fetched.
func (d *Debian) findModules() error {
	found, err := filepath.Glob(filepath.Join(d.kernel, "usr/lib/modules/*/kernel"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("guest: no kernel modules in %s: remove it and try again", d.kernel)
	}
	d.modules = filepath.Dir(found[0])
	return nil
}

// kernelPackages follows the package that always depends on the newest kernel to
// those with the kernel and the modules in them.
func kernelPackages(ctx context.Context, archive *fetch.Archive) ([]string, error) {
	image, err := depends(ctx, archive, "linux-image-arm64:arm64", "linux-image-")
	if err != nil {
		return nil, err
	}
	binary, err := depends(ctx, archive, image, "linux-binary-")
	if err != nil {
		return nil, err
	}
	modules, err := depends(ctx, archive, image, "linux-modules-")
	if err != nil {
		return nil, err
	}
	return []string{binary, modules}, nil
}

func depends(ctx context.Context, archive *fetch.Archive, pkg, prefix string) (string, error) {
	names, err := archive.Depends(ctx, pkg)
	if err != nil {
		return "", err
	}
	// "linux-modules-7.3" is meant, not "linux-modules-arm64".
	i := slices.IndexFunc(names, func(n string) bool {
		rest, ok := strings.CutPrefix(n, prefix)
		return ok && rest != "" && rest[0] >= '0' && rest[0] <= '9'
	})
	if i < 0 {
		return "", fmt.Errorf("guest: %s depends on %v: no %sVERSION among them", pkg, names, prefix)
	}
	name, _, _ := strings.Cut(names[i], ":")
	return name + ":arm64", nil
}

// KernelVersion is as uname -r says.
func (d *Debian) KernelVersion() string { return filepath.Base(d.modules) }

// Kernel is the path of the kernel's image.
func (d *Debian) Kernel() (string, error) {
	for _, p := range []string{filepath.Join(d.modules, "vmlinuz"), filepath.Join(d.kernel, "boot/vmlinuz-"+d.KernelVersion())} {
		if _, err := os.Stat(p); err == nil {
			return p, nil
		}
	}
	return "", fmt.Errorf("guest: no vmlinuz in %s: remove it and try again", d.kernel)
}

// Busybox is the path of the guest's busybox.
func (d *Debian) Busybox() string { return filepath.Join(d.busybox, "usr/bin/busybox") }

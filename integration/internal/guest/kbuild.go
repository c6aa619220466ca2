package guest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/barewire/barewire/integration/internal/fetch"
)

// compiler is what builds kernel modules for arm on amd64, with what it needs.
var compiler = []string{
	"gcc-14-arm-linux-gnueabihf", "make", "bash", "dash", "coreutils", "sed", "gawk", "findutils", "grep", "perl-base", "base-files",
}

// Build builds modules for an arm guest's kernel, once: from files of its source,
// named by their paths there, and from those of more, a Makefile among them. It
// needs about 240 MB of packages, and the rights to change the root directory:
// root's, or user namespaces. Modules that stand in for the kernel's own are used
// by Modules from then on.
func (d *Debian) Build(ctx context.Context, sources []string, more fs.FS) error {
	a := armArchive()
	version, ok := strings.CutSuffix(d.KernelVersion(), "-armmp")
	if !ok {
		return fmt.Errorf("guest: modules are built for arm, not for %s", d.KernelVersion())
	}
	key := []any{d.KernelVersion(), sources}
	err := fs.WalkDir(more, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := fs.ReadFile(more, path)
		key = append(key, path, string(b))
		return err
	})
	if err != nil {
		return fmt.Errorf("guest: %w", err)
	}
	d.built, err = a.Made("modules-"+version, key, func(dir string) error {
		root, err := d.buildRoot(ctx, a, version)
		if err != nil {
			return err
		}
		defer os.RemoveAll(root)
		if err := d.addSources(ctx, a, filepath.Join(root, "build"), sources, more); err != nil {
			return err
		}
		if err := make32(ctx, root, "/usr/src/linux-headers-"+d.KernelVersion()); err != nil {
			return err
		}
		found, err := filepath.Glob(filepath.Join(root, "build", "*.ko"))
		if err != nil || len(found) == 0 {
			return fmt.Errorf("guest: the build has made no module")
		}
		for _, f := range found {
			if err := copyFile(filepath.Join(dir, filepath.Base(f)), f); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// buildRoot is a root directory with compiler and kernel headers.
func (d *Debian) buildRoot(ctx context.Context, a *fetch.Archive, version string) (string, error) {
	tools, err := a.Unpacked(ctx, true, append(compiler, "linux-kbuild-"+version)...)
	if err != nil {
		return "", err
	}
	headers, err := a.Unpacked(ctx, false, "linux-headers-"+d.KernelVersion()+":armhf", "linux-headers-"+version+"-common")
	if err != nil {
		return "", err
	}
	root, err := os.MkdirTemp(filepath.Dir(headers), "root")
	if err != nil {
		return "", fmt.Errorf("guest: %w", err)
	}
	fail := func(err error) (string, error) {
		return "", errors.Join(fmt.Errorf("guest: root directory to build in: %w", err), os.RemoveAll(root))
	}
	for _, dir := range []string{"usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "build", "tmp", "dev"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return fail(err)
		}
	}
	for _, dir := range []string{"bin", "sbin", "lib", "lib64"} {
		if err := os.Symlink("usr/"+dir, filepath.Join(root, dir)); err != nil {
			return fail(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "dev/null"), nil, 0o666); err != nil {
		return fail(err)
	}
	for _, from := range []string{tools, headers} {
		// Links, for the cache is on the same file system, and nothing is changed.
		if out, err := exec.CommandContext(ctx, "cp", "-a", "--link", from+"/usr/.", filepath.Join(root, "usr")).CombinedOutput(); err != nil {
			return fail(fmt.Errorf("cp: %w: %s", err, out))
		}
	}
	// What a package's installation would have done.
	if err := os.Symlink("gawk", filepath.Join(root, "usr/bin/awk")); err != nil && !errors.Is(err, fs.ErrExist) {
		return fail(err)
	}
	return root, nil
}

// deviceTable is a line that modules need to be found by, and that Debian's modpost
// for amd64 cannot read in an object for arm.
var deviceTable = regexp.MustCompile(`(?m)^MODULE_DEVICE_TABLE.*\n`)

// addSources puts what is to be built into dir.
func (d *Debian) addSources(ctx context.Context, a *fetch.Archive, dir string, sources []string, more fs.FS) error {
	if err := os.CopyFS(dir, more); err != nil {
		return fmt.Errorf("guest: %w", err)
	}
	parts := strings.SplitN(d.KernelVersion(), ".", 3)
	name := "linux-source-" + parts[0] + "." + parts[1]
	source, err := a.Unpacked(ctx, false, name)
	if err != nil {
		return err
	}
	args := []string{"-xJf", filepath.Join(source, "usr/src", name+".tar.xz"), "-C", dir, "--strip-components=1"}
	for _, s := range sources {
		args = append(args, name+"/"+s)
	}
	if out, err := exec.CommandContext(ctx, "tar", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("guest: tar: %w: %s", err, out)
	}
	for _, s := range sources {
		b, err := os.ReadFile(filepath.Join(dir, s))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(s)), deviceTable.ReplaceAll(b, nil), 0o644)
		}
		if err != nil {
			return fmt.Errorf("guest: %w", err)
		}
	}
	return nil
}

// make32 runs make in the root directory. /dev/null is the machine's own.
func make32(ctx context.Context, root, headers string) error {
	script := `mount --bind /dev/null "$1/dev/null" && exec chroot "$1" /usr/bin/make -C "$2" M=/build ARCH=arm \
		CROSS_COMPILE=arm-linux-gnueabihf- CC=arm-linux-gnueabihf-gcc-14 modules -j2`
	cmd := exec.CommandContext(ctx, "unshare", "--map-root-user", "--mount", "/bin/sh", "-c", script, "sh", root, headers)
	cmd.Env = []string{"PATH=/usr/bin:/usr/sbin:/bin:/sbin", "LC_ALL=C", "SHELL=/bin/sh"}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("guest: build modules in %s (needs user namespaces): %w: %s", root, err, out)
	}
	return nil
}

func copyFile(to, from string) error {
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o644)
	}
	if err != nil {
		return fmt.Errorf("guest: %w", err)
	}
	return nil
}

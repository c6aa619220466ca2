// Package fetch gets Debian packages for integration tests without installing
// anything: apt, with a state of its own and the mirror and key of the machine's
// own sources, chooses and downloads them, and dpkg-deb unpacks them into a
// directory of the user's cache. What is there already is not fetched again.
//
// apt checks the index against the archive's key and each package against the
// hash in the index, and refuses what does not match.
//
// Needs apt-get, dpkg-deb and the key ring of package debian-archive-keyring, hence
// a Debian or a system derived from it.
package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Archive is a choice of suites of the Debian archive.
type Archive struct {
	// Suites are searched for packages: "trixie", "trixie-backports".
	Suites []string
	// Target is the suite whose versions are preferred.
	Target string
	// Architectures are Debian's names; the first is native.
	Architectures []string
	// Dir is where everything is kept. "" means barewire in the user's cache.
	Dir string
}

// ErrNoArchive means that this machine has no sources of Debian packages.
var ErrNoArchive = errors.New("apt has no source of Debian packages")

func (a *Archive) dir() (string, error) {
	if a.Dir != "" {
		return a.Dir, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("fetch: set HOME or XDG_CACHE_HOME: %w", err)
	}
	return filepath.Join(cache, "barewire"), nil
}

// Unpacked returns a directory that holds the files of packages, fetching them
// first if needed. With depends, all that the packages depend on is there too.
// A name may carry an architecture (busybox-static:arm64).
func (a *Archive) Unpacked(ctx context.Context, depends bool, packages ...string) (string, error) {
	dir, err := a.dir()
	if err != nil {
		return "", err
	}
	name, _, _ := strings.Cut(packages[0], ":")
	root := filepath.Join(dir, name+"-"+hash(a.Suites, a.Target, a.Architectures, depends, packages))
	if _, err := os.Stat(root); err == nil {
		return root, nil
	}
	apt, err := a.update(ctx, dir)
	if err != nil {
		return "", err
	}
	debs, err := os.MkdirTemp(dir, "debs")
	if err != nil {
		return "", fmt.Errorf("fetch: %w", err)
	}
	defer os.RemoveAll(debs)
	if err := apt.download(ctx, debs, depends, packages); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(dir, "unpack")
	if err != nil {
		return "", fmt.Errorf("fetch: %w", err)
	}
	defer os.RemoveAll(tmp)
	files, err := filepath.Glob(filepath.Join(debs, "*.deb"))
	if err != nil || len(files) == 0 {
		return "", fmt.Errorf("fetch: apt downloaded no package for %v", packages)
	}
	for _, f := range files {
		if _, err := run(ctx, nil, "", "dpkg-deb", "-x", f, tmp); err != nil {
			return "", err
		}
	}
	// Another process may have been faster; its files are as good.
	if err := os.Rename(tmp, root); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("fetch: %w", err)
	}
	return root, nil
}

// Depends lists what pkg depends on directly. The answer is kept with the
// packages, so that one that has been fetched needs no network again.
func (a *Archive) Depends(ctx context.Context, pkg string) ([]string, error) {
	dir, err := a.dir()
	if err != nil {
		return nil, err
	}
	kept := filepath.Join(dir, "depends-"+hash(pkg))
	if b, err := os.ReadFile(kept); err == nil {
		return strings.Fields(string(b)), nil
	}
	apt, err := a.update(ctx, dir)
	if err != nil {
		return nil, err
	}
	out, err := apt.run(ctx, "", "apt-cache", "--no-recommends", "--no-suggests", "--no-conflicts", "--no-breaks", "--no-replaces", "--no-enhances",
		"-o", "APT::Default-Release="+a.Target, "depends", pkg)
	if err != nil {
		return nil, err
	}
	var names []string
	for line := range strings.Lines(out) {
		if rest, ok := strings.CutPrefix(strings.TrimLeft(line, " |"), "Depends: "); ok {
			names = append(names, strings.Trim(strings.TrimSpace(rest), "<>"))
		}
	}
	if err := os.WriteFile(kept, []byte(strings.Join(names, "\n")), 0o644); err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	return names, nil
}

// Made returns a directory of the cache that fill has filled, once for each name and
// key.
func (a *Archive) Made(name string, key any, fill func(dir string) error) (string, error) {
	dir, err := a.dir()
	if err != nil {
		return "", err
	}
	root := filepath.Join(dir, name+"-"+hash(key))
	if _, err := os.Stat(root); err == nil {
		return root, nil
	}
	tmp, err := os.MkdirTemp(dir, "made")
	if err != nil {
		return "", fmt.Errorf("fetch: %w", err)
	}
	defer os.RemoveAll(tmp)
	if err := fill(tmp); err != nil {
		return "", err
	}
	if err := os.Rename(tmp, root); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("fetch: %w", err)
	}
	return root, nil
}

// hash tells requests apart in file names.
func hash(v ...any) string {
	sum := sha256.Sum256(fmt.Append(nil, v...))
	return hex.EncodeToString(sum[:6])
}

// apt is apt with a state of its own.
type apt struct {
	config string
	target string
}

// update brings the index of packages up to date.
func (a *Archive) update(ctx context.Context, dir string) (*apt, error) {
	state := filepath.Join(dir, "apt-"+hash(a.Suites, a.Architectures))
	for _, d := range []string{"lists/partial", "cache/archives/partial", "etc/preferences.d", "etc/apt.conf.d", "etc/trusted.gpg.d", "dpkg"} {
		if err := os.MkdirAll(filepath.Join(state, d), 0o755); err != nil {
			return nil, fmt.Errorf("fetch: %w", err)
		}
	}
	mirror, err := mirror(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(keyring); err != nil {
		return nil, fmt.Errorf("fetch: install debian-archive-keyring: %w", err)
	}
	var sources strings.Builder
	for _, suite := range a.Suites {
		fmt.Fprintf(&sources, "deb [signed-by=%s] %s %s main\n", keyring, mirror, suite)
	}
	var arch strings.Builder
	for _, n := range a.Architectures {
		fmt.Fprintf(&arch, "%q;", n)
	}
	config := fmt.Sprintf(`Dir::State %[1]q; Dir::State::lists "%[1]s/lists"; Dir::State::status "%[1]s/dpkg/status";
Dir::Cache "%[1]s/cache"; Dir::Etc "%[1]s/etc"; Dir::Etc::sourcelist "%[1]s/etc/sources.list"; Dir::Etc::sourceparts "-";
APT::Architecture %[2]q; APT::Architectures {%[3]s}; APT::Install-Recommends "false"; APT::Sandbox::User "";
Acquire::Languages "none"; APT::Get::Download-Only "true"; APT::Get::Assume-Yes "true";
`, state, a.Architectures[0], arch.String())
	t := &apt{config: filepath.Join(state, "apt.conf"), target: a.Target}
	for path, text := range map[string]string{t.config: config, filepath.Join(state, "etc/sources.list"): sources.String(), filepath.Join(state, "dpkg/status"): ""} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return nil, fmt.Errorf("fetch: %w", err)
		}
	}
	_, err = t.run(ctx, "", "apt-get", "-q", "update", "-o", "APT::Update::Error-Mode=any")
	return t, err
}

// keyring holds the keys of the Debian archive.
const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// mirror is the one that this machine's apt uses for Debian.
func mirror(ctx context.Context) (string, error) {
	out, err := run(ctx, nil, "", "apt-get", "indextargets", "--format", "$(CREATED_BY) $(COMPONENT) $(REPO_URI)")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) == 3 && f[0] == "Packages" && f[1] == "main" && strings.HasSuffix(strings.TrimSuffix(f[2], "/"), "/debian") {
			return f[2], nil
		}
	}
	return "", fmt.Errorf("fetch: no main component with a mirror that ends in /debian: %w", ErrNoArchive)
}

func (t *apt) download(ctx context.Context, dir string, depends bool, packages []string) error {
	if !depends {
		_, err := t.run(ctx, dir, "apt-get", append([]string{"-q", "-t", t.target, "download"}, packages...)...)
		return err
	}
	_, err := t.run(ctx, dir, "apt-get", append([]string{"-q", "-t", t.target, "-o", "Dir::Cache::archives=" + dir, "install"}, packages...)...)
	return err
}

func (t *apt) run(ctx context.Context, dir, command string, args ...string) (string, error) {
	return run(ctx, []string{"APT_CONFIG=" + t.config}, dir, command, args...)
}

// run returns the standard output of a command. Its errors carry what the command
// wrote.
func run(ctx context.Context, env []string, dir, command string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, command, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), append(env, "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		text := strings.TrimSpace(errs.String())
		if len(text) > 2000 {
			text = text[len(text)-2000:]
		}
		return "", fmt.Errorf("fetch: %s %s: %w: %s", command, strings.Join(args, " "), err, text)
	}
	return out.String(), nil
}

// Package sysfs reads what the kernel says about devices.
package sysfs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/barewire/barewire/mac"
)

// Root is the directory that stands for / in all paths. "" is / itself.
type Root string

// Path is where path is found.
func (r Root) Path(path ...string) string {
	return filepath.Join("/", string(r), filepath.Join(path...))
}

// Exists reports whether there is something at path.
func (r Root) Exists(path ...string) bool {
	_, err := os.Stat(r.Path(path...))
	return err == nil
}

// Text reads a one-line file.
func (r Root) Text(path ...string) (string, error) {
	b, err := os.ReadFile(r.Path(path...))
	return strings.TrimSpace(string(b)), err
}

// Number reads a file that holds one number, hexadecimal when it begins with 0x.
func (r Root) Number(path ...string) (uint64, error) {
	s, err := r.Text(path...)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", r.Path(path...), err)
	}
	return n, nil
}

// Target is the name of what a symbolic link leads to: the driver of
// .../driver, the group of .../iommu_group. "" when there is no link.
func (r Root) Target(path ...string) string {
	to, err := filepath.EvalSymlinks(r.Path(path...))
	if err != nil {
		return ""
	}
	return filepath.Base(to)
}

// Only is the name of the one entry of a directory that begins with prefix.
func (r Root) Only(prefix string, path ...string) (string, error) {
	entries, err := os.ReadDir(r.Path(path...))
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			return e.Name(), nil
		}
	}
	return "", &fs.PathError{Op: "find", Path: r.Path(filepath.Join(path...), prefix+"*"), Err: fs.ErrNotExist}
}

// Compatible is the compatible property of a device's device-tree node, nil
// when it has none.
func (r Root) Compatible(device string) []string {
	b, err := os.ReadFile(r.Path(device, "of_node/compatible"))
	if err != nil {
		return nil
	}
	var names []string
	for _, n := range bytes.Split(b, []byte{0}) {
		if len(n) > 0 {
			names = append(names, string(n))
		}
	}
	return names
}

// Coherent reports whether DMA of a device and the caches of a CPU of
// architecture goarch keep each other right, and why.
//
// As Linux does (of_dma_is_coherent), the first of the device's node and the
// nodes above that says dma-coherent or dma-noncoherent decides. A PCI device
// without a node has that of its host bridge. Where nothing is said, x86 and
// RISC-V are coherent and Arm is not.
func (r Root) Coherent(device, goarch string) (coherent bool, why string) {
	if node := r.node(device); node != "" {
		for n := node; filepath.Base(n) != "devicetree" && len(n) > len(r.Path()); n = filepath.Dir(n) {
			for _, property := range []string{"dma-coherent", "dma-noncoherent"} {
				if _, err := os.Stat(filepath.Join(n, property)); err == nil {
					return property == "dma-coherent", "the device tree says " + property
				}
			}
		}
	}
	switch goarch {
	case "amd64":
		return true, "x86 DMA is coherent"
	case "riscv64":
		return true, "RISC-V DMA is coherent where the device tree does not deny it"
	}
	return false, "the device tree does not say dma-coherent"
}

// node is the device-tree node of the device or of the nearest device above.
func (r Root) node(device string) string {
	dir, err := filepath.EvalSymlinks(r.Path(device))
	if err != nil {
		return ""
	}
	top := r.Path()
	if t, err := filepath.EvalSymlinks(top); err == nil {
		top = t
	}
	for ; len(dir) > len(top); dir = filepath.Dir(dir) {
		if n, err := filepath.EvalSymlinks(filepath.Join(dir, "of_node")); err == nil {
			return n
		}
	}
	return ""
}

// Why adds what to do to an error of opening a file, when the reason is known.
func Why(err error, missing, denied string) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s", err, missing)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: %s", err, denied)
	}
	return err
}

// List names a few entries of a directory, for an error.
func (r Root) List(dir string) string {
	entries, _ := os.ReadDir(r.Path(dir))
	const most = 8
	var names []string
	for i, e := range entries {
		if i == most {
			names = append(names, "...")
			break
		}
		names = append(names, e.Name())
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, " ")
}

// Usable fails when a file cannot be opened for reading and writing.
func (r Root) Usable(path, missing, denied string) error {
	f, err := os.OpenFile(r.Path(path), os.O_RDWR, 0)
	if err != nil {
		return Why(err, missing, denied)
	}
	return f.Close()
}

// PlatformDevice is the sysfs directory of a platform device.
func PlatformDevice(name string) string { return "/sys/bus/platform/devices/" + name }

// Advice is what to do about a device that does not answer, or does not leave reset.
// "" for other errors.
func Advice(name, device string, err error) string {
	switch {
	case !errors.Is(err, mac.ErrNoDevice) && !errors.Is(err, mac.ErrReset):
		return ""
	case strings.HasPrefix(device, "/sys/bus/pci/"):
		return fmt.Sprintf("it may be asleep: as root: echo on > %s/power/control", device)
	}
	return fmt.Sprintf("its clock may be off: nobody holds the clocks and resets of %s when it has no driver: have the boot loader turn them on (use the network there), and the kernel leave them on with clk_ignore_unused on its command line; a reset that does not end wants the clock from the PHY, too", name)
}

package guest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Machine is an arm64 or arm guest: QEMU's "virt" board with one CPU.
type Machine struct {
	// MemoryMB is the size of its memory. 0 means 512.
	MemoryMB int
	// Sockets are where vfio-user servers listen, one for each device. The first
	// is in PCI slot 1, the second in slot 2 and so on. Register writes wait until
	// the device has taken them.
	Sockets []string
	// PostedWrites has them not wait.
	PostedWrites bool
	// Nodes are added to the device tree.
	Nodes []Node
	// Append is added to the kernel's command line.
	Append string
}

// Facts of the board that device-tree nodes need.
const (
	// BAR is where Linux puts the first device's BAR 0 of 64 KiB. The next one's
	// follows.
	BAR = 0x1000_0000
	// BARSize is the distance of BARs.
	BARSize = 0x1_0000
)

// replyTime is how many milliseconds QEMU waits for a model's reply before it gives
// the device up. Its default of 5 s is little on a busy machine.
const replyTime = 60_000

// IntA is the interrupt specifier of INTA of the device with this index in
// Machine.Sockets: a shared peripheral interrupt, level high.
func IntA(device int) []uint32 { return []uint32{0, 3 + uint32(device+1)%4, 4} }

// command is QEMU from its unpacked packages, run by their own dynamic linker.
func (d *Debian) command(ctx context.Context, args ...string) (*exec.Cmd, error) {
	lib := filepath.Join(d.qemu, "usr/lib/x86_64-linux-gnu")
	cmd := exec.CommandContext(ctx, filepath.Join(d.qemu, "usr/lib64/ld-linux-x86-64.so.2"),
		append([]string{"--library-path", lib, "--argv0", "qemu-system-aarch64", filepath.Join(d.qemu, "usr/bin/qemu-system-aarch64"),
			"-L", filepath.Join(d.qemu, "usr/share/qemu"), "-L", filepath.Join(d.qemu, "usr/share/seabios")}, args...)...)
	if _, err := os.Stat(cmd.Path); err != nil {
		return nil, fmt.Errorf("guest: QEMU runs on amd64 only: %w", err)
	}
	cmd.Env = append(os.Environ(), "QEMU_MODULE_DIR="+filepath.Join(lib, "qemu"))
	return cmd, nil
}

// Command returns QEMU running m with initrd; its standard output is the console.
// Files are made in dir.
func (d *Debian) Command(ctx context.Context, m *Machine, initrd []byte, dir string) (*exec.Cmd, error) {
	memory := m.MemoryMB
	if memory == 0 {
		memory = 512
	}
	cpu, board := "cortex-a53", "virt,gic-version=2"
	if d.Arch() == "arm" {
		cpu, board = "cortex-a15", "virt,gic-version=2,highmem=off" // PCI within reach of 32 bits
	}
	machine := []string{"-cpu", cpu, "-m", fmt.Sprintf("%dM", memory), "-nographic", "-nic", "none", "-no-reboot"}
	tree, err := d.tree(ctx, m, board, machine, dir)
	if err != nil {
		return nil, err
	}
	kernel, err := d.Kernel()
	if err != nil {
		return nil, err
	}
	ramfs := filepath.Join(dir, "initrd")
	if err := os.WriteFile(ramfs, initrd, 0o600); err != nil {
		return nil, fmt.Errorf("guest: %w", err)
	}
	args := append(machine, "-M", board+",memory-backend=mem",
		"-object", fmt.Sprintf("memory-backend-memfd,id=mem,size=%dM,share=on", memory),
		"-kernel", kernel, "-initrd", ramfs, "-dtb", tree, "-append", strings.TrimSpace("console=ttyAMA0 panic=-1 quiet "+m.Append))
	for i, s := range m.Sockets {
		device, err := json.Marshal(map[string]any{
			"driver": "vfio-user-pci", "addr": fmt.Sprintf("%x.0", i+1), "x-no-posted-writes": !m.PostedWrites, "x-msg-timeout": replyTime,
			"socket": map[string]string{"type": "unix", "path": s},
		})
		if err != nil {
			return nil, fmt.Errorf("guest: %w", err)
		}
		args = append(args, "-device", string(device))
	}
	return d.command(ctx, args...)
}

// tree writes the board's device tree with the nodes of m added.
func (d *Debian) tree(ctx context.Context, m *Machine, board string, machine []string, dir string) (string, error) {
	// QEMU's option syntax has no room for a comma in dir.
	cmd, err := d.command(ctx, append([]string{"-M", board + ",dumpdtb=board.dtb"}, machine...)...)
	if err != nil {
		return "", err
	}
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("guest: dump the device tree: %w: %s", err, out)
	}
	blob, err := os.ReadFile(filepath.Join(dir, "board.dtb"))
	if err != nil {
		return "", fmt.Errorf("guest: %w", err)
	}
	if blob, err = AddNodes(blob, m.Nodes...); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "guest.dtb")
	if err := os.WriteFile(path, blob, 0o600); err != nil {
		return "", fmt.Errorf("guest: %w", err)
	}
	return path, nil
}

package guest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/barewire/barewire/integration/internal/fetch"
)

// SoC is a board that QEMU emulates with the MAC of its SoC.
type SoC struct {
	// Machine is QEMU's name of the board ("orangepi-pc"), Args what more QEMU is told.
	Machine  string
	Args     []string
	MemoryMB int
	// Tree is the board's device tree.
	Tree []byte
	// NIC is the model of the MAC, "" for the board's only one.
	NIC string
	// Port is where TCP port 80 and UDP port 80 of 10.0.2.15 are reached on 127.0.0.1.
	Port int
	// Append is added to the kernel's command line.
	Append string
}

// Files that SoC makes in its folder.
const (
	// SoCMonitor is the socket of QEMU's monitor, whose commands are lines.
	SoCMonitor = "monitor"
	// SoCPcap has the frames on the MAC's wire.
	SoCPcap = "wire.pcap"
)

// FetchARM is Fetch for a 32-bit ARM guest, without tools: about 60 MB beyond QEMU.
func FetchARM(ctx context.Context) (*Debian, error) {
	d := &Debian{}
	var err error
	if d.qemu, err = debianArchive().Unpacked(ctx, true, "qemu-system-arm"); err != nil {
		return nil, err
	}
	archive := &fetch.Archive{Suites: []string{"stable"}, Target: "stable", Architectures: []string{"armhf"}}
	if d.busybox, err = archive.Unpacked(ctx, false, "busybox-static"); err != nil {
		return nil, err
	}
	image, err := depends(ctx, archive, "linux-image-armmp", "linux-image-")
	if err != nil {
		return nil, err
	}
	image, _, _ = strings.Cut(image, ":")
	if d.kernel, err = archive.Unpacked(ctx, false, image); err != nil {
		return nil, err
	}
	return d, d.findModules()
}

// FetchBoard is Fetch without tools.
func FetchBoard(ctx context.Context) (*Debian, error) {
	d := &Debian{}
	return d, d.fetchARM64(ctx)
}

// BoardTree is a device tree that comes with the kernel ("sun8i-h3-orangepi-pc").
func (d *Debian) BoardTree(name string) (*Tree, error) {
	path := filepath.Join(d.kernel, "usr/lib/linux-image-"+d.KernelVersion(), name+".dtb")
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("guest: %w", err)
	}
	return ParseTree(b)
}

// SoC returns QEMU running s with initrd; its standard output is the console. Files
// are made in dir.
func (d *Debian) SoC(ctx context.Context, s *SoC, initrd []byte, dir string) (*exec.Cmd, error) {
	kernel, err := d.Kernel()
	if err != nil {
		return nil, err
	}
	for name, data := range map[string][]byte{"initrd": initrd, "board.dtb": s.Tree} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return nil, fmt.Errorf("guest: %w", err)
		}
	}
	at := fmt.Sprintf(":127.0.0.1:%d-10.0.2.15:80", s.Port)
	nic := "user,id=net,hostfwd=tcp" + at + ",hostfwd=udp" + at
	if s.NIC != "" {
		nic += ",model=" + s.NIC
	}
	args := append([]string{"-M", s.Machine, "-m", fmt.Sprintf("%dM", s.MemoryMB), "-nic", nic,
		"-object", "filter-dump,id=wire,netdev=net,file=" + SoCPcap,
		"-display", "none", "-serial", "stdio", "-monitor", "unix:" + SoCMonitor + ",server,nowait", "-no-reboot",
		"-kernel", kernel, "-initrd", "initrd", "-dtb", "board.dtb", "-append", strings.TrimSpace("console=ttyS0,115200 panic=-1 quiet " + s.Append)}, s.Args...)
	cmd, err := d.command(ctx, args...)
	if err != nil {
		return nil, err
	}
	cmd.Dir = dir // QEMU's option syntax has no room for a comma in dir
	return cmd, nil
}

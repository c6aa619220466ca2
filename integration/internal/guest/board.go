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

// Board is a guest as QEMU builds it, without additions to its device tree: its
// MACs are PCI functions. On amd64 it is a PC ("q35"), on arm64 "virt".
type Board struct {
	// Sockets are where vfio-user servers listen, one for each device. The first
	// is in PCI slot 4, and so on.
	Sockets []string
	// IOMMU puts the devices behind one: virtio-iommu on arm64, where QEMU's model
	// of the SMMU does not go with vfio-user, and Intel's on amd64.
	IOMMU bool
	// Append is added to the kernel's command line.
	Append string
}

// slot is the PCI slot of the first socket's device.
const slot = 4

// PCIAddress is that of the device with this index in Board.Sockets.
func PCIAddress(device int) string { return fmt.Sprintf("0000:00:%02x.0", slot+device) }

// FetchPC is Fetch for an amd64 guest, without tools: about 150 MB.
func FetchPC(ctx context.Context) (*Debian, error) {
	archive := debianArchive()
	d := &Debian{}
	var err error
	if d.qemu, err = archive.Unpacked(ctx, true, "qemu-system-x86"); err != nil {
		return nil, err
	}
	if d.busybox, err = archive.Unpacked(ctx, false, "busybox-static:amd64"); err != nil {
		return nil, err
	}
	image, err := depends(ctx, archive, "linux-image-amd64:amd64", "linux-image-")
	if err != nil {
		return nil, err
	}
	image = strings.TrimSuffix(image, ":arm64") + ":amd64"
	var parts []string
	for _, prefix := range []string{"linux-binary-", "linux-modules-"} {
		name, err := depends(ctx, archive, image, prefix)
		if err != nil {
			return nil, err
		}
		parts = append(parts, strings.TrimSuffix(name, ":arm64")+":amd64")
	}
	if d.kernel, err = archive.Unpacked(ctx, false, parts...); err != nil {
		return nil, err
	}
	return d, d.findModules()
}

// Arch is the guest's architecture as Go names it.
func (d *Debian) Arch() string {
	switch v := d.KernelVersion(); {
	case strings.HasSuffix(v, "amd64"):
		return "amd64"
	case strings.HasSuffix(v, "armmp"):
		return "arm"
	}
	return "arm64"
}

// Board returns QEMU running b with initrd; its standard output is the console.
// Files are made in dir.
func (d *Debian) Board(ctx context.Context, b *Board, initrd []byte, dir string) (*exec.Cmd, error) {
	kernel, err := d.Kernel()
	if err != nil {
		return nil, err
	}
	ramfs := filepath.Join(dir, "initrd")
	if err := os.WriteFile(ramfs, initrd, 0o600); err != nil {
		return nil, fmt.Errorf("guest: %w", err)
	}
	system, console := "qemu-system-aarch64", "ttyAMA0"
	args := []string{"-M", "virt,gic-version=2,memory-backend=mem", "-cpu", "cortex-a53"}
	iommu := []string{"-device", "virtio-iommu-pci,addr=2.0"}
	if d.Arch() == "amd64" {
		// The kernel's check of the timer takes a host that is too busy to emulate
		// ticks for broken hardware, and panics.
		system, console = "qemu-system-x86_64", "ttyS0 no_timer_check"
		args = []string{"-M", "q35,memory-backend=mem,kernel-irqchip=off", "-accel", "tcg", "-cpu", "Nehalem"}
		iommu = []string{"-device", "intel-iommu,caching-mode=on,intremap=on"}
	}
	if b.IOMMU {
		args = append(args, iommu...)
	}
	args = append(args, "-m", "512M", "-object", "memory-backend-memfd,id=mem,size=512M,share=on",
		"-nographic", "-nic", "none", "-no-reboot", "-kernel", kernel, "-initrd", ramfs,
		"-append", strings.TrimSpace("console="+console+" panic=-1 quiet "+b.Append))
	for i, s := range b.Sockets {
		device, err := json.Marshal(map[string]any{
			"driver": "vfio-user-pci", "addr": fmt.Sprintf("%x.0", slot+i), "x-no-posted-writes": true, "x-msg-timeout": replyTime,
			"socket": map[string]string{"type": "unix", "path": s},
		})
		if err != nil {
			return nil, fmt.Errorf("guest: %w", err)
		}
		args = append(args, "-device", string(device))
	}
	lib := filepath.Join(d.qemu, "usr/lib/x86_64-linux-gnu")
	cmd := exec.CommandContext(ctx, filepath.Join(d.qemu, "usr/lib64/ld-linux-x86-64.so.2"),
		append([]string{"--library-path", lib, "--argv0", system, filepath.Join(d.qemu, "usr/bin", system),
			"-L", filepath.Join(d.qemu, "usr/share/qemu"), "-L", filepath.Join(d.qemu, "usr/share/seabios")}, args...)...)
	if _, err := os.Stat(cmd.Path); err != nil {
		return nil, fmt.Errorf("guest: QEMU runs on amd64 only: %w", err)
	}
	cmd.Env = append(os.Environ(), "QEMU_MODULE_DIR="+filepath.Join(lib, "qemu"))
	return cmd, nil
}

package guest

import (
	"context"
	"strings"

	"github.com/barewire/barewire/integration/internal/fetch"
)

// armArchive has kernel, headers, sources and compiler of one version.
func armArchive() *fetch.Archive {
	return &fetch.Archive{Suites: []string{"trixie"}, Target: "trixie", Architectures: []string{"amd64", "armhf"}}
}

// FetchARMTools is Fetch for a 32-bit ARM guest whose kernel's modules can be built
// (Build): about 60 MB beyond QEMU.
func FetchARMTools(ctx context.Context) (*Debian, error) {
	a, d := armArchive(), &Debian{}
	var err error
	if d.qemu, err = debianArchive().Unpacked(ctx, true, "qemu-system-arm"); err != nil {
		return nil, err
	}
	if d.busybox, err = a.Unpacked(ctx, false, "busybox-static:armhf"); err != nil {
		return nil, err
	}
	if d.tools, err = a.Unpacked(ctx, true, "ethtool:armhf", "iproute2:armhf"); err != nil {
		return nil, err
	}
	image, err := depends(ctx, a, "linux-image-armmp:armhf", "linux-image-")
	if err != nil {
		return nil, err
	}
	image, _, _ = strings.Cut(image, ":")
	if d.kernel, err = a.Unpacked(ctx, false, image+":armhf"); err != nil {
		return nil, err
	}
	return d, d.findModules()
}

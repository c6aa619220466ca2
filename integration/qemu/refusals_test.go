//go:build linux

package qemu

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// deviceMemory shows what the buses do without, so that doing it would be seen: on
// arm64. A 32-bit Arm kernel maps this memory in the same way, but QEMU has no faults
// there.
func (m *machine) deviceMemory(t *testing.T) {
	out := m.run(t, fmt.Sprintf("devicememory %#x", m.reserved.addr))
	require.Contains(t, out, "words: works")
	if m.debian.Arch() == "arm64" {
		require.Equal(t, 4, strings.Count(out, ": faults"), out)
	}
}

// refused has the server refuse to start, in one line that says this.
func (m *machine) refused(t *testing.T, command string, says ...string) {
	out := m.run(t, command+` > /tmp/refused 2>&1 && exit 1; echo "exit code $?"; cat /tmp/refused`)
	require.Regexp(t, `^exit code [12]\nhttpserver: `, out)
	require.Equal(t, 1, strings.Count(out, "\n"), out)
	for _, s := range says {
		require.Contains(t, out, s)
	}
}

func (m *machine) second(t *testing.T) {
	m.refused(t, "httpserver "+m.flags(), "another program has its registers at")
	require.NoError(t, m.client.Download(t.Context(), some, 5))
}

func (m *machine) refusals(t *testing.T) {
	with := func(flags string) string { return "httpserver -addr :80 " + flags }
	m.refused(t, "start-stop-daemon -S -c nobody -x /bin/httpserver -- "+m.flags(), "/dev/mem: permission denied: run as root")
	m.refused(t, with("-bus auto -dev nosuch"), `no device "nosuch"; platform devices: `)
	m.refused(t, with("-bus vfio -dev "+m.dev), "vfio", "IOMMU")
	m.refused(t, with("-bus uio -dev "+m.dev), "modprobe uio_pdrv_genirq; echo uio_pdrv_genirq > ")
	m.refused(t, with("-bus devmem -dev "+m.bound), "has it. As root: echo "+m.bound+" > /sys/bus/platform/devices/"+m.bound+"/driver/unbind")
	if m.flag {
		m.refused(t, with("-bus devmem -dev "+m.dev), "there is no DMA memory. Choose: ", "mem=")
	}
	m.refused(t, with(fmt.Sprintf("-bus devmem -dev %s -reserved %#x+16M", m.dev, m.reserved.addr-16<<20)), "as System RAM (/proc/iomem): leave it out with mem= on the kernel command line")
	m.refused(t, with(fmt.Sprintf("-bus devmem -dev %s -reserved %#x+64K", m.dev, m.reserved.addr)), "Set more aside, or ask for less")
	// Zeros, as registers without a clock read.
	m.refused(t, with(fmt.Sprintf("-bus devmem -dev %#x+0x2000 -core %s -reserved %s", m.reserved.addr+m.reserved.size-0x2000, m.core, m.reserved)),
		"no MAC at this address, or its clock is off or its reset held", "clk_ignore_unused")
}

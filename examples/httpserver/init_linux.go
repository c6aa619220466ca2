package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// mounts are what the server needs of a system.
var mounts = []struct{ kind, dir string }{{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}}

// beInit makes a system around the server when it is what the kernel has started as
// /init, and returns how to end it: the kernel would panic. It returns nil for a
// program among others, which process 1 of a container is, too: it finds /proc there.
//
// The arguments of /init are those behind -- on the kernel command line.
func beInit(w io.Writer) (end func()) {
	if os.Getpid() != 1 {
		return nil
	}
	if _, err := os.Stat("/proc/self"); err == nil {
		return nil
	}
	var mounted []string
	for _, m := range mounts {
		err := os.MkdirAll(m.dir, 0o755)
		if err == nil {
			err = unix.Mount(m.kind, m.dir, m.kind, 0, "")
		}
		if err != nil && !errors.Is(err, unix.EBUSY) {
			fmt.Fprintf(w, "httpserver: mount %s: %v\n", m.dir, err)
			continue
		}
		mounted = append(mounted, m.dir)
	}
	fmt.Fprintf(w, "%-11sprocess 1: mounted %s; the machine is switched off at the end\n", "init", strings.Join(mounted, ", "))
	return func() {
		fmt.Fprintln(w, "init: switching off")
		unix.Sync()
		err := unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
		fmt.Fprintf(w, "httpserver: switch off: %v\n", err)
		select {} // nothing else can be done
	}
}

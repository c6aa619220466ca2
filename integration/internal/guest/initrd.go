package guest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Initrd is an initial RAM file system in the making: a cpio archive of the
// "newc" format (Linux, Documentation/driver-api/early-userspace).
type Initrd struct {
	buf   bytes.Buffer
	inode int
}

const (
	modeDir  = 0o040000
	modeFile = 0o100000
)

// Dir adds a directory. Parents must be there already.
func (r *Initrd) Dir(name string) { r.entry(name, modeDir|0o755, nil) }

// File adds a file; executable for its content's sake.
func (r *Initrd) File(name string, data []byte) { r.entry(name, modeFile|0o755, data) }

func (r *Initrd) entry(name string, mode uint32, data []byte) {
	r.inode++
	name = strings.TrimPrefix(name, "/")
	// Magic, then 13 fields of 8 hexadecimal digits: ino, mode, uid, gid, nlink,
	// mtime, file size, device and special device numbers, name size, checksum.
	fmt.Fprintf(&r.buf, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00",
		r.inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name)+1, 0, name)
	r.pad()
	r.buf.Write(data)
	r.pad()
}

func (r *Initrd) pad() {
	for r.buf.Len()%4 != 0 {
		r.buf.WriteByte(0)
	}
}

// Add adds programs and their libraries.
func (r *Initrd) Add(p Programs) {
	for _, name := range slices.Sorted(maps.Keys(p)) {
		r.File(name, p[name])
	}
}

// Bytes ends the archive and returns it.
func (r *Initrd) Bytes() []byte {
	r.entry("TRAILER!!!", 0, nil)
	return r.buf.Bytes()
}

// NewInitrd returns a file system whose init mounts what a system needs, runs
// script with busybox's shell, and switches the machine off. The modules lie in
// /mod under the names in /mod/order.
func NewInitrd(busybox []byte, modules []Module, script string) *Initrd {
	r := &Initrd{}
	for _, d := range []string{"bin", "sbin", "dev", "proc", "sys", "tmp", "mod", "etc", "lib"} {
		r.Dir(d)
	}
	r.File("bin/busybox", busybox)
	var order strings.Builder
	for _, m := range modules {
		r.File("mod/"+m.Name+".ko", m.Data)
		order.WriteString(m.Name + "\n")
	}
	r.File("mod/order", []byte(order.String()))
	r.File("test", []byte(script))
	r.File("init", []byte(`#!/bin/busybox sh
export PATH=/bin:/sbin
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
sh /test
poweroff -f
`))
	return r
}

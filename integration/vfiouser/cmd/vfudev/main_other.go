//go:build !linux

// Command vfudev serves modelled MACs to QEMU. It needs Linux.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "vfudev: needs Linux")
	os.Exit(1)
}

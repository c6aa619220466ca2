// Package guest boots a stock Debian kernel in QEMU for tests: it fetches both,
// builds an initial RAM file system of busybox, kernel modules and scripts, and
// adds nodes to the machine's device tree. Nothing is installed, and nothing but
// what QEMU is told to is reached.
package guest

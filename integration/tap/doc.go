// Package tap holds tests of Barewire against the Linux kernel's own TCP/IP
// stack: a modelled MAC on a cable to a TAP device, with the kernel, ping and curl
// at the other end.
//
// The test binary runs itself again in a new network namespace, so that nothing
// it does to devices and addresses is seen outside, and nothing is left behind
// however it ends. That needs root, /dev/net/tun, and the programs ip, ping and
// curl. Where one is missing the tests are skipped with the reason, and fail when
// CI is set to true.
package tap

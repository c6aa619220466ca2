// Package linux proves the models with Linux's own drivers: a stock Debian arm64
// kernel in QEMU drives a model of package mac/sim, and whatever the two do not agree
// on is wrong in the model. Barewire's own stack is the peer; for GMAC4 and GMAC5
// also the kernel of this machine and a second Linux driver.
//
//	make integration-linux                  every check, a line for each
//	make integration-linux ARGS='-test.run TestPair' one boot
//	make integration-linux ARGS=-trace      the registers that Linux's driver and
//	                                        Barewire's use, side by side
//	make integration-linux ARGS=-test.v     with what the guest says
//	make integration-full                   and what kernel modules are built for
//
// Everything is fetched into the user's cache and nothing is installed; QEMU
// emulates, so neither KVM nor, but for the peer behind a TAP device, root is
// needed. go test ./... compiles the checks and boots nothing.
//
// To add a core, describe it (type core) in a file of its own with a test that
// boots it and runs the list of checks. What of the list it cannot do, it says with
// the reason; the output has it.
//
// There is one boot for each machine that differs. Checks share it and leave it
// as they found it, so that each can be believed alone.
package linux

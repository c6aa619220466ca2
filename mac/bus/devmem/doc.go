// Package devmem is a mac.Bus for machines that have neither VFIO nor UIO for the
// device, as Debian's kernels have not for those of a SoC: registers and reserved
// memory through /dev/mem, and interrupts in one of two ways. It needs root.
//
// # Registers
//
// The kernel lets /dev/mem map registers that no driver has (STRICT_DEVMEM,
// IO_STRICT_DEVMEM), which is what is wanted here: the device's own driver must be
// unbound, or its module not loaded. Registers are locked against a second program
// that uses this package.
//
// A platform device needs its clocks and resets, and nobody holds them for a device
// without a driver. What the boot loader has turned on stays on with clk_ignore_unused
// on the kernel command line; what is off reads as all zeros, all ones, or ends in a
// bus error.
//
// # Interrupts
//
// The kernel does not pass an interrupt on to a program without a driver for it, so the
// status register is looked at every millisecond (Options.PollPeriod). That costs one
// register read, and up to that much time for a frame that finds the machine idle.
//
// On any kernel with the gpio-keys driver the line can be told to be a key, by a node in
// the device tree: each interrupt is a key press then (Options.InputEvent).
//
//	mac-line {
//		compatible = "gpio-keys";
//		mac { label = "mac"; linux,code = <0x2f0>; debounce-interval = <0>; interrupts = <0 82 1>; };
//	};
//
// The interrupt must be given as an edge: gpio-keys does not mask its line, and a level
// would never end. Since edges can be missed while a cause is served, each one is
// followed by another look at the status register, and there is a look every 5 ms in
// any case.
//
// # DMA memory
//
// See package memory. Without options it is what the device tree sets aside for the
// device.
package devmem

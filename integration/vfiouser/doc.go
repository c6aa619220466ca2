// Package vfiouser serves a modelled MAC to an emulated machine: a sim.Device
// becomes a PCI function that QEMU's vfio-user-pci puts into a guest, and the
// guest's own driver, Linux's for example, works on the model.
//
//	s, err := vfiouser.New(dwmac4.New(dwmac4.Config{}), nil)
//	go s.ListenAndServe(ctx, "/tmp/mac0")
//
//	qemu-system-aarch64 -M virt,gic-version=2,memory-backend=mem -m 512M \
//	  -object memory-backend-memfd,id=mem,size=512M,share=on \
//	  -device '{"driver":"vfio-user-pci","addr":"1.0","x-no-posted-writes":true,
//	            "socket":{"type":"unix","path":"/tmp/mac0"}}' ...
//
// BAR 0 holds the model's registers from 0 on, all windows of it unless they have
// BARs of their own (Options.WindowBARs). Above them, up to the end of the
// BAR, are spare words that only hold what is written: a device tree can put
// there what the SoC has around the MAC, such as reset lines or a system
// controller. Registers are 32 bits wide: longer accesses are split, low word first, and
// shorter ones are a read and, for a write, a write of the word around them.
//
// The model's interrupt is INTA, and message 0 when the guest has enabled MSI; a
// model with several lines (sim.MultiLine) has a message for each, if there are
// enough. A message is sent when its line rises and, as an edge would be lost otherwise,
// after each register write that leaves it high.
//
// The model reaches all guest memory that the client shares, whether or not the
// guest has made the function a bus master: behind a device-tree node there is no
// such bit. Options.MasterOnly has it obey the bit.
//
// QEMU posts register writes unless x-no-posted-writes is set: a write then takes
// effect some time after the guest has gone on.
//
// The package is for Linux and is empty elsewhere.
package vfiouser

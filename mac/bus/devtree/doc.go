// Package devtree reads the live device tree of Linux, the one that the running
// kernel uses: compatible names, register windows, interrupts, memory set aside, and
// what an Ethernet MAC's node says about its wiring.
//
// A node is a directory of /sys/firmware/devicetree/base, a property is a file in it:
// numbers are cells of 32 bits, the most significant byte first. The meaning of the
// properties is from the Devicetree Specification (version 0.4, chapters 2 and 3) and
// Linux's Documentation/devicetree/bindings (net/ethernet-controller,
// reserved-memory).
//
// What a tree says was written by people, and is checked as such: a node that
// contradicts itself gives an error, never a wrong address.
package devtree

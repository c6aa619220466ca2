// Package device is what the buses of devices in this machine have in common: who the
// device is, its mapped register windows, and its one interrupt line.
package device

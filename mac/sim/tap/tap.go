// Package tap is a port on a Linux TAP device: the host's kernel is at the other
// end of the wire.
//
// Needs /dev/net/tun and either CAP_NET_ADMIN or a TAP device made beforehand for
// the user:
//
//	ip tuntap add dev bw0 mode tap user $USER
//	ip link set bw0 up
//	ip addr add 192.0.2.1/24 dev bw0
//
// On other systems Open returns an error that wraps errors.ErrUnsupported.
package tap

import (
	"errors"
	"sync/atomic"
)

// Options are the options of Open.
type Options struct {
	// MTU is set on the device, in bytes without the Ethernet header, 68 to
	// 65521. 0 leaves it as it is: 1500 for a new device.
	MTU int
	// Existing makes Open fail when there is no such device yet, instead of
	// making one. It needs a name.
	Existing bool
	// Persistent keeps a device that Open made after Close.
	Persistent bool
	// KeepDown leaves the device down or up, as it is. Otherwise Open brings it
	// up. A device that is up already needs no rights for that.
	KeepDown bool
}

// Errors that callers branch on. They are wrapped with what to do about them.
var (
	// ErrNoTun means that the system has no TUN/TAP driver.
	ErrNoTun = errors.New("no TUN/TAP driver")
	// ErrNoDevice means that Options.Existing was set and there is no such device.
	ErrNoDevice = errors.New("no such TAP device")
	// ErrName means that no device can have this name.
	ErrName = errors.New("invalid device name")
	// ErrBusy means that another process holds the device.
	ErrBusy = errors.New("TAP device busy")
	// ErrKind means that a device of this name is not a TAP device, or one of
	// another kind.
	ErrKind = errors.New("not a plain TAP device")
)

// Stats are the counts since Open. Received is from the kernel to the wire, sent
// is from the wire to the kernel.
type Stats struct {
	RXFrames uint64 `json:"rx_frames"`
	RXBytes  uint64 `json:"rx_bytes"`
	// RXPadded frames were shorter than 60 bytes and were padded, as a network
	// card does. RXUnplugged ones came while no wire was plugged in.
	RXPadded    uint64 `json:"rx_padded"`
	RXUnplugged uint64 `json:"rx_unplugged"`
	TXFrames    uint64 `json:"tx_frames"`
	TXBytes     uint64 `json:"tx_bytes"`
	// TXShort frames had no whole Ethernet header, TXTooLong ones were longer
	// than the MTU with an Ethernet header and a VLAN tag. TXErrors ones the
	// kernel did not take: the device is down, for example.
	TXShort   uint64 `json:"tx_short"`
	TXTooLong uint64 `json:"tx_too_long"`
	TXErrors  uint64 `json:"tx_errors"`
}

const (
	headerLen = 14 // Ethernet header
	tagLen    = 4  // VLAN tag
	// minFrame is the shortest frame on a wire, without FCS (IEEE 802.3 clause
	// 4.2.3.3).
	minFrame = 60
)

type counters struct {
	rxFrames, rxBytes, rxPadded, rxUnplugged        atomic.Uint64
	txFrames, txBytes, txShort, txTooLong, txErrors atomic.Uint64
}

func (c *counters) stats() Stats {
	return Stats{
		RXFrames:    c.rxFrames.Load(),
		RXBytes:     c.rxBytes.Load(),
		RXPadded:    c.rxPadded.Load(),
		RXUnplugged: c.rxUnplugged.Load(),
		TXFrames:    c.txFrames.Load(),
		TXBytes:     c.txBytes.Load(),
		TXShort:     c.txShort.Load(),
		TXTooLong:   c.txTooLong.Load(),
		TXErrors:    c.txErrors.Load(),
	}
}

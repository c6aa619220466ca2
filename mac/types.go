package mac

import (
	"fmt"
	"net"
)

// HardwareAddr is a 48-bit MAC address. Unlike net.HardwareAddr it is
// comparable.
type HardwareAddr [6]byte

// String is the address as six hexadecimal bytes.
func (a HardwareAddr) String() string { return net.HardwareAddr(a[:]).String() }

// ParseHardwareAddr parses the six-byte forms that net.ParseMAC knows.
func ParseHardwareAddr(s string) (HardwareAddr, error) {
	b, err := net.ParseMAC(s)
	if err != nil {
		return HardwareAddr{}, fmt.Errorf("mac: %w", err)
	}
	if len(b) != 6 {
		return HardwareAddr{}, fmt.Errorf("mac: address %s has %d bytes: need 6", s, len(b))
	}
	return HardwareAddr(b), nil
}

// Multicast reports whether the group bit is set; broadcast is multicast too.
func (a HardwareAddr) Multicast() bool { return a[0]&1 != 0 }

// Broadcast is the address of all stations.
var Broadcast = HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// Usable reports whether the address can be a station's own: not zero, not a
// group address.
func (a HardwareAddr) Usable() bool { return a != HardwareAddr{} && !a.Multicast() }

// Link is the state of the link to the partner.
type Link struct {
	Up bool `json:"up"`
	// Speed is in Mbit/s: 10, 100, 1000, 2500, ….
	Speed int `json:"speed"`
	// FullDuplex is false for half duplex.
	FullDuplex bool `json:"full_duplex"`
	// RXPause: the partner's pause frames stop us. TXPause: we send them when
	// the receive FIFO fills.
	RXPause bool `json:"rx_pause"`
	TXPause bool `json:"tx_pause"`
}

// String is the link in ethtool's words.
func (l Link) String() string {
	if !l.Up {
		return "down"
	}
	duplex := "half"
	if l.FullDuplex {
		duplex = "full"
	}
	pause := ""
	switch {
	case l.RXPause && l.TXPause:
		pause = " pause rx/tx"
	case l.RXPause:
		pause = " pause rx"
	case l.TXPause:
		pause = " pause tx"
	}
	return fmt.Sprintf("up %d Mb/s %s duplex%s", l.Speed, duplex, pause)
}

// Filter is what a MAC lets through besides its own address and broadcast.
type Filter struct {
	// Unicast are further station addresses, Multicast group addresses. Neither
	// holds doubles.
	Unicast, Multicast []HardwareAddr
	// AllMulticast passes every group.
	AllMulticast bool
	// Promiscuous passes everything.
	Promiscuous bool
}

// Stats are the standard interface counters, with the names and meanings of
// Linux's rtnl_link_stats64. They count since Open, survive every reset of the
// device and are not changed by being read.
type Stats struct {
	RXPackets       uint64 `json:"rx_packets"`
	TXPackets       uint64 `json:"tx_packets"`
	RXBytes         uint64 `json:"rx_bytes"`
	TXBytes         uint64 `json:"tx_bytes"`
	RXErrors        uint64 `json:"rx_errors"`
	TXErrors        uint64 `json:"tx_errors"`
	RXDropped       uint64 `json:"rx_dropped"`
	TXDropped       uint64 `json:"tx_dropped"`
	Multicast       uint64 `json:"multicast"`
	Collisions      uint64 `json:"collisions"`
	RXLengthErrors  uint64 `json:"rx_length_errors"`
	RXOverErrors    uint64 `json:"rx_over_errors"`
	RXCRCErrors     uint64 `json:"rx_crc_errors"`
	RXFrameErrors   uint64 `json:"rx_frame_errors"`
	RXFIFOErrors    uint64 `json:"rx_fifo_errors"`
	RXMissedErrors  uint64 `json:"rx_missed_errors"`
	TXAbortedErrors uint64 `json:"tx_aborted_errors"`
	TXCarrierErrors uint64 `json:"tx_carrier_errors"`
	TXFIFOErrors    uint64 `json:"tx_fifo_errors"`
	TXWindowErrors  uint64 `json:"tx_window_errors"`
}

// Counters are the hardware's own counters (MMC, MIB), accumulated to 64 bits.
// A counter that a core does not have stays 0.
type Counters struct {
	TXOctets      uint64 `json:"tx_octets"`
	TXFrames      uint64 `json:"tx_frames"`
	TXBroadcast   uint64 `json:"tx_broadcast"`
	TXMulticast   uint64 `json:"tx_multicast"`
	TXUnderflow   uint64 `json:"tx_underflow"`
	TXCollisions  uint64 `json:"tx_collisions"`
	TXLate        uint64 `json:"tx_late_collisions"`
	TXExcessive   uint64 `json:"tx_excessive_collisions"`
	TXDeferred    uint64 `json:"tx_deferred"`
	TXCarrier     uint64 `json:"tx_carrier_errors"`
	TXPause       uint64 `json:"tx_pause"`
	RXOctets      uint64 `json:"rx_octets"`
	RXFrames      uint64 `json:"rx_frames"`
	RXBroadcast   uint64 `json:"rx_broadcast"`
	RXMulticast   uint64 `json:"rx_multicast"`
	RXUnicast     uint64 `json:"rx_unicast"`
	RXCRC         uint64 `json:"rx_crc_errors"`
	RXAlignment   uint64 `json:"rx_alignment_errors"`
	RXRunt        uint64 `json:"rx_runt_errors"`
	RXJabber      uint64 `json:"rx_jabber_errors"`
	RXUndersize   uint64 `json:"rx_undersize"`
	RXOversize    uint64 `json:"rx_oversize"`
	RXLength      uint64 `json:"rx_length_errors"`
	RXPause       uint64 `json:"rx_pause"`
	RXOverflow    uint64 `json:"rx_fifo_overflow"`
	RXWatchdog    uint64 `json:"rx_watchdog_errors"`
	RXMissed      uint64 `json:"rx_missed"`
	RXIPErrors    uint64 `json:"rx_ip_header_errors"`
	RXCheckErrors uint64 `json:"rx_checksum_errors"`
}

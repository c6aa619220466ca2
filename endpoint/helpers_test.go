package endpoint_test

import (
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
)

func addr4(a, b, c, d byte) tcpip.Address { return tcpip.AddrFrom4([4]byte{a, b, c, d}) }

func sumOf(b []byte, initial uint16) uint16 { return checksum.Checksum(b, initial) }

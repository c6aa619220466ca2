package dwmac

import (
	"encoding/binary"

	"github.com/barewire/barewire/mac"
)

// PauseAddr is the group address of IEEE 802.3 Annex 31B.
var PauseAddr = mac.HardwareAddr{0x01, 0x80, 0xc2, 0x00, 0x00, 0x01}

// OpPause is the opcode of a pause frame.
const OpPause = 1

// Pause is the time that a MAC control frame asks for, in quanta of 512 bit times. ok
// is false when it is no pause frame, or a runt that ends before it says.
func Pause(f []byte) (quanta uint16, ok bool) {
	if len(f) < 18 || binary.BigEndian.Uint16(f[14:]) != OpPause {
		return 0, false
	}
	return binary.BigEndian.Uint16(f[16:]), true
}

// PutPause makes a pause frame for quanta of 512 bit times. high and low are the
// station's address registers.
func PutPause(f *[MinFrame - FCSLen]byte, high, low uint32, quanta uint16) {
	clear(f[:])
	copy(f[:], PauseAddr[:])
	binary.LittleEndian.PutUint32(f[6:], low)
	binary.LittleEndian.PutUint16(f[10:], uint16(high))
	binary.BigEndian.PutUint16(f[12:], TypeControl)
	binary.BigEndian.PutUint16(f[14:], OpPause)
	binary.BigEndian.PutUint16(f[16:], quanta)
}

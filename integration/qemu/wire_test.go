//go:build linux

package qemu

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/integration/internal/guest"
)

// wire is how much QEMU has recorded of the wire, in bytes.
func (m *machine) wire(t *testing.T) int64 {
	i, err := os.Stat(filepath.Join(m.dir, guest.SoCPcap))
	require.NoError(t, err)
	return i.Size()
}

// longest is the length of the longest frame to and from the board, without FCS,
// since the recording was from bytes long.
func (m *machine) longest(t *testing.T, from int64) (in, out int) {
	const fileHeader, recordHeader = 24, 16
	b, err := os.ReadFile(filepath.Join(m.dir, guest.SoCPcap))
	require.NoError(t, err)
	b = b[max(from, fileHeader):]
	frames := 0
	for len(b) >= recordHeader {
		n := int(binary.LittleEndian.Uint32(b[8:]))
		if b = b[recordHeader:]; len(b) < n {
			break // still being written
		}
		// The far end's address is QEMU's (52:55 and its IPv4 address).
		if bytes.Equal(b[6:8], []byte{0x52, 0x55}) {
			in = max(in, n)
		} else {
			out = max(out, n)
		}
		b = b[n:]
		frames++
	}
	require.NotZero(t, frames)
	return in, out
}

package dwmac

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
)

func TestClockRange(t *testing.T) {
	dividers := map[uint32]int{2: 16, 3: 26, 0: 42, 1: 62, 4: 102, 5: 124, 6: 204, 7: 324}
	for hz := int(1e6); hz <= 800e6; hz += 1e6 {
		cr, ok := ClockRange(hz)
		require.True(t, ok)
		require.LessOrEqual(t, hz/dividers[cr], int(2.5e6), "%d Hz", hz)
	}
	cr, ok := ClockRange(0)
	require.True(t, ok)
	require.Equal(t, uint32(7), cr, "unknown: the slowest")
	_, ok = ClockRange(1e9)
	require.False(t, ok)
}

// TestMDIO drives a port whose start register is busy for one read.
func TestMDIO(t *testing.T) {
	const first, start, data, busy = 0x4, 0x0, 0x8, 1 << 31
	regs := &fakeRegs{regs: map[uint32]uint32{data: 0xFFFF1234}}
	var ops []MDIOOp
	m := NewMDIO("core", regs, MDIORegisters{
		First: first, Start: start, Data: data, Busy: busy, NoClause45: true,
		Encode: func(op MDIOOp) (uint32, uint32) {
			ops = append(ops, op)
			return 11, op.Register
		},
	}, nil)
	regs.clearOnRead = map[uint32]uint32{start: busy}

	v, err := m.Read(1, 2)
	require.NoError(t, err)
	require.Equal(t, uint16(0x1234), v, "the lower half")
	require.NoError(t, m.Write(31, 31, 0xABCD))
	require.Equal(t, []MDIOOp{{PHY: 1, Register: 2}, {Write: true, PHY: 31, Register: 31, Value: 0xABCD}}, ops)
	require.Equal(t, []access{{first, 11}, {start, busy | 2}, {first, 11}, {start, busy | 31}}, regs.writes)

	for _, bad := range [][2]int{{-1, 0}, {32, 0}, {0, -1}, {0, 32}} {
		_, err := m.Read(bad[0], bad[1])
		require.ErrorIs(t, err, mac.ErrConfig)
	}
	_, err = m.Read45(1, 3, 0x20)
	require.ErrorIs(t, err, mac.ErrUnsupported)
	require.ErrorIs(t, m.Write45(1, 3, 0x20, 1), mac.ErrUnsupported)
	require.Len(t, ops, 2)

	regs.clearOnRead, regs.regs[start] = nil, busy
	_, err = m.Read(1, 2)
	require.ErrorContains(t, err, "core: MDIO PHY 1 register 2: still busy")

	m = NewMDIO("core", regs, MDIORegisters{}, mac.ErrUnsupported)
	_, err = m.Read(1, 2)
	require.ErrorIs(t, err, mac.ErrUnsupported)
}

package mac

import (
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	groupA   = HardwareAddr{0x33, 0x33, 0, 0, 0, 1}
	groupB   = HardwareAddr{1, 0, 0x5e, 0, 0, 0xfb}
	stationA = HardwareAddr{2, 0, 0, 0, 0xa, 0xa}
)

func TestEveryGroupPassesUntilTheFirstJoin(t *testing.T) {
	r := newRig(t, small())
	require.Equal(t, Filter{Unicast: []HardwareAddr{}, Multicast: []HardwareAddr{}, AllMulticast: true}, r.core.filter)
	require.NoError(t, r.SetPromiscuous(false))
	require.True(t, r.Filter().AllMulticast, "other changes do not end that")
	require.NoError(t, r.JoinGroup(groupA))
	require.Equal(t, Filter{Unicast: []HardwareAddr{}, Multicast: []HardwareAddr{groupA}}, r.core.filter)
	require.NoError(t, r.LeaveGroup(groupA))
	require.False(t, r.core.filter.AllMulticast, "and it does not come back")
	require.NoError(t, r.SetAllMulticast(true))
	require.True(t, r.core.filter.AllMulticast)
	require.NoError(t, r.SetAllMulticast(false))
	require.False(t, r.core.filter.AllMulticast)
	require.NoError(t, r.Close())

	r = newRig(t, small())
	require.NoError(t, r.SetAllMulticast(false))
	require.False(t, r.core.filter.AllMulticast)
	require.NoError(t, r.Close())
}

func TestJoinsAreCounted(t *testing.T) {
	r := newRig(t, small())
	for range 3 {
		require.NoError(t, r.JoinGroup(groupB))
	}
	require.NoError(t, r.JoinGroup(groupA))
	require.Equal(t, []HardwareAddr{groupB, groupA}, r.core.filter.Multicast, "sorted, without doubles")
	for range 2 {
		require.NoError(t, r.LeaveGroup(groupB))
		require.Len(t, r.core.filter.Multicast, 2)
	}
	require.NoError(t, r.LeaveGroup(groupB))
	require.Equal(t, []HardwareAddr{groupA}, r.core.filter.Multicast)
	require.Equal(t, r.core.filter, r.Filter())
	require.EqualError(t, r.LeaveGroup(groupB), "mac: leave 01:00:5e:00:00:fb: not joined: invalid configuration")
	require.EqualError(t, r.JoinGroup(stationA), "mac: join 02:00:00:00:0a:0a: not a group address: invalid configuration")
	require.NoError(t, r.Close())
}

func TestAccepts(t *testing.T) {
	r := newRig(t, small())
	other := HardwareAddr{2, 7, 7, 7, 7, 7}
	require.True(t, r.Accepts(r.Address()))
	require.True(t, r.Accepts(Broadcast))
	require.True(t, r.Accepts(groupA), "groups are netstack's to refuse")
	require.False(t, r.Accepts(other))
	require.False(t, r.Accepts(HardwareAddr{}))

	require.NoError(t, r.AddUnicast(stationA))
	require.NoError(t, r.AddUnicast(stationA))
	require.True(t, r.Accepts(stationA))
	require.True(t, r.IsOwn(stationA))
	require.Equal(t, []HardwareAddr{stationA}, r.core.filter.Unicast)
	require.NoError(t, r.RemoveUnicast(stationA))
	require.True(t, r.Accepts(stationA))
	require.NoError(t, r.RemoveUnicast(stationA))
	require.False(t, r.Accepts(stationA))
	require.ErrorIs(t, r.RemoveUnicast(stationA), ErrConfig)
	require.EqualError(t, r.AddUnicast(groupA), "mac: add 33:33:00:00:00:01: not a station address: invalid configuration")

	require.NoError(t, r.SetPromiscuous(true))
	require.True(t, r.Accepts(other))
	require.True(t, r.core.filter.Promiscuous)
	require.False(t, r.IsOwn(other), "received, and still another's")
	require.True(t, r.IsOwn(r.Address()))
	require.False(t, r.IsOwn(Broadcast))
	require.NoError(t, r.SetPromiscuous(false))
	require.False(t, r.Accepts(other))
	require.NoError(t, r.Close())
}

// A change that the core refuses changes nothing, so the caller need not undo it.
func TestFilterChangeThatFails(t *testing.T) {
	r := newRig(t, small())
	require.NoError(t, r.JoinGroup(groupA))
	before := r.Filter()
	for _, change := range []func() error{
		func() error { return r.JoinGroup(groupB) },
		func() error { return r.JoinGroup(groupA) },
		func() error { return r.LeaveGroup(groupA) },
		func() error { return r.AddUnicast(stationA) },
		func() error { return r.SetPromiscuous(true) },
		func() error { return r.SetAllMulticast(true) },
	} {
		r.core.failNext("SetFilter", 1, errTest)
		require.ErrorIs(t, change(), errTest)
		require.Equal(t, before, r.Filter())
		require.False(t, r.Accepts(stationA))
	}
	require.NoError(t, r.LeaveGroup(groupA))
	require.Empty(t, r.Filter().Multicast)
	require.NoError(t, r.Close())
}

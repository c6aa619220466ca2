package queues

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
)

func TestCheckStart(t *testing.T) {
	type rx struct{}
	type tx struct{}
	s := &mac.Setup{RXQueues: 2, TXQueues: 1}
	for _, c := range []struct {
		started bool
		rx      []*rx
		tx      []*tx
		want    string
	}{
		{false, []*rx{{}, {}, nil}, []*tx{{}, nil, nil}, ""}, // queues not in use need none
		{true, []*rx{{}, {}, nil}, []*tx{{}, nil, nil}, "core: start: running already"},
		{false, []*rx{{}, nil, nil}, []*tx{{}, nil, nil}, "receive queue 1 has no ring"},
		{false, []*rx{{}, {}, nil}, []*tx{nil, nil, nil}, "transmit queue 0 has no ring"},
	} {
		err := CheckStart("core", s, c.started, c.rx, c.tx)
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, mac.ErrConfig)
		require.ErrorContains(t, err, c.want)
	}
}

//go:build linux && qemu

package vfiouser_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/integration/internal/guest"
	"github.com/barewire/barewire/integration/vfiouser"
	"github.com/barewire/barewire/mac/sim/cable"
	"github.com/barewire/barewire/mac/sim/dwmac4"
)

// pairScript has two MACs, the second in a network namespace of its own, and
// sends a file over the wire between them in each direction.
const pairScript = `
for s in 1 2; do echo 1 > /sys/bus/pci/devices/0000:00:0$s.0/enable; done
for m in $(cat /mod/order); do insmod /mod/$m.ko || echo "RESULT insmod_$m failed"; done
for i in $(seq 50); do [ -e /sys/class/net/eth1 ] && break; sleep 0.1; done
unshare -n sleep 1000 &
other=$!
sleep 0.5
in_other() { nsenter -t $other -n "$@"; }
ip link set eth1 netns $other
ip addr add 192.0.2.1/24 dev eth0; ip link set eth0 up
in_other ip addr add 192.0.2.2/24 dev eth1; in_other ip link set eth1 up
for i in $(seq 50); do ping -c 1 -W 1 192.0.2.2 > /dev/null && break; done
dd if=/dev/urandom of=/tmp/tx bs=64k count=8 2>/dev/null
in_other nc -l -p 5000 -e sh -c 'cat > /tmp/rx' &
receiver=$!
sleep 0.5
nc 192.0.2.2 5000 < /tmp/tx
wait $receiver
cmp /tmp/tx /tmp/rx && echo RESULT there equal
nc -l -p 5001 -e sh -c 'cat > /tmp/rx2' &
receiver=$!
sleep 0.5
in_other nc 192.0.2.1 5001 < /tmp/tx
wait $receiver
cmp /tmp/tx /tmp/rx2 && echo RESULT back equal
echo RESULT warnings $(dmesg | grep -cE 'WARNING:|Oops|BUG:|nobody cared|timed out')
`

// TestLinuxPair joins two cores that Linux drives, by a good cable and by one
// that flips bits: TCP sees to it that what arrives is what was sent, if the
// checksum engines tell the truth.
func TestLinuxPair(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	debian, err := guest.Fetch(ctx)
	require.NoError(t, err)
	t.Run("good cable", func(t *testing.T) {
		linuxPair(ctx, t, debian, &cable.Options{})
	})
	t.Run("bad cable", func(t *testing.T) {
		stats := linuxPair(ctx, t, debian, &cable.Options{
			AToB: cable.Impairments{Seed: 1, Corrupt: 30}, BToA: cable.Impairments{Seed: 2, Corrupt: 30},
		})
		require.NotZero(t, stats.Corrupted)
	})
}

// linuxPair returns what the cable did to the frames of the first MAC.
func linuxPair(ctx context.Context, t *testing.T, debian *guest.Debian, o *cable.Options) cable.Stats {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	modules, err := debian.Modules(ctx, "dwmac-generic")
	require.NoError(t, err)
	busybox, err := os.ReadFile(debian.Busybox())
	require.NoError(t, err)
	models := []*dwmac4.Model{dwmac4.New(dwmac4.Config{}), dwmac4.New(dwmac4.Config{Version: 0x41, AddressBits: 32, Seed: 1})}
	wire := cable.Connect(models[0].Port(), models[1].Port(), o)
	dir := t.TempDir()
	m := &guest.Machine{Nodes: []guest.Node{clock(models[0])}}
	served := make(chan error, len(models))
	for i, model := range models {
		s, err := vfiouser.New(model, nil)
		require.NoError(t, err)
		socket := filepath.Join(dir, "mac"+string(rune('0'+i)))
		l, err := vfiouser.Listen(socket)
		require.NoError(t, err)
		go func() { served <- s.AcceptAndServe(ctx, l) }()
		m.Sockets = append(m.Sockets, socket)
		m.Nodes = append(m.Nodes, node(model, uint32(i), guest.IntA(i), guest.Prop{Name: "snps,tso"}))
	}
	cmd, err := debian.Command(ctx, m, guest.NewInitrd(busybox, modules, pairScript).Bytes(), dir)
	require.NoError(t, err)
	results := converse(ctx, t, cmd, func(string) string { return "" })
	require.NoError(t, errors.Join(<-served, <-served))
	require.NoError(t, wire.Close())
	segmented := uint64(0)
	for _, model := range models {
		t.Logf("%+v", model.Stats())
		segmented += model.Stats().TSOFrames
	}
	require.NotZero(t, segmented)
	t.Logf("%+v", wire.Stats(cable.AToB))
	require.Equal(t, map[string]string{"there": "equal", "back": "equal", "warnings": "0"}, results)
	return wire.Stats(cable.AToB)
}

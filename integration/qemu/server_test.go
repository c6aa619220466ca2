//go:build linux

package qemu

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBoards(t *testing.T) {
	needQEMU(t)
	for _, b := range boards() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			testBoard(t, b)
		})
	}
}

func testBoard(t *testing.T, b board) {
	score.Machine(t, b.name)
	m := prepare(t, b)
	for _, c := range []struct {
		name string
		f    func(t *testing.T)
	}{
		{"boot", func(inner *testing.T) {
			m.start(inner, t, map[string]string{"httpserver": "examples/httpserver"})
		}},
		{"start the server", func(t *testing.T) { m.startServer(t, "-v "+m.keys(t)) }},
		{"curl of the page", m.page},
		{"16 MiB down", func(t *testing.T) { require.NoError(t, m.client.Download(t.Context(), 16<<20, 1)) }},
		{"16 MiB up", func(t *testing.T) { require.NoError(t, m.client.Upload(t.Context(), 16<<20)) }},
	} {
		if !check(t, b.name, c.name, c.f) {
			return // what follows would say nothing new
		}
	}
}

// page has curl fetch the page, as the README says.
func (m *machine) page(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "curl", "-fsS", "--noproxy", "*", "--max-time", "60", m.client.URL+"/").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "<html")
}

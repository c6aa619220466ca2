//go:build unix

package guest

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// local runs ShellScript here, without what only a guest should do.
func local(t *testing.T) (*Shell, context.Context) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	var script strings.Builder
	script.WriteString("poweroff() { kill -KILL $$; exit; }\necho booting\n")
	for line := range strings.Lines(ShellScript) {
		if !strings.HasPrefix(line, "dmesg") && !strings.HasPrefix(line, "stty") {
			script.WriteString(line)
		}
	}
	s, err := NewShell(ctx, exec.CommandContext(ctx, "sh", "-c", script.String()))
	require.NoError(t, err)
	return s, ctx
}

func TestShell(t *testing.T) {
	s, ctx := local(t)
	for _, c := range []struct{ script, out, err string }{
		{"echo a; echo b >&2", "a\nb", ""},
		{"true", "", ""},
		{"printf 'no end of line'", "no end of line", ""},
		{"for i in 1 2; do\n\techo $i\ndone", "1\n2", ""},
		{`printf '%s' ' a\tb'`, `a\tb`, ""},
		{"cat; echo input is empty", "input is empty", ""},
		{"x=1; exit 3", "", "exit status 3"},
		{"echo \"x is $x\"; false", "x is", "exit status 1: x is"},
	} {
		out, err := s.Run(ctx, c.script)
		if c.err == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, c.err)
			require.NotErrorIs(t, err, ErrGone)
		}
		require.Equal(t, c.out, strings.TrimSpace(out), c.script)
	}
	require.NoError(t, s.PowerOff(ctx))
	_, err := s.Run(ctx, "true")
	require.ErrorIs(t, err, ErrGone)
}

// A guest that does not answer is ended, so that nothing waits for ever.
func TestShellHangs(t *testing.T) {
	s, ctx := local(t)
	short, cancel := context.WithCancel(ctx)
	cancel()
	_, err := s.Run(short, "kill -STOP $$")
	require.ErrorIs(t, err, ErrGone)
	require.NoError(t, s.PowerOff(ctx))
}

func TestNoShell(t *testing.T) {
	_, err := NewShell(t.Context(), exec.Command("sh", "-c", "echo panic; echo why >&2; exit 1"))
	require.ErrorIs(t, err, ErrGone)
	require.ErrorContains(t, err, "panic")
	require.ErrorContains(t, err, "why")
	_, err = NewShell(t.Context(), exec.Command("/nonexistent"))
	require.ErrorContains(t, err, "start QEMU")
}

func TestProgramsMissing(t *testing.T) {
	p := Programs{}
	require.Error(t, p.add(t.TempDir(), "sbin/x", "x"))
	require.ErrorContains(t, p.library(t.TempDir(), "libx.so"), "no libx.so")
}

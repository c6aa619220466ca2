package guest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// ShellScript is a script for NewInitrd with which the guest runs what Shell.Run
// says. Kernel messages stay off the console; dmesg has them.
const ShellScript = `
dmesg -n 1
stty -echo -onlcr
echo "` + shellReady + `"
text=
while IFS= read -r line; do
	if [ "$line" != "` + shellRun + `" ]; then
		text="$text$line
"
		continue
	fi
	(eval "$text") < /dev/null 2>&1
	status=$?
	text=
	echo
	echo "` + shellStatus + `$status"
done
`

// What the two ends say to each other, each on a line of its own.
const (
	shellReady  = "--- ready"
	shellRun    = "--- run"
	shellStatus = "--- status "
)

// ErrGone means that the guest has ended: it was told to, it crashed, or its
// context was done.
var ErrGone = errors.New("the guest has gone")

// Shell is a running guest that takes commands on its console. Its methods are
// called by one goroutine at a time.
type Shell struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
	errs  strings.Builder // complete when cmd has been waited for
}

// NewShell starts cmd, as Debian.Command returns it, and waits until ShellScript
// runs in it.
func NewShell(ctx context.Context, cmd *exec.Cmd) (*Shell, error) {
	s := &Shell{cmd: cmd}
	cmd.Stderr = &s.errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("guest: %w", err)
	}
	if s.in, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("guest: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("guest: start QEMU: %w", err)
	}
	s.lines = bufio.NewScanner(out)
	if _, err := s.until(ctx, shellReady); err != nil {
		return nil, errors.Join(err, s.kill())
	}
	return s, nil
}

// Run runs a shell script in the guest and returns what it wrote. The error tells
// a status that is not 0, or wraps ErrGone. A guest that does not answer before
// ctx is done is ended.
func (s *Shell) Run(ctx context.Context, script string) (string, error) {
	if _, err := fmt.Fprintf(s.in, "%s\n%s\n", script, shellRun); err != nil {
		return "", fmt.Errorf("guest: %s: %w: %v", script, ErrGone, err)
	}
	var status string
	out, err := s.until(ctx, shellStatus, &status)
	out = strings.Trim(out, "\n")
	switch {
	case err != nil:
		return out, fmt.Errorf("guest: %s: %w", script, err)
	case status != "0":
		return out, fmt.Errorf("guest: %s: exit status %s: %s", script, status, out)
	}
	return out, nil
}

// until reads lines up to one that starts with mark, of which the rest goes to
// rest.
func (s *Shell) until(ctx context.Context, mark string, rest ...*string) (string, error) {
	stop := context.AfterFunc(ctx, func() { _ = s.cmd.Process.Kill() }) // the console then ends
	defer stop()
	var out strings.Builder
	for s.lines.Scan() {
		line := strings.TrimRight(s.lines.Text(), "\r")
		if after, ok := strings.CutPrefix(line, mark); ok {
			for _, r := range rest {
				*r = after
			}
			return out.String(), nil
		}
		out.WriteString(line + "\n")
	}
	return out.String(), fmt.Errorf("%w (%v): %s", ErrGone, context.Cause(ctx), strings.TrimSpace(out.String()))
}

// PowerOff switches the guest off and waits until it is.
func (s *Shell) PowerOff(ctx context.Context) error {
	if _, err := s.Run(ctx, "poweroff -f; sleep 60"); err != nil && !errors.Is(err, ErrGone) {
		return err
	}
	return s.kill()
}

// kill ends QEMU if it still runs.
func (s *Shell) kill() error {
	_ = s.in.Close()
	_ = s.cmd.Process.Kill()
	if err := s.cmd.Wait(); err != nil && s.cmd.ProcessState.Exited() {
		return fmt.Errorf("guest: QEMU: %w: %s", err, s.errs.String())
	}
	return nil
}

package tap

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac/sim/pcap"
)

// The example server is started, used and interrupted as a user would.
func TestExampleServer(t *testing.T) {
	needKernel(t)
	dir := t.TempDir()
	binary, recording := filepath.Join(dir, "httpserver"), filepath.Join(dir, "http.pcap")
	out, err := exec.Command("go", "build", "-o", binary, "github.com/barewire/barewire/examples/httpserver").CombinedOutput()
	require.NoError(t, err, "%s", out)

	ctx := testContext(t)
	server := exec.CommandContext(ctx, binary, "-tap", device, "-pcap", recording,
		"-ip", our4.String()+"/24,"+our6.String()+"/64", "-addr", ":80")
	// Whatever ends the tests ends the server, and with it the namespace. The signal
	// is tied to this thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var complaint bytes.Buffer
	server.Stderr = &complaint
	stdout, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	exited := false
	t.Cleanup(func() {
		if !exited {
			server.Process.Kill()
			server.Wait()
		}
	})
	lines := bufio.NewScanner(stdout)
	var urls []string
	for len(urls) < 2 && lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			urls = append(urls, url)
		}
	}
	require.Equal(t, []string{"http://" + our4.String() + ":80/", "http://[" + our6.String() + "]:80/"}, urls, "%s", &complaint)

	ip(t, "addr", "add", kernel4.String()+"/24", "dev", device)
	ip(t, "addr", "add", kernel6.String()+"/64", "dev", device, "nodad")
	for _, url := range urls {
		require.Equal(t, "200", fetch(t, ctx, "-o", "/dev/null", "-w", "%{http_code}", url))
		want := fetch(t, ctx, url+"bytes?n=4M&sum=1")
		require.Equal(t, strings.TrimSpace(want), sumHex([]byte(fetch(t, ctx, url+"bytes?n=4M"))))
	}

	require.NoError(t, server.Process.Signal(syscall.SIGINT))
	last := ""
	for lines.Scan() {
		last = lines.Text()
	}
	err = server.Wait()
	exited = true
	require.NoError(t, err, "%s", &complaint)
	require.Contains(t, last, " 0 pages lent")
	require.Empty(t, complaint.String())
	checkRecording(t, recording)
}

func fetch(t *testing.T, ctx context.Context, args ...string) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, curl(ctx, nil, &out, args...))
	return out.String()
}

// checkRecording reads the file twice: as the format's description says, and with
// the package's own reader.
func checkRecording(t *testing.T, name string) {
	raw, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, uint32(0xa1b23c4d), binary.LittleEndian.Uint32(raw), "magic number of nanosecond pcap")
	require.EqualValues(t, 1, binary.LittleEndian.Uint32(raw[20:]), "link type Ethernet")
	frames := 0
	for rest := raw[24:]; len(rest) > 0; frames++ {
		require.GreaterOrEqual(t, len(rest), 16)
		n := binary.LittleEndian.Uint32(rest[8:])
		require.GreaterOrEqual(t, len(rest), 16+int(n))
		rest = rest[16+n:]
	}
	require.Greater(t, frames, 2*(4<<20)/1460)
	for _, text := range []string{"GET /bytes?n=4M&sum=1 HTTP/1.1", "User-Agent: curl/", "HTTP/1.1 200 OK"} {
		require.True(t, bytes.Contains(raw, []byte(text)), text)
	}

	replay, err := pcap.NewReplay(bytes.NewReader(raw), nil)
	require.NoError(t, err)
	replayed := 0
	replay.OnTransmit(func(frame []byte) { replayed++ })
	replay.Start()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	require.NoError(t, replay.Wait(ctx))
	require.NoError(t, replay.Close())
	require.Equal(t, frames, replayed)
}

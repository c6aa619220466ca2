package tap

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ownNamespace moves the test to a network namespace of its own. The thread ends
// with the test's goroutine, and the namespace and its devices with the thread.
func ownNamespace(t *testing.T) {
	t.Helper()
	tun, err := os.OpenFile(tunPath, os.O_RDWR, 0)
	if err != nil {
		t.Skipf("NOT TESTED: needs root and %s (modprobe tun): %v", tunPath, err)
	}
	tun.Close()
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skipf("NOT TESTED: needs root for a network namespace: %v", err)
	}
}

func open(t *testing.T, name string, o *Options) *TAP {
	t.Helper()
	tap, err := Open(name, o)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := tap.Close(); err != nil {
			t.Error(err)
		}
	})
	return tap
}

// ioctl sets one thing of a device.
func ioctl(t *testing.T, name string, request uint, set func(*unix.Ifreq)) {
	t.Helper()
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	require.NoError(t, err)
	defer unix.Close(s)
	r, err := unix.NewIfreq(name)
	require.NoError(t, err)
	set(r)
	require.NoError(t, unix.IoctlIfreq(s, request, r))
}

func setAddress(t *testing.T, name string) {
	ioctl(t, name, unix.SIOCSIFADDR, func(r *unix.Ifreq) {
		if err := r.SetInet4Addr([]byte{192, 0, 2, 1}); err != nil {
			t.Error(err)
		}
	})
}

// responder is a station with one address that answers ARP and echo requests.
type responder struct {
	tap      *TAP
	mac      [6]byte
	ip       [4]byte
	shortest int // frame seen
	echoes   int
}

func (r *responder) receive(frame []byte) {
	if r.shortest == 0 || len(frame) < r.shortest {
		r.shortest = len(frame)
	}
	answer := append([]byte(nil), frame...)
	copy(answer, frame[6:12])
	copy(answer[6:], r.mac[:])
	switch binary.BigEndian.Uint16(frame[12:]) {
	case 0x0806:
		arp := answer[14:]
		if arp[7] != 1 || [4]byte(arp[24:]) != r.ip {
			return
		}
		arp[7] = 2
		copy(arp[18:], frame[14+8:14+18])
		copy(arp[8:], r.mac[:])
		copy(arp[14:], r.ip[:])
	case 0x0800:
		ip := answer[14:]
		if ip[0] != 0x45 || ip[9] != 1 || ip[20] != 8 {
			return
		}
		r.echoes++
		copy(ip[12:], frame[14+16:14+20])
		copy(ip[16:], frame[14+12:14+16])
		ip[20] = 0
		sum := uint32(binary.BigEndian.Uint16(ip[22:])) + 8<<8 // type 8 became 0 (RFC 1624)
		binary.BigEndian.PutUint16(ip[22:], uint16(sum+sum>>16))
	default:
		return
	}
	r.tap.Deliver(answer)
}

func TestPingFromTheKernel(t *testing.T) {
	ownNamespace(t)
	tap := open(t, "", &Options{MTU: 1400})
	require.Equal(t, "tap0", tap.Name())
	require.Equal(t, 1400, tap.MTU())
	r := &responder{tap: tap, mac: [6]byte{2, 0, 0, 0, 0, 9}, ip: [4]byte{192, 0, 2, 9}}
	tap.OnTransmit(r.receive)
	setAddress(t, tap.Name())
	ifi, err := net.InterfaceByName(tap.Name())
	require.NoError(t, err)
	require.Equal(t, 1400, ifi.MTU)
	require.NotZero(t, ifi.Flags&net.FlagUp)

	ping, err := net.Dial("ip4:icmp", "192.0.2.9")
	require.NoError(t, err)
	defer ping.Close()
	require.NoError(t, ping.SetDeadline(time.Now().Add(10*time.Second)))
	// The checksum of type 8, code 0, identifier 1, sequence 1.
	_, err = ping.Write([]byte{8, 0, 0xf7, 0xfd, 0, 1, 0, 1})
	require.NoError(t, err)
	buf := make([]byte, 100)
	n, err := ping.Read(buf)
	require.NoError(t, err)
	require.Equal(t, []byte{0, 0, 0xff, 0xfd, 0, 1, 0, 1}, buf[20:n], "after the IP header")

	require.NoError(t, tap.Close())
	require.Equal(t, 1, r.echoes)
	require.Equal(t, minFrame, r.shortest, "a 42-byte ARP request is padded as on a wire")
	s := tap.Stats()
	require.NotZero(t, s.RXPadded)
	require.GreaterOrEqual(t, s.TXFrames, uint64(2))
}

func TestFramesOfTheWrongLength(t *testing.T) {
	ownNamespace(t)
	tap := open(t, "bw0", &Options{MTU: 1500})
	tap.Deliver(nil)
	tap.Deliver(make([]byte, 13))
	tap.Deliver(make([]byte, 1519))
	tap.Deliver(make([]byte, 14))
	tap.Deliver(make([]byte, 1518))
	s := tap.Stats()
	require.EqualValues(t, 2, s.TXShort)
	require.EqualValues(t, 1, s.TXTooLong)
	require.EqualValues(t, 2, s.TXFrames)
	require.EqualValues(t, 14+1518, s.TXBytes)
}

func TestDownDeviceCountsErrors(t *testing.T) {
	ownNamespace(t)
	tap := open(t, "bw0", &Options{KeepDown: true})
	tap.Deliver(make([]byte, 60))
	require.EqualValues(t, 1, tap.Stats().TXErrors)
}

func TestCloseEndsTheReader(t *testing.T) {
	ownNamespace(t)
	tap := open(t, "bw0", nil)
	require.NoError(t, tap.Err())
	require.NoError(t, tap.Close())
	<-tap.Done()
	require.NoError(t, tap.Err())
	require.NoError(t, tap.Close())
	tap.Deliver(make([]byte, 60))
	require.EqualValues(t, 1, tap.Stats().TXErrors)
	_, err := net.InterfaceByName("bw0")
	require.Error(t, err, "the device outlived Close")
}

func TestPersistentDevice(t *testing.T) {
	ownNamespace(t)
	require.NoError(t, open(t, "bw0", &Options{Persistent: true}).Close())
	again := open(t, "bw0", &Options{Existing: true})
	require.Equal(t, "bw0", again.Name())
}

func TestRemovedDevice(t *testing.T) {
	ownNamespace(t)
	tap := open(t, "bw0", nil)
	out, err := exec.Command("ip", "link", "del", "bw0").CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("NOT TESTED: needs ip of iproute2")
	}
	require.NoError(t, err, "%s", out)
	<-tap.Done()
	require.ErrorContains(t, tap.Err(), "bw0: the device is gone")
}

func TestErrorsSayWhatToDo(t *testing.T) {
	for name, want := range map[string]error{
		strings.Repeat("x", 16): ErrName,
		"a/b":                   ErrName,
		"a b":                   ErrName,
		"tap%d":                 ErrName,
		"..":                    ErrName,
	} {
		_, err := Open(name, nil)
		require.ErrorIs(t, err, want, name)
	}
	_, err := Open("", &Options{Existing: true})
	require.ErrorIs(t, err, ErrName)
	_, err = Open("bw0", &Options{MTU: 67})
	require.ErrorContains(t, err, "MTU 67 is not within 68 to 65521")

	err = explainOpen(unix.ENOENT)
	require.ErrorIs(t, err, ErrNoTun)
	require.ErrorContains(t, err, "modprobe tun")
	require.ErrorIs(t, explainAttach("", unix.EPERM), fs.ErrPermission)

	ownNamespace(t)
	_, err = Open("bw9", &Options{Existing: true})
	require.ErrorIs(t, err, ErrNoDevice)
	require.ErrorContains(t, err, "ip tuntap add dev bw9 mode tap user $USER")

	open(t, "bw0", nil)
	_, err = Open("bw0", nil)
	require.ErrorIs(t, err, ErrBusy)
	require.ErrorIs(t, err, unix.EBUSY)

	_, err = Open("lo", nil)
	require.ErrorIs(t, err, ErrKind)

	// This thread alone becomes nobody, and ends.
	_, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, 65534, 65534, 65534)
	require.Zero(t, errno)
	_, err = Open("bw1", nil)
	require.ErrorIs(t, err, fs.ErrPermission)
	require.ErrorContains(t, err, "run as root")
}

package netstack

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"gvisor.dev/gvisor/pkg/tcpip"
)

// errnos maps the text of netstack's errors to the errors that Go programs
// branch on. The text is the key because gonet passes on nothing else. Read
// only.
var errnos = map[string]error{
	(&tcpip.ErrAborted{}).String():                   syscall.ECONNABORTED,
	(&tcpip.ErrAddressFamilyNotSupported{}).String(): syscall.EAFNOSUPPORT,
	(&tcpip.ErrAlreadyConnected{}).String():          syscall.EISCONN,
	(&tcpip.ErrBadAddress{}).String():                syscall.EADDRNOTAVAIL,
	(&tcpip.ErrBadLocalAddress{}).String():           syscall.EADDRNOTAVAIL,
	(&tcpip.ErrBroadcastDisabled{}).String():         syscall.EACCES,
	(&tcpip.ErrClosedForSend{}).String():             syscall.EPIPE,
	(&tcpip.ErrConnectionAborted{}).String():         syscall.ECONNABORTED,
	(&tcpip.ErrConnectionRefused{}).String():         syscall.ECONNREFUSED,
	(&tcpip.ErrConnectionReset{}).String():           syscall.ECONNRESET,
	(&tcpip.ErrDestinationRequired{}).String():       syscall.EDESTADDRREQ,
	(&tcpip.ErrDuplicateAddress{}).String():          syscall.EEXIST,
	(&tcpip.ErrHostDown{}).String():                  syscall.EHOSTDOWN,
	(&tcpip.ErrHostUnreachable{}).String():           syscall.EHOSTUNREACH,
	(&tcpip.ErrInvalidEndpointState{}).String():      syscall.EINVAL,
	(&tcpip.ErrInvalidOptionValue{}).String():        syscall.EINVAL,
	(&tcpip.ErrMessageTooLong{}).String():            syscall.EMSGSIZE,
	(&tcpip.ErrNetworkUnreachable{}).String():        syscall.ENETUNREACH,
	(&tcpip.ErrNoBufferSpace{}).String():             syscall.ENOBUFS,
	(&tcpip.ErrNoPortAvailable{}).String():           syscall.EADDRNOTAVAIL,
	(&tcpip.ErrNotConnected{}).String():              syscall.ENOTCONN,
	(&tcpip.ErrNotPermitted{}).String():              syscall.EPERM,
	(&tcpip.ErrPortInUse{}).String():                 syscall.EADDRINUSE,
	(&tcpip.ErrTimeout{}).String():                   syscall.ETIMEDOUT,
}

// sysError turns an error of the stack into a Go error, under the name of the
// call that failed, so that it reads and branches as one of package net does.
func sysError(call string, err tcpip.Error) error {
	if err == nil {
		return nil
	}
	if errno, ok := errnos[err.String()]; ok {
		return os.NewSyscallError(call, errno)
	}
	return fmt.Errorf("%s: %s", call, err)
}

// gonetError does the same for what gonet's connections return. io.EOF stays as
// it is.
func gonetError(call string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return os.ErrDeadlineExceeded
	}
	if errno, ok := errnos[err.Error()]; ok {
		return os.NewSyscallError(call, errno)
	}
	return err
}

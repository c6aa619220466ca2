//go:build linux

package vfu

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func itoa(n int) string { return strconv.Itoa(n) }

const (
	setFD  = irqDataEventFD | irqTrigger
	unmask = irqDataNone | irqUnmask
	mask   = irqDataNone | irqMask
	off    = irqDataNone | irqTrigger
)

func TestINTx(t *testing.T) {
	c := session(t)
	fd := eventfd(t)
	irq := func(flags int, data ...byte) {
		t.Helper()
		c.ok(cmdSetIRQs, irqPayload(flags, indexINTx, 0, 1, data...))
	}
	pin := func(level bool) { c.host.SetINTx(level) }
	want := func(n uint64, why string) {
		t.Helper()
		require.Equal(t, n, events(t, fd), why)
	}

	pin(true)
	c.ok(cmdSetIRQs, irqPayload(setFD, indexINTx, 0, 1), fd)
	want(1, "high when the eventfd came")
	pin(true)
	pin(false)
	pin(true)
	want(0, "masked by its event")
	irq(unmask)
	want(1, "still high at unmask")
	pin(false)
	irq(unmask)
	want(0, "low at unmask")
	pin(true)
	want(1, "rising edge")
	pin(false)
	irq(unmask)

	irq(mask)
	pin(true)
	want(0, "masked by the client")
	irq(irqDataBool|irqUnmask, 0)
	want(0, "not unmasked")
	irq(irqDataBool|irqUnmask, 1)
	want(1, "unmasked")

	// The command register's Interrupt Disable.
	c.write(regionConfig, pciCommand, 0, 4)
	irq(unmask)
	want(0, "disabled")
	c.write(regionConfig, pciCommand+1, 0)
	want(1, "enabled while high")
	pin(false)
	irq(unmask)

	// The client's own trigger.
	irq(irqDataNone | irqTrigger)
	irq(irqDataBool|irqTrigger, 1)
	irq(irqDataBool|irqTrigger, 0)
	want(2, "triggered")

	// Taken away, with and without count.
	c.ok(cmdSetIRQs, irqPayload(setFD, indexINTx, 0, 1))
	pin(true)
	want(0, "no eventfd")
	c.ok(cmdSetIRQs, irqPayload(setFD, indexINTx, 0, 1), fd)
	want(1, "assigned again")
	c.ok(cmdSetIRQs, irqPayload(off, indexINTx, 0, 0))
	pin(false)
	pin(true)
	want(0, "disabled")
	irq(irqDataNone | irqTrigger)
	want(0, "nobody listens")

	st := c.srv.Stats()
	require.EqualValues(t, 6, st.INTxRaised)
	require.EqualValues(t, 6, st.INTxSent)
	require.EqualValues(t, 6, st.INTxUnmasks)
}

// A driver that asks the status register is told of an interrupt that the client
// has been sent, also when the level has fallen, until the client answers.
func TestINTxPendingUntilUnmasked(t *testing.T) {
	c := session(t)
	fd := eventfd(t)
	pending := func() bool { return c.read(regionConfig, pciStatus, 1)[0]&statusInterrupt != 0 }
	c.ok(cmdSetIRQs, irqPayload(setFD, indexINTx, 0, 1), fd)
	require.False(t, pending())
	c.host.SetINTx(true)
	require.EqualValues(t, 1, events(t, fd))
	c.host.SetINTx(false)
	require.True(t, pending(), "sent and not answered")
	c.ok(cmdSetIRQs, irqPayload(unmask, indexINTx, 0, 1))
	require.False(t, pending())
	require.Zero(t, events(t, fd))

	// Masked by the client, nothing is sent.
	c.ok(cmdSetIRQs, irqPayload(mask, indexINTx, 0, 1))
	require.False(t, pending())
	c.host.SetINTx(true)
	require.True(t, pending())
	c.host.SetINTx(false)
	require.False(t, pending())

	// Nor is anything pending for a client that has stopped to listen.
	c.ok(cmdSetIRQs, irqPayload(unmask, indexINTx, 0, 1))
	c.host.SetINTx(true)
	require.EqualValues(t, 1, events(t, fd))
	c.host.SetINTx(false)
	c.ok(cmdSetIRQs, irqPayload(off, indexINTx, 0, 0))
	require.False(t, pending())
}

func TestMSI(t *testing.T) {
	c := session(t)
	var fds [32]int
	for i := range fds {
		fds[i] = eventfd(t)
	}
	want := func(vectors ...int) {
		t.Helper()
		var got []int
		for i, fd := range fds {
			for range events(t, fd) {
				got = append(got, i)
			}
		}
		require.Equal(t, vectors, got)
	}
	require.False(t, c.host.SendMSI(0))
	c.ok(cmdSetIRQs, irqPayload(setFD, indexMSI, 0, 16), fds[:16]...)
	c.ok(cmdSetIRQs, irqPayload(setFD, indexMSI, 16, 16), fds[16:]...)
	for _, v := range []int{0, 31, 7, 7} {
		require.True(t, c.host.SendMSI(v))
	}
	require.False(t, c.host.SendMSI(32))
	require.False(t, c.host.SendMSI(-1))
	want(0, 7, 7, 31)

	c.ok(cmdSetIRQs, irqPayload(irqDataNone|irqTrigger, indexMSI, 30, 2))
	c.ok(cmdSetIRQs, irqPayload(irqDataBool|irqTrigger, indexMSI, 1, 3, 1, 0, 1))
	want(1, 3, 30, 31)

	c.ok(cmdSetIRQs, irqPayload(setFD, indexMSI, 7, 2))
	require.False(t, c.host.SendMSI(7))
	require.True(t, c.host.SendMSI(9))
	want(9)
	c.ok(cmdSetIRQs, irqPayload(setFD, indexMSI, 9, 1), fds[10]) // another one
	require.True(t, c.host.SendMSI(9))
	want(10)
	c.ok(cmdSetIRQs, irqPayload(off, indexMSI, 0, 0))
	require.False(t, c.host.SendMSI(0))
	want()
}

// An eventfd that the client has filled up does not block the device.
func TestFullEventFD(t *testing.T) {
	c := session(t)
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	require.NoError(t, err)
	defer unix.Close(fd)
	var b [8]byte
	wire.PutUint64(b[:], ^uint64(1))
	_, err = unix.Write(fd, b[:])
	require.NoError(t, err)
	c.ok(cmdSetIRQs, irqPayload(setFD, indexMSI, 0, 1), fd)
	require.True(t, c.host.SendMSI(0))
	require.Equal(t, ^uint64(1), events(t, fd))
}

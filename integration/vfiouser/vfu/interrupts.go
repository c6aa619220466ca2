//go:build linux

package vfu

import (
	"errors"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// interrupts are the function's INTx pin and MSI vectors. mu is a leaf: nothing
// else is locked or called under it but the write of an eventfd, which does not
// block.
type interrupts struct {
	mu sync.Mutex

	// INTx is automasked: an event masks it, and the client unmasks it. While the
	// level is high, each unmask makes another event.
	level    bool
	masked   bool // by the client or an event
	event    bool // an event has been sent and not been answered by an unmask
	disabled bool // by the Interrupt Disable bit of the command register
	intx     int  // eventfd or -1

	msi []int // eventfds or -1

	raised, sent, unmasks, messages uint64
}

func (s *interrupts) init(vectors int) {
	s.intx = -1
	s.msi = make([]int, vectors)
	for i := range s.msi {
		s.msi[i] = -1
	}
}

func (s *interrupts) setINTx(level bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if level && !s.level {
		s.raised++
	}
	s.level = level
	s.signal()
}

// signal sends the INTx event that is due, if any. mu is held.
func (s *interrupts) signal() {
	if s.level && !s.masked && !s.disabled && s.intx >= 0 {
		s.masked, s.event = true, true
		s.sent++
		kick(s.intx)
	}
}

// setDisabled follows the command register.
func (s *interrupts) setDisabled(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.disabled = on
	s.signal()
}

// pending is the level of the pin as the client has it, whether or not it is
// masked. That is high from an event until the client has answered it, also when
// the level falls meanwhile: the guest's line is high by then, and a driver that
// asks here whether it was its device must not be told that it was none. The
// kernel would take the interrupt again and again and in the end switch it off.
func (s *interrupts) pending() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.level || s.event
}

func (s *interrupts) sendMSI(vector int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.message(vector)
}

func (s *interrupts) message(vector int) bool {
	if vector < 0 || vector >= len(s.msi) || s.msi[vector] < 0 {
		return false
	}
	s.messages++
	kick(s.msi[vector])
	return true
}

// set is SET_IRQS for vectors start to start+count-1 of index, which exist. data
// has a byte for each with irqDataBool, fd the descriptor of each with
// irqDataEventFD; those kept are taken.
func (s *interrupts) set(index int, flags uint32, start, count int, data []byte, m *message) unix.Errno {
	action := flags & irqActionFlags
	if flags&irqDataEventFD != 0 {
		if action != irqTrigger {
			return unix.ENOTSUP
		}
		return s.assign(index, start, count, m)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if count == 0 {
		return s.disable(index, action)
	}
	for i := range count {
		if data != nil && data[i] == 0 {
			continue
		}
		switch {
		case index == indexMSI && action == irqTrigger:
			s.message(start + i)
		case index == indexMSI:
			return unix.ENOTSUP // GET_IRQ_INFO says that it cannot be masked
		case action == irqTrigger:
			if s.intx >= 0 {
				kick(s.intx)
			}
		case action == irqMask:
			s.masked = true
		case action == irqUnmask:
			s.masked, s.event = false, false
			s.unmasks++
			s.signal()
		}
	}
	return 0
}

// disable is the special case of no data and no vectors. mu is held.
func (s *interrupts) disable(index int, action uint32) unix.Errno {
	switch {
	case action != irqTrigger:
		return unix.EINVAL
	case index == indexINTx:
		s.replace(&s.intx, -1)
		s.masked, s.event = false, false
	default:
		for i := range s.msi {
			s.replace(&s.msi[i], -1)
		}
	}
	return 0
}

// assign gives vectors their eventfds, or takes them away when the message
// carries none.
func (s *interrupts) assign(index, start, count int, m *message) unix.Errno {
	if len(m.fds) != 0 && len(m.fds) != count {
		return unix.EINVAL
	}
	for _, fd := range m.fds {
		if errno := checkEventFD(fd); errno != 0 {
			return errno
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range count {
		if index == indexINTx {
			s.replace(&s.intx, m.takeFD(i))
			s.masked, s.event = false, false
			s.signal()
		} else {
			s.replace(&s.msi[start+i], m.takeFD(i))
		}
	}
	return 0
}

func (s *interrupts) replace(p *int, fd int) {
	if *p >= 0 {
		unix.Close(*p)
	}
	*p = fd
}

// release closes all eventfds.
func (s *interrupts) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replace(&s.intx, -1)
	for i := range s.msi {
		s.replace(&s.msi[i], -1)
	}
}

// checkEventFD lets only eventfds pass, and makes fd non-blocking: writing to
// whatever else a client may send could wait for ever.
func checkEventFD(fd int) unix.Errno {
	name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil || name != "anon_inode:[eventfd]" {
		return unix.EINVAL
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return errnoOf(err)
	}
	return 0
}

// kick adds one to an eventfd. One that is full has not been looked at yet, which
// is as good.
func kick(fd int) {
	var one [8]byte
	wire.PutUint64(one[:], 1)
	_, _ = unix.Write(fd, one[:])
}

func errnoOf(err error) unix.Errno {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return unix.EIO
}

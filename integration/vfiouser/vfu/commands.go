//go:build linux

package vfu

import "golang.org/x/sys/unix"

func (s *Server) dmaMap(m *message) (int, unix.Errno) {
	p := m.payload
	if len(p) != dmaMapLen || len(m.fds) > 1 {
		return 0, unix.EINVAL
	}
	fd := -1
	if len(m.fds) == 1 {
		fd = m.fds[0]
	}
	return 0, s.host.mem.add(wire.Uint64(p[16:]), wire.Uint64(p[24:]), wire.Uint64(p[8:]), wire.Uint32(p[4:]), fd)
}

func (s *Server) dmaUnmap(p, out []byte) (int, unix.Errno) {
	if len(p) != dmaUnmapLen {
		return 0, unix.EINVAL
	}
	addr, size := wire.Uint64(p[8:]), wire.Uint64(p[16:])
	switch wire.Uint32(p[4:]) {
	case 0:
		if errno := s.host.mem.remove(addr, size); errno != 0 {
			return 0, errno
		}
	case dmaUnmapAll:
		if addr != 0 || size != 0 {
			return 0, unix.EINVAL
		}
		s.host.mem.removeAll()
	default:
		return 0, unix.ENOTSUP
	}
	s.dev.Quiesce()
	return copy(out, p), 0
}

func (s *Server) getInfo(p, out []byte) (int, unix.Errno) {
	if len(p) < infoLen || wire.Uint32(p) < infoLen {
		return 0, unix.EINVAL
	}
	wire.PutUint32(out, infoLen)
	wire.PutUint32(out[4:], deviceReset|devicePCI)
	wire.PutUint32(out[8:], numRegions)
	wire.PutUint32(out[12:], numIRQs)
	return infoLen, 0
}

// regionSize is the size of a region in bytes, 0 when there is none of this
// index.
func (s *Server) regionSize(index uint32) uint64 {
	switch {
	case index < numBARs:
		return s.cfg.BARs[index]
	case index == regionConfig:
		return configSize
	}
	return 0
}

func (s *Server) getRegionInfo(p, out []byte) (int, unix.Errno) {
	if len(p) < regionInfoLen || wire.Uint32(p) < regionInfoLen || wire.Uint32(p[8:]) >= numRegions {
		return 0, unix.EINVAL
	}
	index := wire.Uint32(p[8:])
	size, flags := s.regionSize(index), uint32(0)
	if size != 0 {
		flags = regionRead | regionWrite
	}
	clear(out[:regionInfoLen])
	wire.PutUint32(out, regionInfoLen)
	wire.PutUint32(out[4:], flags)
	wire.PutUint32(out[8:], index)
	wire.PutUint64(out[16:], size)
	return regionInfoLen, 0
}

// irqInfo is the flags of an interrupt index and how many vectors it has.
func (s *Server) irqInfo(index uint32) (flags, count uint32) {
	switch {
	case index == indexINTx && s.cfg.InterruptPin != 0:
		return irqEventFD | irqMaskable | irqAutoMasked, 1
	case index == indexMSI && s.cfg.MSIVectors != 0:
		return irqEventFD | irqNoResize, uint32(s.cfg.MSIVectors)
	}
	return 0, 0
}

func (s *Server) getIRQInfo(p, out []byte) (int, unix.Errno) {
	if len(p) < irqInfoLen || wire.Uint32(p) < irqInfoLen || wire.Uint32(p[8:]) >= numIRQs {
		return 0, unix.EINVAL
	}
	index := wire.Uint32(p[8:])
	flags, count := s.irqInfo(index)
	wire.PutUint32(out, irqInfoLen)
	wire.PutUint32(out[4:], flags)
	wire.PutUint32(out[8:], index)
	wire.PutUint32(out[12:], count)
	return irqInfoLen, 0
}

func (s *Server) setIRQs(m *message) (int, unix.Errno) {
	p := m.payload
	if len(p) < irqSetLen {
		return 0, unix.EINVAL
	}
	flags, index, start, count := wire.Uint32(p[4:]), wire.Uint32(p[8:]), wire.Uint32(p[12:]), wire.Uint32(p[16:])
	data := flags & irqDataFlags
	action := flags & irqActionFlags
	if flags&^(irqDataFlags|irqActionFlags) != 0 || data&(data-1) != 0 || data == 0 || action&(action-1) != 0 || action == 0 {
		return 0, unix.EINVAL
	}
	_, have := s.irqInfo(index)
	if start > have || count > have-start {
		return 0, unix.EINVAL
	}
	if have == 0 {
		return 0, 0 // switching off what is not there
	}
	if count == 0 && (data != irqDataNone || start != 0) {
		return 0, unix.EINVAL
	}
	if data != irqDataEventFD && len(m.fds) != 0 {
		return 0, unix.EINVAL
	}
	var bools []byte
	if data == irqDataBool {
		bools = p[irqSetLen:]
		if uint64(len(bools)) != uint64(count) {
			return 0, unix.EINVAL
		}
	}
	return 0, s.host.irq.set(int(index), flags, int(start), int(count), bools, m)
}

// region checks a region access. It is offset, index and count of the request.
func (s *Server) region(p []byte) (off uint64, index uint32, count int, errno unix.Errno) {
	off, index, n := wire.Uint64(p), wire.Uint32(p[8:]), wire.Uint32(p[12:])
	size := s.regionSize(index)
	if n == 0 || n > maxTransfer || off > size || uint64(n) > size-off {
		return 0, 0, 0, unix.EINVAL
	}
	return off, index, int(n), 0
}

func (s *Server) regionRead(p, out []byte) (int, unix.Errno) {
	if len(p) != regionLen {
		return 0, unix.EINVAL
	}
	off, index, n, errno := s.region(p)
	if errno != 0 {
		return 0, errno
	}
	s.reads.Add(1)
	copy(out, p)
	data := out[regionLen : regionLen+n]
	if index == regionConfig {
		s.config.read(int(off), data, s.host.irq.pending())
	} else {
		clear(data)
		s.dev.ReadBAR(int(index), off, data)
	}
	return regionLen + n, 0
}

func (s *Server) regionWrite(p, out []byte) (int, unix.Errno) {
	if len(p) < regionLen {
		return 0, unix.EINVAL
	}
	off, index, n, errno := s.region(p)
	if errno != 0 {
		return 0, errno
	}
	data := p[regionLen:]
	if len(data) != n {
		return 0, unix.EINVAL
	}
	s.writes.Add(1)
	if index == regionConfig {
		s.config.write(int(off), data)
		s.host.irq.setDisabled(s.config.intxDisabled())
		s.setMaster()
	} else {
		s.dev.WriteBAR(int(index), off, data)
	}
	return copy(out, p[:regionLen]), 0
}

// reset is a function-level reset: configuration space is as after power-on, and
// the device too. What the client has mapped and listens to stays.
func (s *Server) reset() (int, unix.Errno) {
	s.resets.Add(1)
	s.config.data = s.config.reset
	s.setMaster()
	s.dev.Reset()
	s.host.irq.setDisabled(false)
	return 0, 0
}

// setMaster follows the command register.
func (s *Server) setMaster() {
	on := s.config.master()
	if s.host.master.Swap(on) && !on {
		s.dev.Quiesce()
	}
}

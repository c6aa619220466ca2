//go:build linux

package vfu

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// FuzzSession sends what the input says: well-framed commands with descriptors
// of all kinds, or bytes as they are. The server must end, and hold nothing.
//
// Each step is a byte that chooses: 0 to 13 a command of that number, 14 bytes as
// they are, 15 the version, in bits 3:0; descriptors in bits 6:4, the No_reply bit
// in bit 7. Then a length and as many bytes.
func FuzzSession(f *testing.F) {
	step := func(op byte, payload []byte) []byte { return append([]byte{op, byte(len(payload))}, payload...) }
	join := func(steps ...[]byte) (all []byte) {
		for _, s := range steps {
			all = append(all, s...)
		}
		return all
	}
	const memory, event = 1 << 4, 2 << 4
	version := step(15, nil)
	f.Add(join(version, step(cmdDMAMap|memory, mapPayload(0x1000, 0x2000, 0, rw)),
		step(cmdRegionWrite, append(words(uint64(doorbell), 0, 16), words(uint64(0x1000), uint64(0x2000))...)),
		step(cmdDMAUnmap, unmapPayload(0x1000, 0x2000, 0))))
	f.Add(join(version, step(cmdSetIRQs|event, irqPayload(setFD, indexINTx, 0, 1)), step(cmdSetIRQs, irqPayload(unmask, indexINTx, 0, 1)),
		step(cmdSetIRQs|3<<4, irqPayload(setFD, indexMSI, 3, 2)), step(cmdSetIRQs, irqPayload(off, indexMSI, 0, 0))))
	f.Add(join(version, step(cmdDMAMap|memory, mapPayload(0, 0x10000, 0, rw)), step(cmdDMAMap|4<<4, mapPayload(0, 0x1000, 0, rw)),
		step(cmdDMAMap|5<<4, mapPayload(0x20000, 0x1000, 0, 1)), step(cmdDMAUnmap, unmapPayload(0, 0, 2)), step(cmdReset|6<<4, nil)))
	f.Add(join(version, step(cmdGetInfo, words(16, 0, 0, 0)), step(cmdGetRegionInfo, words(32, 0, 7, 0, uint64(0), uint64(0))),
		step(cmdGetIRQInfo, words(16, 0, 1, 0)), step(cmdRegionRead, words(uint64(0), 7, 256)),
		step(cmdRegionWrite|0x80, append(words(uint64(4), 7, 2), 6, 4))))
	f.Add(join(step(14, encode(1, cmdVersion, 0, versionPayload("{}"))), step(14|memory, encode(2, cmdDMAMap, 0, mapPayload(0, 0x1000, 0, rw))[:20])))

	mem, _ := ram(f, 4*pageSize)
	unsealed, err := unix.MemfdCreate("unsealed", unix.MFD_CLOEXEC)
	require.NoError(f, err)
	f.Cleanup(func() { unix.Close(unsealed) })
	kick := eventfd(f)
	many := make([]int, maxFDs+3)
	for i := range many {
		many[i] = kick
	}
	kinds := [8][]int{1: {mem}, 2: {kick}, 3: {kick, kick}, 4: {mem, kick}, 5: {unsealed}, 6: many, 7: {mem}}

	f.Fuzz(func(t *testing.T, script []byte) {
		before := openFDs(t)
		c := dial(t, newFake(), &Options{MaxMaps: 16, MaxFiles: 2})
		drained := make(chan struct{})
		go func() {
			defer close(drained)
			_, _ = io.Copy(io.Discard, c.c)
		}()
		for len(script) >= 2 {
			op, n := script[0], min(int(script[1]), len(script)-2)
			payload := script[2 : 2+n]
			script = script[2+n:]
			var flags uint32
			if op&0x80 != 0 {
				flags = flagNoReply
			}
			var b, oob []byte
			switch op & 0xf {
			case 14:
				b = payload
			case 15:
				b = encode(1, cmdVersion, flags, versionPayload("{}"))
			default:
				b = encode(1, uint16(op&0xf), flags, payload)
			}
			if fds := kinds[op>>4&7]; fds != nil && len(b) > 0 {
				oob = unix.UnixRights(fds...)
			}
			if len(b) == 0 {
				continue
			}
			if _, _, err := c.c.WriteMsgUnix(b, oob, nil); err != nil {
				break // the session has ended
			}
		}
		_ = c.c.CloseWrite() // it may have ended
		<-c.done
		<-drained
		c.c.Close()
		require.True(t, c.dev.detached.Load())
		require.Zero(t, c.srv.Stats().Maps)
		require.Zero(t, c.srv.Stats().Files)
		require.Equal(t, before, openFDs(t))
	})
}

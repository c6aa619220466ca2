package pcap

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

// Errors that callers branch on. They are wrapped with the place in the file.
var (
	// ErrFormat means that a file is damaged, or neither pcap nor pcapng.
	ErrFormat = errors.New("not a well-formed pcap or pcapng file")
	// ErrLinkType means that the frames of a file are not Ethernet.
	ErrLinkType = errors.New("not Ethernet")
	// ErrCut means that a frame was not captured whole.
	ErrCut = errors.New("frame cut at capture")
)

// First words of files, as they stand in the file.
const (
	magicMicro   = 0xa1b2c3d4
	magicNano    = 0xa1b23c4d
	magicSection = 0x0a0d0d0a // pcapng section header block, a palindrome
)

// source is what pcapgo's readers have in common.
type source interface {
	ZeroCopyReadPacketData() ([]byte, gopacket.CaptureInfo, error)
	LinkType() layers.LinkType
}

// reader reads the frames of a file, one after the other.
type reader struct {
	source
	n   int // frames read
	fcs int // bytes of FCS at the end of each frame
}

func newReader(r io.Reader) (*reader, error) {
	buf := bufio.NewReaderSize(r, 64<<10)
	head, err := buf.Peek(fileHeaderLen)
	if len(head) < fileHeaderLen {
		if err == io.EOF {
			return nil, fmt.Errorf("pcap: the file has %d bytes, less than any header: %w", len(head), ErrFormat)
		}
		return nil, fmt.Errorf("pcap: read: %w", err)
	}
	f := &reader{}
	var order binary.ByteOrder = binary.LittleEndian
	switch big, little := binary.BigEndian.Uint32(head), binary.LittleEndian.Uint32(head); {
	case big == magicSection:
		options := pcapgo.NgReaderOptions{ErrorOnMismatchingLinkType: true, SkipUnknownVersion: true}
		f.source, err = pcapgo.NewNgReader(buf, options)
	case big == magicMicro || big == magicNano:
		order = binary.BigEndian
		fallthrough
	case little == magicMicro || little == magicNano:
		f.fcs = fcsLen(order.Uint32(head[20:]))
		f.source, err = pcapgo.NewReader(buf)
	case head[0] == 0x1f && head[1] == 0x8b:
		return nil, fmt.Errorf("pcap: the file is compressed: gunzip it first: %w", ErrFormat)
	default:
		return nil, fmt.Errorf("pcap: the file begins with % x: %w", head[:4], ErrFormat)
	}
	if err != nil {
		return nil, fmt.Errorf("pcap: read header: %w: %w", ErrFormat, err)
	}
	if lt := f.LinkType(); lt != layers.LinkTypeEthernet {
		return nil, fmt.Errorf("pcap: the file holds frames of link type %d (%v): capture on an Ethernet interface, not on \"any\": %w", uint16(lt), lt, ErrLinkType)
	}
	return f, nil
}

// fcsLen returns the bytes of FCS that the link-type field of a pcap header
// declares: bit 26 says that the top four bits count them in 16-bit words.
func fcsLen(linkType uint32) int {
	if linkType>>26&1 == 0 {
		return 0
	}
	return int(linkType>>28) * 2
}

// next returns the next frame without FCS, valid until the next call, and its
// stamp. It returns io.EOF after the last.
func (f *reader) next() ([]byte, time.Time, error) {
	frame, info, err := f.ZeroCopyReadPacketData()
	switch {
	case err == io.EOF && info.CaptureLength == 0:
		return nil, time.Time{}, io.EOF
	case errors.Is(err, pcapgo.ErrNgLinkTypeMismatch):
		return nil, time.Time{}, fmt.Errorf("pcap: after frame %d: an interface of another link type: %w", f.n, ErrLinkType)
	case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
		return nil, time.Time{}, fmt.Errorf("pcap: the file ends inside frame %d: %w: %w", f.n+1, ErrFormat, io.ErrUnexpectedEOF)
	case err != nil:
		return nil, time.Time{}, fmt.Errorf("pcap: frame %d: %w: %w", f.n+1, ErrFormat, err)
	}
	f.n++
	if info.CaptureLength < info.Length {
		return nil, time.Time{}, fmt.Errorf("pcap: frame %d: %d of %d bytes: capture again with tcpdump -s 0: %w", f.n, info.CaptureLength, info.Length, ErrCut)
	}
	if len(frame) < f.fcs {
		return nil, time.Time{}, fmt.Errorf("pcap: frame %d: %d bytes with %d of FCS: %w", f.n, len(frame), f.fcs, ErrFormat)
	}
	return frame[:len(frame)-f.fcs], info.Timestamp, nil
}

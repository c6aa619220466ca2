package ravb

import (
	"encoding/binary"

	"github.com/barewire/barewire/mac/internal/etheravb"
	"github.com/barewire/barewire/mac/sim/internal/offload"
)

// append returns the frame as it goes to memory: with what the checksum engine has
// to say behind it. rx.mu is held.
func (m *Model) append(f []byte, ecmr uint32) []byte {
	b := append(m.rx.frame[:0], f...)
	switch {
	case m.cfg.Variant != GbEth:
		if ecmr&etheravb.ECMRRCSC != 0 {
			b = binary.BigEndian.AppendUint16(b, offload.Sum(0).Add(f[14:]).Fold())
		}
	case m.load(etheravb.TOE0)&etheravb.TOE0RPE != 0:
		ip, payload := m.verdict(f)
		b = binary.LittleEndian.AppendUint16(b, ip)
		b = binary.LittleEndian.AppendUint16(b, payload)
	}
	m.rx.frame = b
	return b
}

// verdict is the result of GbEth's checksum engine for the IPv4 header and for the
// payload. A sum that is wrong shows as some value that is neither.
func (m *Model) verdict(f []byte) (ip, payload uint16) {
	const wrong = 0x1234
	ip, payload = etheravb.TOEUnchecked, etheravb.TOEUnchecked
	v := offload.Check(f)
	kinds := m.load(etheravb.TOE2)
	if v.IPv4 && kinds&etheravb.TOEIPv4 != 0 {
		ip = etheravb.TOEGood
		if v.HeaderError {
			return wrong, payload
		}
	}
	if v.HeaderError || v.Bypassed || v.Payload == offload.Unknown || kinds&kindOf(v.IPv6, v.Payload) == 0 {
		return ip, payload
	}
	m.stat.verdicts.Add(1)
	if v.PayloadError {
		return ip, wrong
	}
	return ip, etheravb.TOEGood
}

// kindOf is the bit of TOE1 and TOE2 for a kind of payload.
func kindOf(v6 bool, p offload.Payload) uint32 {
	switch {
	case p == offload.TCP && v6:
		return etheravb.TOETCP6
	case p == offload.TCP:
		return etheravb.TOETCP4
	case p == offload.UDP && v6:
		return etheravb.TOEUDP6
	case p == offload.UDP:
		return etheravb.TOEUDP4
	case p == offload.ICMP && v6:
		return etheravb.TOEICMP6
	case p == offload.ICMP:
		return etheravb.TOEICMP4
	}
	return 0
}

// insert has GbEth's checksum engine work on a frame to be sent. It leaves alone what
// its kinds do not name, fragments, and UDP without a checksum.
func (m *Model) insert(f []byte) {
	if m.cfg.Variant != GbEth || m.load(etheravb.TOE0)&etheravb.TOE0TPE == 0 {
		return
	}
	kinds, inserted := m.load(etheravb.TOE1), false
	if kinds&etheravb.TOEIPv4 != 0 {
		header, _ := offload.Insert(f, offload.Header)
		inserted = !header
	}
	if v := offload.Check(f); !v.HeaderError && !v.Bypassed && kinds&kindOf(v.IPv6, v.Payload) != 0 {
		offload.Insert(f, offload.Full)
		inserted = true
	}
	if inserted {
		m.stat.checksums.Add(1)
	}
}

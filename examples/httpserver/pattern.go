package main

import (
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
)

const (
	maxSize = 1 << 40
	maxSum  = 4 << 30
)

var errSize = errors.New("need a size from 0 to 1T, such as 1000, 64K, 1M or 1G (K, M, G and T are powers of 1024; Ki, Mi, Gi and Ti mean the same)")

// parseSize parses a number of bytes.
func parseSize(s string) (int64, error) {
	number := strings.TrimSuffix(s, "i")
	shift := 0
	if number != "" {
		shift = 10 * (1 + strings.IndexByte("KMGT", number[len(number)-1]))
	}
	if shift > 0 {
		number = number[:len(number)-1]
	} else {
		number = s
	}
	n, err := strconv.ParseUint(number, 10, 63)
	if err != nil || n > maxSize>>shift {
		return 0, errSize
	}
	return int64(n) << shift, nil
}

// fillPattern writes the bytes of a pattern from offset at on, a multiple of 8.
// Each 8 bytes are the little-endian SplitMix64 value of their position and the
// seed, so that lost, repeated and swapped pieces all show.
func fillPattern(b []byte, seed, at uint64) {
	const golden = 0x9e3779b97f4a7c15
	state := seed + at/8*golden
	for len(b) >= 8 {
		state += golden
		binary.LittleEndian.PutUint64(b, mix(state))
		b = b[8:]
	}
	var last [8]byte
	binary.LittleEndian.PutUint64(last[:], mix(state+golden))
	copy(b, last[:])
}

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

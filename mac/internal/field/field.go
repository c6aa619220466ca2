// Package field places values in the bit fields of registers and descriptors. A
// field is given by its mask.
package field

import "math/bits"

// Put places v in the field that mask covers. Bits of v that do not fit are cut
// off.
func Put(mask, v uint32) uint32 { return v << bits.TrailingZeros32(mask) & mask }

// Get takes the field that mask covers out of v.
func Get(mask, v uint32) uint32 { return v & mask >> bits.TrailingZeros32(mask) }

package neta

// crc8 is the table of the CRC with the polynomial x^8 + x^2 + x + 1, most
// significant bit first. It is never written.
var crc8 = func() (t [256]uint8) {
	for i := range t {
		c := uint8(i)
		for range 8 {
			if c&0x80 != 0 {
				c = c<<1 ^ 0x07
			} else {
				c <<= 1
			}
		}
		t[i] = c
	}
	return t
}()

// Hash is the entry of a group address in MulticastTable.
func Hash(a [6]byte) uint8 {
	c := uint8(0)
	for _, b := range a {
		c = crc8[c^b]
	}
	return c
}

package cache

// LineSize is the smallest data cache line of the CPUs in bytes.
func LineSize() int {
	const dminLine = 16 // CTR_EL0.DminLine: log2 of words (Arm ARM, "CTR_EL0")
	return 4 << (cacheType() >> dminLine & 0xf)
}

// cacheType is CTR_EL0.
func cacheType() uint64

//go:noescape
func clean(p *byte, n, line uintptr)

//go:noescape
func cleanInvalidate(p *byte, n, line uintptr)

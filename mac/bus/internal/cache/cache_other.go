//go:build !(linux && arm64)

package cache

// LineSize is 0: a program cannot maintain the cache here.
func LineSize() int { return 0 }

func clean(*byte, uintptr, uintptr) {}

func cleanInvalidate(*byte, uintptr, uintptr) {}

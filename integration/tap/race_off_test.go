//go:build !race

package tap

// slowdown divides the sizes of transfers.
const slowdown = 1

//go:build race

package tap

// slowdown divides the sizes of transfers: the race detector makes them twenty
// times as slow.
const slowdown = 16

//go:build race

package pagepool

const raceEnabled = true

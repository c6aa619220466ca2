package ravb

// SplitFrames has core cut frames into transmit descriptors of n bytes, which no
// frame is long enough for by itself.
func SplitFrames(c *Core, n int) { c.info.Ring.MaxPiece = n }

package sim

// random is a small generator (SplitMix64) whose sequence never changes between
// Go versions, so that a seed names a run for ever.
type random struct{ state uint64 }

func (r *random) seed(s uint64) { r.state = s }

func (r *random) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below returns a number from 0 to n-1.
func (r *random) below(n int) int { return int(r.next() % uint64(n)) }

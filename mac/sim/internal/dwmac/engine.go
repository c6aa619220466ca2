package dwmac

// Engine runs one half of a core, receive or transmit: inside the call that lets
// it go on, or in a goroutine of its own.
type Engine struct {
	pump   func()
	inline bool
	wake   chan struct{}
}

// NewEngine returns an engine whose work is pump, which does all there is to do
// and takes the locks that it needs.
func NewEngine(inline bool, pump func()) *Engine {
	return &Engine{pump: pump, inline: inline, wake: make(chan struct{}, 1)}
}

// Kick has the engine look at its ring. No lock is held.
func (e *Engine) Kick() {
	if e.inline {
		e.pump()
		return
	}
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Run is the engine's goroutine.
func (e *Engine) Run(done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-e.wake:
			e.pump()
		}
	}
}

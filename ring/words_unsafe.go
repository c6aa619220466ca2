package ring

import (
	"fmt"
	"unsafe"

	"github.com/barewire/barewire/pagepool"
)

// NewWords views mem as 32-bit words. It fails when mem is not aligned to 16
// bytes, which every descriptor layout here needs.
func NewWords(mem pagepool.Memory) (*Words, error) {
	b := mem.Bytes()
	if len(b) < 4 {
		return nil, fmt.Errorf("ring: descriptor memory of %d bytes: need at least 4", len(b))
	}
	p := unsafe.Pointer(unsafe.SliceData(b))
	if uintptr(p)%16 != 0 || mem.DeviceAddr()%16 != 0 {
		return nil, fmt.Errorf("ring: descriptor memory at CPU %#x, device %#x: both must be multiples of 16", uintptr(p), mem.DeviceAddr())
	}
	w := &Words{mem: unsafe.Slice((*uint32)(p), len(b)/4)}
	if o, ok := mem.(Watched); ok {
		w.watch = o.DescriptorWatcher()
	}
	return w, nil
}

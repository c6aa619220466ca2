package pagepool

import "reflect"

// heapAlign is the alignment of NewHeap, a CPU page.
const heapAlign = 4096

// NewHeap returns memory on the Go heap for a simulated device that sees it at
// deviceAddr: coherent, zeroed, aligned to 4096 bytes. The race detector watches
// it, which it does not for mapped memory. A size below 0 counts as 0.
func NewHeap(size int, deviceAddr uint64) Memory {
	size = max(size, 0)
	b := make([]byte, size+heapAlign)
	off := -reflect.ValueOf(b).Pointer() & (heapAlign - 1)
	return &hostMemory{b: b[off : int(off)+size : int(off)+size], addr: deviceAddr}
}

// hostMemory is coherent memory of this process.
type hostMemory struct {
	b     []byte
	addr  uint64
	unmap func() error // nil: nothing to do, or done
}

func (m *hostMemory) Bytes() []byte          { return m.b }
func (m *hostMemory) DeviceAddr() uint64     { return m.addr }
func (m *hostMemory) Coherent() bool         { return true }
func (m *hostMemory) SyncForDevice(int, int) {}
func (m *hostMemory) SyncForCPU(int, int)    {}

func (m *hostMemory) Release() error {
	if m.unmap == nil {
		return nil
	}
	unmap := m.unmap
	m.unmap = nil
	return unmap()
}

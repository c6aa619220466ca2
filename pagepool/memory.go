package pagepool

// Memory is one contiguous piece of DMA memory: the same bytes as the CPU and
// as the device see them. A bus hands it out; the pool, the descriptor rings
// and the transmit arena live in it.
//
// Bytes, DeviceAddr and Coherent return the same values for the whole life of
// the memory and may be called from any goroutine. The Sync methods may be
// called from any goroutine, but a range belongs to one owner at a time and
// only the owner syncs it.
type Memory interface {
	// Bytes is the CPU's mapping. It must not be resliced beyond its length.
	Bytes() []byte

	// DeviceAddr is the address (IOVA or physical) at which the device finds
	// Bytes()[0]. The device sees all of Bytes contiguously from there.
	DeviceAddr() uint64

	// Coherent reports whether CPU and device see each other's writes without
	// cache maintenance. When true the Sync methods do nothing and may be
	// left out by a caller on its hot path.
	Coherent() bool

	// SyncForDevice makes what the CPU wrote in Bytes()[off:off+n] visible to
	// the device, and drops the lines of it that the CPU still caches. It comes
	// before the range is given to the device.
	SyncForDevice(off, n int)

	// SyncForCPU makes what the device wrote in Bytes()[off:off+n] visible to
	// the CPU. It comes after the device has given the range back and before
	// the first read.
	SyncForCPU(off, n int)

	// Release returns the memory to its provider. The caller has proved that
	// neither the device nor anybody else still uses it. A second call does
	// nothing.
	Release() error
}

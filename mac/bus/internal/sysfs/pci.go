package sysfs

import (
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/barewire/barewire/mac"
)

// The command and status registers of PCI configuration space (PCI Local Bus
// 3.0, 6.2.2 and 6.2.3).
const (
	commandOffset = 0x04
	// CommandMemory lets the device decode its memory windows.
	CommandMemory = 1 << 1
	// CommandMaster lets the device do DMA and send message interrupts.
	CommandMaster = 1 << 2
	// CommandNoINTx keeps the device from asserting its INTx line.
	CommandNoINTx = 1 << 10
)

// resourceMemory is IORESOURCE_MEM, in the flags of a sysfs resource file.
const resourceMemory = 0x200

// PCIAddress makes the full form of a PCI address: 0000:00:01.0 of 00:01.0. ok
// is false for anything else.
func PCIAddress(s string) (addr string, ok bool) {
	parts := strings.Split(s, ":")
	if len(parts) == 2 {
		parts = append([]string{"0000"}, parts...)
	}
	if len(parts) != 3 {
		return "", false
	}
	slot, function, ok := strings.Cut(parts[2], ".")
	if !ok || len(parts[0]) < 4 || !hex(parts[0], 32) || len(parts[1]) != 2 || !hex(parts[1], 8) ||
		len(slot) != 2 || !hex(slot, 5) || len(function) != 1 || !hex(function, 3) {
		return "", false
	}
	return strings.ToLower(strings.Join(parts, ":")), true
}

func hex(s string, bits int) bool {
	_, err := strconv.ParseUint(s, 16, bits)
	return err == nil && s[0] != '+' && s[0] != '-'
}

// PCIDevice is the sysfs directory of a PCI device.
func PCIDevice(addr string) string { return "/sys/bus/pci/devices/" + addr }

// PCICompatible names a PCI device as a device tree does (IEEE 1275 PCI binding:
// pciVVVV,DDDD), after what its node says, if it has one.
func (r Root) PCICompatible(addr string) []string {
	names := r.Compatible(PCIDevice(addr))
	vendor, err := r.Number(PCIDevice(addr), "vendor")
	if err != nil {
		return names
	}
	device, err := r.Number(PCIDevice(addr), "device")
	if err != nil {
		return names
	}
	return append(names, fmt.Sprintf("pci%x,%x", vendor, device))
}

// BAR is one memory window of a PCI device.
type BAR struct {
	Index       int // 0 to 5
	Start, Size uint64
}

// BARs lists the memory windows of a PCI device that have been given addresses.
func (r Root) BARs(addr string) ([]BAR, error) {
	text, err := r.Text(PCIDevice(addr), "resource")
	if err != nil {
		return nil, err
	}
	var bars []BAR
	for i, l := range strings.Split(text, "\n") {
		if i > 5 {
			break
		}
		var start, last, flags uint64
		if _, err := fmt.Sscanf(l, "%v %v %v", &start, &last, &flags); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", r.Path(PCIDevice(addr), "resource"), i+1, err)
		}
		if flags&resourceMemory != 0 && last > start {
			bars = append(bars, BAR{Index: i, Start: start, Size: last - start + 1})
		}
	}
	return bars, nil
}

// ConfigSpace is a PCI device's configuration space.
type ConfigSpace interface {
	io.ReaderAt
	io.WriterAt
}

// SetCommand sets and clears bits of the PCI command register and returns what
// it reads afterwards. The caller serialises the calls for one device. The
// kernel may set CommandNoINTx at any time, in an interrupt: a clear that
// overtakes it makes a line that is still high fire once more.
func SetCommand(c ConfigSpace, set, clear uint16) (uint16, error) {
	var b [2]byte
	if _, err := c.ReadAt(b[:], commandOffset); err != nil {
		return 0, fmt.Errorf("read PCI command register: %w", err)
	}
	old := binary.LittleEndian.Uint16(b[:])
	if old == 0xffff {
		return 0, fmt.Errorf("PCI command register reads 0xffff: the device is gone or powered off: %w", mac.ErrNoDevice)
	}
	if want := old&^clear | set; want != old {
		binary.LittleEndian.PutUint16(b[:], want)
		if _, err := c.WriteAt(b[:], commandOffset); err != nil {
			return 0, fmt.Errorf("write PCI command register: %w", err)
		}
		if _, err := c.ReadAt(b[:], commandOffset); err != nil {
			return 0, fmt.Errorf("read PCI command register: %w", err)
		}
	}
	now := binary.LittleEndian.Uint16(b[:])
	if kept := set &^ now; kept != 0 {
		return now, fmt.Errorf("PCI command register: bits %#x do not stay set: %w", kept, mac.ErrUnsupported)
	}
	return now, nil
}

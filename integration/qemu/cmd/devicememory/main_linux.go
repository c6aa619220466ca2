// Command devicememory shows on arm64 what memory that the kernel does not own takes:
// aligned words, and nothing else. It is why package mac/bus/internal/dma copies
// frames out of such memory in words.
//
//	devicememory 0x3c000000
//
// maps a page there through /dev/mem as devmem does, and says of some ways of using it
// whether they are possible. Nobody else must use that memory.
package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"

	"golang.org/x/sys/unix"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "devicememory: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("need one argument, a physical address such as 0x3c000000")
	}
	addr, err := strconv.ParseInt(args[0], 0, 64)
	if err != nil {
		return fmt.Errorf("address: %w", err)
	}
	fd, err := unix.Open("/dev/mem", unix.O_RDWR|unix.O_SYNC|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open /dev/mem: %w", err)
	}
	defer unix.Close(fd)
	page, err := unix.Mmap(fd, addr, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map %#x: %w", addr, err)
	}
	defer func() { _ = unix.Munmap(page) }() // the program ends
	plain := make([]byte, len(page))
	for _, way := range []struct {
		name string
		use  func()
	}{
		{"words", func() { copyWords(page, plain); copyWords(plain, page) }},
		{"load at 2", func() { binary.LittleEndian.PutUint32(plain, load(page, 2)) }},
		{"copy of 33 bytes from 1", func() { copy(plain, page[1:34]) }},
		{"copy of 14 bytes to 2", func() { copy(page[2:], plain[:14]) }},
		{"copy of 60 bytes from 0", func() { copy(plain, page[:60]) }},
	} {
		fmt.Printf("%s: %s\n", way.name, try(way.use))
	}
	return nil
}

// try says whether something faults.
func try(f func()) (says string) {
	says = "works"
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() != nil {
			says = "faults"
		}
	}()
	f()
	return says
}

//go:build !linux

package main

import "io"

// beInit returns nil: no kernel but Linux starts a program as /init.
func beInit(io.Writer) (end func()) { return nil }

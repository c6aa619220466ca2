package pagepool

import (
	"reflect"
	"time"
)

func dur(n int) time.Duration { return time.Duration(n) }

// alignment is how far b starts behind a multiple of 4096.
func alignment(b []byte) uintptr { return reflect.ValueOf(b).Pointer() % heapAlign }

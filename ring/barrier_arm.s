#include "textflag.h"

// Go's assembler knows DMB for arm with an MB_ operand; DSB is given as its
// encoding (Arm ARM v7-A A8.8.44: DSB ST is F57FF04E). Cores before ARMv7 do not
// have either: Barewire needs GOARM=7.

// func writeBarrier()
TEXT ·writeBarrier(SB), NOSPLIT, $0-0
	DMB	MB_OSHST
	RET

// func readBarrier()
TEXT ·readBarrier(SB), NOSPLIT, $0-0
	DMB	MB_OSH
	RET

// func fullBarrier()
TEXT ·fullBarrier(SB), NOSPLIT, $0-0
	WORD	$0xf57ff04e
	RET

#include "textflag.h"

// FENCE takes predecessor and successor sets (RISC-V unprivileged ISA, "FENCE"):
// i and o are device input and output, r and w memory. Go's assembler emits only
// "fence iorw, iorw" (0x0ff0000f), which is right for all three.

// func writeBarrier()
TEXT ·writeBarrier(SB), NOSPLIT, $0-0
	FENCE
	RET

// func readBarrier()
TEXT ·readBarrier(SB), NOSPLIT, $0-0
	FENCE
	RET

// func fullBarrier()
TEXT ·fullBarrier(SB), NOSPLIT, $0-0
	FENCE
	RET

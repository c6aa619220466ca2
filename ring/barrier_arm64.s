#include "textflag.h"

// The operand is CRm of DMB and DSB (Arm ARM, "DMB", "DSB"): 2 is OSHST, stores
// of the outer-shareable domain; 1 is OSHLD, loads; 14 is ST, stores of the full
// system.

// func writeBarrier()
TEXT ·writeBarrier(SB), NOSPLIT, $0-0
	DMB $2
	RET

// func readBarrier()
TEXT ·readBarrier(SB), NOSPLIT, $0-0
	DMB $1
	RET

// func fullBarrier()
TEXT ·fullBarrier(SB), NOSPLIT, $0-0
	DSB $14
	RET

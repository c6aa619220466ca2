#include "textflag.h"

// Operations by address work on the line that holds it (Arm ARM, "DC CVAC", "DC
// CIVAC"). The operand 15 of DSB is SY: they have finished for the full system.

// func cacheType() uint64
TEXT ·cacheType(SB), NOSPLIT, $0-8
	MRS	CTR_EL0, R0
	MOVD	R0, ret+0(FP)
	RET

// func clean(p *byte, n, line uintptr)
TEXT ·clean(SB), NOSPLIT, $0-24
	MOVD	p+0(FP), R0
	MOVD	n+8(FP), R1
	MOVD	line+16(FP), R2
	ADD	R0, R1, R1
	SUB	$1, R2, R3
	BIC	R3, R0, R0
loop:
	DC	CVAC, R0
	ADD	R2, R0, R0
	CMP	R1, R0
	BLO	loop
	DSB	$15
	RET

// The barrier before the loop keeps the operations behind the reads that said that
// the device is done.
//
// func cleanInvalidate(p *byte, n, line uintptr)
TEXT ·cleanInvalidate(SB), NOSPLIT, $0-24
	MOVD	p+0(FP), R0
	MOVD	n+8(FP), R1
	MOVD	line+16(FP), R2
	ADD	R0, R1, R1
	SUB	$1, R2, R3
	BIC	R3, R0, R0
	DSB	$15
loop:
	DC	CIVAC, R0
	ADD	R2, R0, R0
	CMP	R1, R0
	BLO	loop
	DSB	$15
	RET

#include "textflag.h"

// func fullBarrier()
TEXT ·fullBarrier(SB), NOSPLIT, $0-0
	SFENCE
	RET

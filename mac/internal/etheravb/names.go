package etheravb

import "fmt"

// RegName names the register at offset off for traces. An offset that the map
// does not know is printed as a number.
func RegName(off uint32) string {
	if off >= CDAR(0) && off < CDAR(TableEntries) && off%4 == 0 {
		return fmt.Sprintf("CDAR%d", (off-CDAR(0))/4)
	}
	if name, ok := names[off]; ok {
		return name
	}
	return fmt.Sprintf("0x%04x", off)
}

// names is never written.
var names = map[uint32]string{
	CCC: "CCC", DBAT: "DBAT", DLR: "DLR", CSR: "CSR", ESR: "ESR", APSR: "APSR", RCR: "RCR", RPC: "RPC", RTC: "RTC",
	TGC: "TGC", TCCR: "TCCR", TSR: "TSR",
	DIC: "DIC", DIS: "DIS", EIC: "EIC", EIS: "EIS", RIC0: "RIC0", RIS0: "RIS0", RIC1: "RIC1", RIS1: "RIS1",
	RIC2: "RIC2", RIS2: "RIS2", TIC: "TIC", TIS: "TIS", ISS: "ISS", CIE: "CIE", DIL: "DIL",
	RIE0: "RIE0", RID0: "RID0", RIE2: "RIE2", RID2: "RID2", TIE: "TIE", TID: "TID",
	GCCR: "GCCR", GTI: "GTI", GIC: "GIC", GIS: "GIS", GCT0: "GCT0", GIE: "GIE", GID: "GID",
	ECMR: "ECMR", RFLR: "RFLR", ECSR: "ECSR", ECSIPR: "ECSIPR", PIR: "PIR", PSR: "PSR", PIPR: "PIPR",
	CXR31: "CXR31", CXR35: "CXR35", MPR: "MPR", PFTCR: "PFTCR", PFRCR: "PFRCR", GECMR: "GECMR", MAHR: "MAHR", MALR: "MALR",
	TROCR: "TROCR", CXR41: "CXR41", CXR42: "CXR42", CEFCR: "CEFCR", FRECR: "FRECR", TSFRCR: "TSFRCR",
	TLFRCR: "TLFRCR", RFCR: "RFCR", MAFCR: "MAFCR",
	TOE0: "TOE_CSR0", TOE1: "TOE_CSR1", TOE2: "TOE_CSR2",
}

package neta

import "fmt"

// Windows of the buffer manager behind a port's registers, as the model and
// traces number them.
const (
	BMOffset   uint32 = 0x8000
	BPPIOffset uint32 = 0x10_0000
)

// RegName names the register at offset off for traces: "GMAC_Control0",
// "RXQ0_Update". An offset that the map does not know is printed as a number.
func RegName(off uint32) string {
	if off >= BPPIOffset {
		return fmt.Sprintf("BPPI_Pool%d", (off-BPPIOffset)/PoolStride)
	}
	for _, b := range blocks {
		if i := (off - b.base) / b.stride; off >= b.base && i < b.count && (off-b.base)%b.stride == 0 {
			return fmt.Sprintf(b.format, i)
		}
	}
	if name, ok := names[off]; ok {
		return name
	}
	return fmt.Sprintf("0x%04x", off)
}

// The tables are never written.

var blocks = []struct {
	base, stride, count uint32
	format              string
}{
	{RXConfig(0), 4, MaxQueues, "RXQ%d_Config"},
	{RXBase(0), 4, MaxQueues, "RXQ%d_Base"},
	{RXRingSize(0), 4, MaxQueues, "RXQ%d_Size"},
	{RXThreshold(0), 4, MaxQueues, "RXQ%d_Threshold"},
	{RXQStatus(0), 4, MaxQueues, "RXQ%d_Status"},
	{RXUpdate(0), 4, MaxQueues, "RXQ%d_Update"},
	{RXTime(0), 4, MaxQueues, "RXQ%d_Time"},
	{PoolSize(0), 4, MaxPools, "Pool%d_BufferSize"},
	{WindowBase(0), 8, MaxWindows, "Window%d_Base"},
	{WindowSpan(0), 8, MaxWindows, "Window%d_Size"},
	{WindowRemap(0), 4, RemapWindows, "Window%d_Remap"},
	{CPUMap(0), 4, MaxCPUs, "CPU%d_QueueMap"},
	{TXBase(0), 4, MaxQueues, "TXQ%d_Base"},
	{TXRingSize(0), 4, MaxQueues, "TXQ%d_Size"},
	{TXQStatus(0), 4, MaxQueues, "TXQ%d_Status"},
	{TXUpdate(0), 4, MaxQueues, "TXQ%d_Update"},
	{TokenCount(0), 0x10, MaxQueues, "TXQ%d_TokenCount"},
	{TokenConfig(0), 0x10, MaxQueues, "TXQ%d_TokenConfig"},
	{TokenSize(0), 4, MaxQueues, "TXQ%d_TokenSize"},
	{SpecialTable, 4, 64, "SpecialMulticast%d"},
	{MulticastTable, 4, 64, "OtherMulticast%d"},
	{UnicastTable, 4, 4, "Unicast%d"},
	{MIB, 4, 32, "MIB%d"},
	{BMOffset + BMPoolBase(0), 0x10, MaxPools, "BM_Pool%d_Base"},
	{BMOffset + BMPoolRead(0), 0x10, MaxPools, "BM_Pool%d_Read"},
	{BMOffset + BMPoolWrite(0), 0x10, MaxPools, "BM_Pool%d_Write"},
	{BMOffset + BMPoolSize(0), 0x10, MaxPools, "BM_Pool%d_Size"},
	{BMOffset + 0x08, 4, 2, "BM_XBar%d"},
}

var names = map[uint32]string{
	RXDMAReset: "RX_DMAReset", TXDMAReset: "TX_DMAReset",
	PHYAddr: "PHYAddress", SMI: "SMI", MBUSRetry: "MBUS_Retry",
	UnitCause: "Unit_Cause", UnitMask: "Unit_Mask", ErrorAddr: "Unit_ErrorAddress", UnitControl: "Unit_Control",
	WindowEnable: "Window_Enable", WindowProtect: "Window_Protect",
	PortConfig: "Port_Config", PortConfigExt: "Port_ConfigExt", VLANType: "Port_VLANType",
	MACLow: "MAC_Low", MACHigh: "MAC_High", SDMAConfig: "SDMA_Config", VLANPriority: "Port_VLANPriority",
	PortStatus: "Port_Status", TXCommandReg: "TXQ_Command", MinFrame: "Port_MinFrame",
	Discarded: "Port_Discarded", Overrun: "Port_Overrun", TypePriority: "Port_TypePriority", TXCommand1: "TXQ_Command1",
	ClockDivider: "GMAC_ClockDivider", Acceleration: "Port_Acceleration", BMAddress: "Port_BMAddress",
	Version: "Port_Version", RXCommand: "RXQ_Command",
	Cause: "Cause", CauseMask: "Cause_Mask", OldCause: "OldCause", OldMask: "OldCause_Mask",
	MiscCause: "Misc_Cause", MiscMask: "Misc_Mask", InterruptEnable: "Interrupt_Enable",
	GMAC0: "GMAC_Control0", GMAC1: "GMAC_Control1", GMAC2: "GMAC_Control2", AN: "GMAC_AN", GMACStat: "GMAC_Status",
	GMAC4: "GMAC_Control4", LPI1: "GMAC_LPI1", PortMTU: "TX_MTU", PortTokenSize: "TX_TokenSize",
	BMOffset + BMConfig: "BM_Config", BMOffset + BMCommand: "BM_Command", BMOffset + BMCause: "BM_Cause", BMOffset + BMMask: "BM_Mask",
}

/*
 * QEMU's board has no MBus, but the kernel is built with its driver, which knows of
 * no memory then: all of it is behind target 0, and the port takes one window over
 * everything.
 */
#include <linux/types.h>
#include <linux/errno.h>
#include <linux/mbus.h>

static inline int board_dram_window(phys_addr_t address, u8 *target, u8 *attribute)
{
	*target = 0;
	*attribute = 0x0e;
	return 0;
}
#define mvebu_mbus_get_dram_win_info board_dram_window
#define mv_mbus_dram_info() ((const struct mbus_dram_target_info *)NULL)

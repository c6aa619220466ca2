package sun8i

import "github.com/barewire/barewire/mac/internal/mii"

// wakePHYs takes the PHYs out of power-down: after a warm reboot they can be in
// it, and then the core's reset never ends. MDIO works meanwhile. That it does not
// is no reason to give up: the reset that follows shows.
func (c *Core) wakePHYs() {
	for _, phy := range c.glue.phys() {
		v, err := c.mdio.Read(phy, mii.BMCR)
		if err != nil {
			return
		}
		if v == 0xFFFF || v&(mii.BMCRPowerDown|mii.BMCRIsolate) == 0 {
			continue
		}
		v &^= mii.BMCRPowerDown | mii.BMCRIsolate
		if v&mii.BMCRANEnable != 0 {
			v |= mii.BMCRANRestart
		}
		if c.mdio.Write(phy, mii.BMCR, v) != nil {
			return
		}
	}
}

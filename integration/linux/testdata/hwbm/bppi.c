/*
 * The aperture of the buffer manager's BPPI as a pool of memory, in a BAR. The
 * kernel's driver for such memory claims it before the PCI host does.
 */
#include <linux/genalloc.h>
#include <linux/io.h>
#include <linux/log2.h>
#include <linux/mod_devicetable.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/sizes.h>

static int bppi_probe(struct platform_device *pdev)
{
	struct resource *aperture = platform_get_resource(pdev, IORESOURCE_MEM, 0);
	struct gen_pool *pool;
	void __iomem *base;

	if (!aperture)
		return -EINVAL;
	base = devm_ioremap(&pdev->dev, aperture->start, resource_size(aperture));
	if (!base)
		return -ENOMEM;
	pool = devm_gen_pool_create(&pdev->dev, ilog2(SZ_4K), NUMA_NO_NODE, NULL);
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	return gen_pool_add_virt(pool, (unsigned long)base, aperture->start, resource_size(aperture), NUMA_NO_NODE);
}

static const struct of_device_id bppi_match[] = { { .compatible = "test,bppi" }, {} };

static struct platform_driver bppi_driver = {
	.probe = bppi_probe,
	.driver = { .name = "bppi", .of_match_table = bppi_match },
};
module_platform_driver(bppi_driver);

MODULE_DESCRIPTION("BPPI of a buffer manager in a BAR");
MODULE_LICENSE("Dual BSD/GPL");

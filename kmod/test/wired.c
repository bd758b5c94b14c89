// SPDX-License-Identifier: GPL-2.0
/*
 * For tests: a chip of eight lines that may be driven in any context, as those of a controller in
 * the machine itself may, and gpio-sim's may not. Each even line is wired to the odd one after it,
 * whose edges interrupt. That of the last line is handled in a thread of the chip's, as those of an
 * expander on a bus are.
 */

#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/gpio/driver.h>
#include <linux/irq.h>
#include <linux/irq_work.h>
#include <linux/irqdomain.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#define LINES 8
#define NESTED (LINES - 1)

static DEFINE_RAW_SPINLOCK(lock); /* of all bits below */
static unsigned long levels;
static unsigned long inputs = GENMASK(LINES - 1, 0);
static unsigned long rose;
static unsigned long fell;
static unsigned long rising;
static unsigned long falling;
static unsigned long listening;

static struct platform_device *device;
static struct irq_domain *domain;

static void tell_nested(struct work_struct *work)
{
	handle_nested_irq(irq_find_mapping(domain, NESTED));
}

static DECLARE_WORK(nested, tell_nested);

static void tell(void)
{
	unsigned long edges;
	unsigned int line;

	raw_spin_lock(&lock);
	edges = ((rose & rising) | (fell & falling)) & listening;
	rose = 0;
	fell = 0;
	raw_spin_unlock(&lock);
	if (__test_and_clear_bit(NESTED, &edges))
		schedule_work(&nested);
	for_each_set_bit(line, &edges, LINES)
		generic_handle_domain_irq(domain, line);
}

static void tell_there(void *none)
{
	tell();
}

static void tell_here(struct irq_work *work)
{
	tell();
}

/* In an interrupt itself, on PREEMPT_RT, too. */
static call_single_data_t there = CSD_INIT(tell_there, NULL);
static struct irq_work here = IRQ_WORK_INIT_HARD(tell_here);

/*
 * On another CPU: whoever drives lines with interrupts off is seen all the same. Called again
 * before it began, it tells of both.
 */
static void tell_soon(void)
{
	unsigned int cpu = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());

	if (cpu < nr_cpu_ids)
		smp_call_function_single_async(cpu, &there);
	else
		irq_work_queue(&here);
}

static void set(struct gpio_chip *chip, unsigned int line, int level)
{
	unsigned int end = line | 1;
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	__assign_bit(line, &levels, level);
	if (end != line && test_bit(end, &levels) != !!level) {
		__assign_bit(end, &levels, level);
		__set_bit(end, level ? &rose : &fell);
		tell_soon();
	}
	raw_spin_unlock_irqrestore(&lock, flags);
}

static int get(struct gpio_chip *chip, unsigned int line)
{
	return test_bit(line, &levels);
}

static void set_direction(unsigned int line, bool input)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	__assign_bit(line, &inputs, input);
	raw_spin_unlock_irqrestore(&lock, flags);
}

static int get_direction(struct gpio_chip *chip, unsigned int line)
{
	return test_bit(line, &inputs) ? GPIO_LINE_DIRECTION_IN : GPIO_LINE_DIRECTION_OUT;
}

static int direction_input(struct gpio_chip *chip, unsigned int line)
{
	set_direction(line, true);
	return 0;
}

static int direction_output(struct gpio_chip *chip, unsigned int line, int level)
{
	set(chip, line, level);
	set_direction(line, false);
	return 0;
}

static int to_irq(struct gpio_chip *chip, unsigned int line)
{
	return line & 1 ? irq_create_mapping(domain, line) : -ENXIO;
}

static struct gpio_chip chip = {
	.label = "wired",
	.owner = THIS_MODULE,
	.base = -1,
	.ngpio = LINES,
	.get_direction = get_direction,
	.direction_input = direction_input,
	.direction_output = direction_output,
	.get = get,
	.set = set,
	.to_irq = to_irq,
};

static void listen(struct irq_data *data, bool on)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	__assign_bit(irqd_to_hwirq(data), &listening, on);
	raw_spin_unlock_irqrestore(&lock, flags);
}

static void mask(struct irq_data *data)
{
	listen(data, false);
}

static void unmask(struct irq_data *data)
{
	listen(data, true);
}

static int set_type(struct irq_data *data, unsigned int type)
{
	unsigned long flags;

	if (type & ~IRQ_TYPE_EDGE_BOTH)
		return -EINVAL;
	raw_spin_lock_irqsave(&lock, flags);
	__assign_bit(irqd_to_hwirq(data), &rising, type & IRQ_TYPE_EDGE_RISING);
	__assign_bit(irqd_to_hwirq(data), &falling, type & IRQ_TYPE_EDGE_FALLING);
	raw_spin_unlock_irqrestore(&lock, flags);
	return 0;
}

static struct irq_chip interrupts = {
	.name = "wired",
	.irq_mask = mask,
	.irq_unmask = unmask,
	.irq_set_type = set_type,
};

static int map(struct irq_domain *of, unsigned int irq, irq_hw_number_t line)
{
	irq_set_chip_and_handler(irq, &interrupts, handle_simple_irq);
	irq_set_nested_thread(irq, line == NESTED);
	irq_set_noprobe(irq);
	return 0;
}

static const struct irq_domain_ops ops = { .map = map };

static void forget_interrupts(void)
{
	unsigned int line;

	kick_all_cpus_sync();
	irq_work_sync(&here);
	cancel_work_sync(&nested);
	for (line = 1; line < LINES; line += 2)
		irq_dispose_mapping(irq_find_mapping(domain, line));
	irq_domain_remove(domain);
}

static int __init begin(void)
{
	int error;

	/* As gpio-sim names its own: figures of them are told as simulated. */
	device = platform_device_register_simple("gpio-sim.wired", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(device))
		return PTR_ERR(device);
	domain = irq_domain_create_linear(NULL, LINES, &ops, NULL);
	if (!domain) {
		error = -ENOMEM;
		goto unregister;
	}
	chip.parent = &device->dev;
	error = gpiochip_add_data(&chip, NULL);
	if (!error)
		return 0;
	forget_interrupts();
unregister:
	platform_device_unregister(device);
	return error;
}

static void __exit end(void)
{
	gpiochip_remove(&chip);
	forget_interrupts();
	platform_device_unregister(device);
}

module_init(begin);
module_exit(end);

MODULE_DESCRIPTION("Wired lines that may be driven in any context, for tests");
MODULE_LICENSE("GPL");

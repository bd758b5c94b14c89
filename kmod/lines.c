// SPDX-License-Identifier: GPL-2.0
/* Lines of any chip, taken through the descriptor interface. */

#include <linux/device.h>
#include <linux/err.h>
#include <linux/gpio/driver.h>
#include <linux/gpio/machine.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "lines.h"

/* The first lookup table of a device is the only one that is looked at. */
static DEFINE_MUTEX(one_table);

struct search {
	const char *label;
	unsigned int chips;
	unsigned int lines;
};

static void look_at(struct search *search, const struct gpio_chip *chip)
{
	if (!chip->label || strcmp(chip->label, search->label))
		return;
	search->chips++;
	search->lines = chip->ngpio;
}

#ifdef ONTICK_HAS_CONST_MATCH
static int look(struct gpio_chip *chip, const void *data)
{
	look_at(*(struct search * const *)data, chip);
	return 0;
}
#else
static int look(struct gpio_chip *chip, void *data)
{
	look_at(*(struct search **)data, chip);
	return 0;
}
#endif

/* Looks at all chips; none matches, so none is held. */
static void look_at_chips(struct search *search)
{
#ifdef ONTICK_HAS_GPIO_DEVICE_FIND
	gpio_device_find(&search, look);
#else
	gpiochip_find(&search, look);
#endif
}

static int find(const struct ontick_line *line)
{
	struct search search = { .label = line->chip };

	look_at_chips(&search);
	if (!search.chips)
		return -ENODEV;
	/* The kernel would take the first of them, whichever that is. */
	if (search.chips > 1)
		return -ENOTUNIQ;
	return line->offset < search.lines ? 0 : -ERANGE;
}

static struct gpio_desc *look_up(struct device *device, const struct ontick_line *line,
				 enum gpiod_flags how)
{
	struct gpiod_lookup_table *table;
	struct gpio_desc *desc;

	table = kzalloc(struct_size(table, table, 2), GFP_KERNEL);
	if (!table)
		return ERR_PTR(-ENOMEM);
	table->dev_id = dev_name(device);
	table->table[0].key = line->chip;
	table->table[0].chip_hwnum = line->offset;
	if (line->flags & ONTICK_LINE_ACTIVE_LOW)
		table->table[0].flags = GPIO_ACTIVE_LOW;

	mutex_lock(&one_table);
	gpiod_add_lookup_table(table);
	desc = gpiod_get(device, NULL, how);
	gpiod_remove_lookup_table(table);
	mutex_unlock(&one_table);
	kfree(table);
	/* The chip went since it was found. */
	return desc == ERR_PTR(-EPROBE_DEFER) ? ERR_PTR(-ENODEV) : desc;
}

/* Whether what user space says can be a line. */
int ontick_line_check(const struct ontick_line *line, bool output)
{
	if (!memchr(line->chip, 0, sizeof(line->chip)) || !line->chip[0])
		return -EINVAL;
	if (line->flags & ~ONTICK_LINE_ACTIVE_LOW || line->reserved)
		return -EINVAL;
	/* The descriptor interface has the highest number for something else. */
	if (line->offset >= U16_MAX)
		return -ERANGE;
	return line->end > (output ? ONTICK_END_INPUT : ONTICK_END_KEEP) ? -EINVAL : 0;
}

/* Takes a line that has been checked. */
struct gpio_desc *ontick_line_get(struct device *device, const struct ontick_line *line,
				  enum gpiod_flags how)
{
	int error = find(line);

	return error ? ERR_PTR(error) : look_up(device, line, how);
}

/* Leaves a line as it should be left. */
void ontick_line_put(struct gpio_desc *desc, const struct ontick_line *line)
{
	switch (line->end) {
	case ONTICK_END_INACTIVE:
	case ONTICK_END_ACTIVE:
		gpiod_set_value_cansleep(desc, line->end == ONTICK_END_ACTIVE);
		break;
	case ONTICK_END_INPUT:
		gpiod_direction_input(desc);
		break;
	}
	gpiod_put(desc);
}

int ontick_line_read(struct gpio_desc *desc, bool sleeps)
{
	return sleeps ? gpiod_get_value_cansleep(desc) : gpiod_get_value(desc);
}

/* Older kernels do not tell that a chip has gone. */
int ontick_line_write(struct gpio_desc *desc, bool sleeps, bool active)
{
#ifdef ONTICK_HAS_WRITE_STATUS
	return sleeps ? gpiod_set_value_cansleep(desc, active) : gpiod_set_value(desc, active);
#else
	if (sleeps)
		gpiod_set_value_cansleep(desc, active);
	else
		gpiod_set_value(desc, active);
	return 0;
#endif
}

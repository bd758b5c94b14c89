/* SPDX-License-Identifier: GPL-2.0 */
#ifndef ONTICK_LINES_H
#define ONTICK_LINES_H

#include <linux/gpio/consumer.h>

#include "uapi/ontick.h"

struct device;

int ontick_line_check(const struct ontick_line *line, bool output);
struct gpio_desc *ontick_line_get(struct device *device, const struct ontick_line *line,
				  enum gpiod_flags how);
void ontick_line_put(struct gpio_desc *desc, const struct ontick_line *line);
int ontick_line_read(struct gpio_desc *desc, bool sleeps);
int ontick_line_write(struct gpio_desc *desc, bool sleeps, bool active);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef ONTICK_HISTOGRAM_H
#define ONTICK_HISTOGRAM_H

#include <linux/spinlock.h>
#include <linux/types.h>

#include "uapi/ontick.h"

/**
 * struct ontick_histogram - values in ns, added in any context
 * @lock: of all that follows
 * @count: values
 * @missed: values that there should have been
 * @min_ns: least
 * @max_ns: largest
 * @sum_ns: of all
 * @cells: see ONTICK_CELLS
 */
struct ontick_histogram {
	raw_spinlock_t lock; /* of the whole */
	u64 count;
	u64 missed;
	u64 min_ns;
	u64 max_ns;
	u64 sum_ns;
	u64 cells[ONTICK_CELLS];
};

void ontick_histogram_init(struct ontick_histogram *histogram);
void ontick_histogram_clear(struct ontick_histogram *histogram);
void ontick_histogram_add(struct ontick_histogram *histogram, u64 ns, u64 missed);
void ontick_histogram_read(struct ontick_histogram *histogram, struct ontick_result *result,
			   u64 *cells);

#endif

// SPDX-License-Identifier: GPL-2.0
/* What was recorded: as fine as a nanosecond near 0, and 1/32 of the value above. */

#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "histogram.h"

#define OCTAVE ONTICK_CELLS_PER_OCTAVE

static unsigned int cell_of(u64 ns)
{
	unsigned int shift;

	if (ns < OCTAVE)
		return ns;
	shift = ilog2(ns) - ilog2(OCTAVE);
	/* The first of them stand for themselves, as if at shift -1. */
	return min_t(u64, shift * OCTAVE + (ns >> shift), ONTICK_CELLS - 1);
}

void ontick_histogram_init(struct ontick_histogram *histogram)
{
	raw_spin_lock_init(&histogram->lock);
}

void ontick_histogram_clear(struct ontick_histogram *histogram)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&histogram->lock, flags);
	histogram->count = 0;
	histogram->missed = 0;
	histogram->min_ns = 0;
	histogram->max_ns = 0;
	histogram->sum_ns = 0;
	memset(histogram->cells, 0, sizeof(histogram->cells));
	raw_spin_unlock_irqrestore(&histogram->lock, flags);
}

/* Before this value so many others were missed. */
void ontick_histogram_add(struct ontick_histogram *histogram, u64 ns, u64 missed)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&histogram->lock, flags);
	histogram->min_ns = histogram->count ? min(histogram->min_ns, ns) : ns;
	histogram->max_ns = max(histogram->max_ns, ns);
	histogram->sum_ns += ns;
	histogram->count++;
	histogram->missed += missed;
	histogram->cells[cell_of(ns)]++;
	raw_spin_unlock_irqrestore(&histogram->lock, flags);
}

/* @cells has room for ONTICK_CELLS of them, or is NULL. */
void ontick_histogram_read(struct ontick_histogram *histogram, struct ontick_result *result,
			   u64 *cells)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&histogram->lock, flags);
	result->count = histogram->count;
	result->missed = histogram->missed;
	result->min_ns = histogram->min_ns;
	result->max_ns = histogram->max_ns;
	result->sum_ns = histogram->sum_ns;
	if (cells)
		memcpy(cells, histogram->cells, sizeof(histogram->cells));
	raw_spin_unlock_irqrestore(&histogram->lock, flags);
}

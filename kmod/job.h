/* SPDX-License-Identifier: GPL-2.0 */
#ifndef ONTICK_JOB_H
#define ONTICK_JOB_H

#include <linux/completion.h>
#include <linux/types.h>

#include "histogram.h"
#include "uapi/ontick.h"

struct device;
struct ontick_job;
struct task_struct;

/**
 * struct ontick_job_ops - what a kind of job does
 * @start: begins; nothing of an earlier start is left
 * @stop: ends what was started, also if it has ended by itself; waits for that
 * @free: gives the lines back, and the memory
 * @read: what read(2) does; may be NULL
 *
 * All but @read are called one at a time.
 */
struct ontick_job_ops {
	int (*start)(struct ontick_job *job);
	void (*stop)(struct ontick_job *job);
	void (*free)(struct ontick_job *job);
	ssize_t (*read)(struct ontick_job *job, char __user *to, size_t size, bool wait);
};

/**
 * struct ontick_job - what is the same in all of them
 * @ops: of its kind
 * @histogram: what it records
 * @state: enum ontick_state
 * @error: why it ended before its time, or 0; negative
 * @irq: its interrupt, or 0
 * @ended: it is not running
 */
struct ontick_job {
	const struct ontick_job_ops *ops;
	struct ontick_histogram histogram;
	u32 state;
	int error;
	unsigned int irq;
	struct completion ended;
};

void ontick_job_init(struct ontick_job *job, const struct ontick_job_ops *ops);
int ontick_job_start(struct ontick_job *job);
void ontick_job_stop(struct ontick_job *job);
void ontick_job_free(struct ontick_job *job);
u32 ontick_job_state(struct ontick_job *job);
void ontick_job_end(struct ontick_job *job, int error);
int ontick_job_result(struct ontick_job *job, struct ontick_result *result);

int ontick_placement_check(s32 cpu, u32 priority);
int ontick_set_priority(struct task_struct *task, u32 priority);

struct ontick_job *ontick_train_new(struct device *device, const struct ontick_train *plan);
struct ontick_job *ontick_response_new(struct device *device, const struct ontick_response *plan);

#endif

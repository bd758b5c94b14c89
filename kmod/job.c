// SPDX-License-Identifier: GPL-2.0
/* A job's life, whatever it does. */

#include <linux/cpumask.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <uapi/linux/sched/types.h>

#include "job.h"

void ontick_job_init(struct ontick_job *job, const struct ontick_job_ops *ops)
{
	job->ops = ops;
	job->state = ONTICK_STATE_READY;
	ontick_histogram_init(&job->histogram);
	init_completion(&job->ended);
}

int ontick_job_start(struct ontick_job *job)
{
	int error;

	if (job->state == ONTICK_STATE_RUNNING)
		return -EBUSY;
	ontick_job_stop(job);
	ontick_histogram_clear(&job->histogram);
	reinit_completion(&job->ended);
	job->error = 0;
	/* It may end at once. */
	job->state = ONTICK_STATE_RUNNING;
	error = job->ops->start(job);
	if (error)
		ontick_job_end(job, error);
	return error;
}

void ontick_job_stop(struct ontick_job *job)
{
	if (job->state == ONTICK_STATE_READY)
		return;
	job->ops->stop(job);
	ontick_job_end(job, 0);
}

void ontick_job_free(struct ontick_job *job)
{
	ontick_job_stop(job);
	job->ops->free(job);
}

/* By the job itself, or once that has been stopped. Not in hard interrupts. */
void ontick_job_end(struct ontick_job *job, int error)
{
	if (READ_ONCE(job->state) != ONTICK_STATE_RUNNING)
		return;
	/* An answer that failed has left its own. */
	if (error)
		WRITE_ONCE(job->error, error);
	/* Pairs with ontick_job_state(): who sees the end sees the reason. */
	smp_store_release(&job->state, ONTICK_STATE_ENDED);
	complete_all(&job->ended);
}

u32 ontick_job_state(struct ontick_job *job)
{
	/* Pairs with ontick_job_end(). */
	return smp_load_acquire(&job->state);
}

int ontick_job_result(struct ontick_job *job, struct ontick_result *result)
{
	u64 __user *to = u64_to_user_ptr(result->cells);
	u64 *cells = NULL;
	int error = 0;

	if (to) {
		cells = kcalloc(ONTICK_CELLS, sizeof(*cells), GFP_KERNEL);
		if (!cells)
			return -ENOMEM;
	}
	result->state = ontick_job_state(job);
	result->error = -READ_ONCE(job->error);
	result->irq = job->irq;
	ontick_histogram_read(&job->histogram, result, cells);
	if (cells && copy_to_user(to, cells, ONTICK_CELLS * sizeof(*cells)))
		error = -EFAULT;
	kfree(cells);
	return error;
}

int ontick_placement_check(s32 cpu, u32 priority)
{
	if (priority >= MAX_RT_PRIO || cpu < -1)
		return -EINVAL;
	if (cpu >= 0 && (cpu >= nr_cpu_ids || !cpu_online(cpu)))
		return -EINVAL;
	return 0;
}

int ontick_set_priority(struct task_struct *task, u32 priority)
{
	struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = priority ? SCHED_FIFO : SCHED_NORMAL,
		.sched_priority = priority,
	};

	return sched_setattr_nocheck(task, &attr);
}

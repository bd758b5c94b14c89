// SPDX-License-Identifier: GPL-2.0
/* A train of pulses, made by a kernel thread. */

#include <linux/delay.h>
#include <linux/err.h>
#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/kfifo.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "job.h"
#include "lines.h"

/* Pulses that may wait to be read. */
#define WAITING 1024
/* udelay() is made for short times. */
#define CHUNK_NS (500 * NSEC_PER_USEC)

/**
 * struct train - one job
 * @job: what it has in common with others
 * @plan: what user space wants
 * @line: what is driven
 * @sleeps: driving it may sleep
 * @thread: makes the pulses; NULL: there is none
 * @next_ns: when the next one is due
 * @late: the last one began without a rest before it
 * @lost: pulses that found no room in @pulses since the last one that did
 * @pulses: what can be read
 * @readable: woken when something can be, and at the end
 * @reading: one reader at a time
 */
struct train {
	struct ontick_job job;
	struct ontick_train plan;
	struct gpio_desc *line;
	bool sleeps;
	struct task_struct *thread;
	u64 next_ns;
	bool late;
	u64 lost;
	DECLARE_KFIFO(pulses, struct ontick_pulse, WAITING);
	wait_queue_head_t readable;
	struct mutex reading; /* of pulses */
};

static struct train *of(struct ontick_job *job)
{
	return container_of(job, struct train, job);
}

/* @in_pulse: nothing ends it early. */
static void sleep_until(u64 due_ns, bool in_pulse)
{
	ktime_t due = ns_to_ktime(due_ns);

	while (ktime_get_ns() < due_ns) {
		set_current_state(TASK_IDLE);
		if (!in_pulse && kthread_should_stop())
			break;
		schedule_hrtimeout(&due, HRTIMER_MODE_ABS);
	}
	__set_current_state(TASK_RUNNING);
}

static void delay(u64 ns)
{
	for (; ns > CHUNK_NS; ns -= CHUNK_NS)
		udelay(CHUNK_NS / NSEC_PER_USEC);
	udelay((unsigned long)ns / NSEC_PER_USEC);
	ndelay((unsigned long)ns % NSEC_PER_USEC);
}

static void hold(const struct train *train, u64 rose_ns)
{
	u64 width_ns = train->plan.width_ns;
	unsigned long us;

	switch (train->plan.by) {
	case ONTICK_BY_UDELAY:
		delay(width_ns);
		break;
	case ONTICK_BY_USLEEP:
		us = div_u64(width_ns, NSEC_PER_USEC);
		usleep_range(us, us + 1);
		break;
	case ONTICK_BY_HRTIMER:
		sleep_until(rose_ns + width_ns, true);
		break;
	}
}

static int pulse(struct train *train, struct ontick_pulse *made)
{
	int error;

	made->rose_ns = ktime_get_ns();
	error = ontick_line_write(train->line, train->sleeps, true);
	hold(train, made->rose_ns);
	error = ontick_line_write(train->line, train->sleeps, false) ?: error;
	made->width_ns = ktime_get_ns() - made->rose_ns;
	return error;
}

static int undisturbed_pulse(struct train *train, struct ontick_pulse *made)
{
	unsigned long flags;
	int error;

	if (train->plan.flags & ONTICK_TRAIN_NO_IRQ) {
		local_irq_save(flags);
		error = pulse(train, made);
		local_irq_restore(flags);
	} else if (train->plan.flags & ONTICK_TRAIN_NO_PREEMPT) {
		preempt_disable();
		error = pulse(train, made);
		preempt_enable();
	} else {
		error = pulse(train, made);
	}
	return error;
}

/* Sleeps until the next pulse is due; how many before it are left out, as their time is over. */
static u64 await_next(struct train *train)
{
	u64 now_ns = ktime_get_ns();
	u64 period_ns = train->plan.period_ns;
	u64 left_out = 0;

	if (now_ns > train->next_ns) {
		left_out = div64_u64(now_ns - train->next_ns, period_ns);
		/* Whoever is always late would never rest, and keep its CPU for itself. */
		if (train->late)
			left_out++;
	}
	train->next_ns += left_out * period_ns;
	train->late = train->next_ns <= now_ns;
	sleep_until(train->next_ns, false);
	train->next_ns += period_ns;
	return left_out;
}

static void record(struct train *train, struct ontick_pulse *made)
{
	ontick_histogram_add(&train->job.histogram, made->width_ns, made->missed);
	made->lost = train->lost;
	train->lost = kfifo_put(&train->pulses, *made) ? 0 : train->lost + 1;
	if (wq_has_sleeper(&train->readable))
		wake_up_interruptible(&train->readable);
}

static int run(void *data)
{
	struct train *train = data;
	u64 left = train->plan.count ?: U64_MAX;
	int error = 0;

	train->next_ns = ktime_get_ns() + train->plan.period_ns;
	train->late = false;
	train->lost = 0;
	while (left && !error) {
		struct ontick_pulse made = { .missed = await_next(train) };

		if (kthread_should_stop())
			break;
		error = undisturbed_pulse(train, &made);
		record(train, &made);
		left--;
	}
	ontick_job_end(&train->job, error);
	wake_up_interruptible(&train->readable);
	return 0;
}

static int start(struct ontick_job *job)
{
	struct train *train = of(job);
	struct task_struct *thread;
	int error;

	mutex_lock(&train->reading);
	kfifo_reset(&train->pulses);
	mutex_unlock(&train->reading);
	thread = kthread_create(run, train, "ontick-train");
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	if (train->plan.cpu >= 0)
		kthread_bind(thread, train->plan.cpu);
	error = ontick_set_priority(thread, train->plan.priority);
	if (error) {
		kthread_stop(thread);
		return error;
	}
	/* It may be gone before it is stopped. */
	train->thread = get_task_struct(thread);
	wake_up_process(thread);
	return 0;
}

static void stop(struct ontick_job *job)
{
	struct train *train = of(job);

	if (!train->thread)
		return;
	kthread_stop(train->thread);
	put_task_struct(train->thread);
	train->thread = NULL;
	/* A thread that is stopped before it ran does nothing at all. */
	ontick_job_end(job, 0);
	wake_up_interruptible(&train->readable);
}

static void release(struct ontick_job *job)
{
	struct train *train = of(job);

	ontick_line_put(train->line, &train->plan.line);
	kvfree(train);
}

static bool ended(struct train *train)
{
	return ontick_job_state(&train->job) != ONTICK_STATE_RUNNING;
}

static bool can_be_read(struct train *train)
{
	return !kfifo_is_empty(&train->pulses) || ended(train);
}

static ssize_t read(struct ontick_job *job, char __user *to, size_t size, bool wait)
{
	struct train *train = of(job);
	unsigned int copied = 0;
	bool over;
	int error;

	if (size < sizeof(struct ontick_pulse))
		return -EINVAL;
	do {
		/* In this order: what was made before the end is read before the end is told. */
		over = ended(train);
		if (mutex_lock_interruptible(&train->reading))
			return -ERESTARTSYS;
		error = kfifo_to_user(&train->pulses, to, size, &copied);
		mutex_unlock(&train->reading);
		if (error || copied || over)
			return error ?: copied;
		if (!wait)
			return -EAGAIN;
	} while (!wait_event_interruptible(train->readable, can_be_read(train)));
	return -ERESTARTSYS;
}

static const struct ontick_job_ops ops = {
	.start = start,
	.stop = stop,
	.free = release,
	.read = read,
};

/* How long something may be kept from its CPU. */
static int check_hold(const struct ontick_train *plan)
{
	if (plan->by != ONTICK_BY_UDELAY)
		return plan->flags ? -EINVAL : 0;
	if (plan->width_ns * 100 > plan->period_ns * ONTICK_DUTY_MAX)
		return -EDOM;
	if (plan->flags & ONTICK_TRAIN_NO_IRQ && plan->width_ns > ONTICK_NO_IRQ_MAX_NS)
		return -EDOM;
	if (plan->flags & ONTICK_TRAIN_NO_PREEMPT && plan->width_ns > ONTICK_NO_PREEMPT_MAX_NS)
		return -EDOM;
	return 0;
}

static int check(const struct ontick_train *plan)
{
	int error = ontick_line_check(&plan->line, true) ?:
		    ontick_placement_check(plan->cpu, plan->priority);

	if (error)
		return error;
	if (plan->by > ONTICK_BY_HRTIMER || plan->reserved[0] || plan->reserved[1])
		return -EINVAL;
	if (plan->flags & ~(ONTICK_TRAIN_NO_PREEMPT | ONTICK_TRAIN_NO_IRQ))
		return -EINVAL;
	if (plan->width_ns < ONTICK_WIDTH_MIN_NS || plan->width_ns > ONTICK_WIDTH_MAX_NS)
		return -ERANGE;
	if (plan->period_ns < plan->width_ns + ONTICK_GAP_MIN_NS ||
	    plan->period_ns > ONTICK_PERIOD_MAX_NS)
		return -ERANGE;
	return plan->count > ONTICK_COUNT_MAX ? -ERANGE : check_hold(plan);
}

struct ontick_job *ontick_train_new(struct device *device, const struct ontick_train *plan)
{
	struct train *train;
	int error = check(plan);

	if (error)
		return ERR_PTR(error);
	train = kvzalloc(sizeof(*train), GFP_KERNEL);
	if (!train)
		return ERR_PTR(-ENOMEM);
	train->plan = *plan;
	INIT_KFIFO(train->pulses);
	init_waitqueue_head(&train->readable);
	mutex_init(&train->reading);
	ontick_job_init(&train->job, &ops);

	train->line = ontick_line_get(device, &train->plan.line, GPIOD_OUT_LOW);
	if (IS_ERR(train->line)) {
		error = PTR_ERR(train->line);
		goto free;
	}
	train->sleeps = gpiod_cansleep(train->line);
	if (train->sleeps && plan->flags) {
		error = -EOPNOTSUPP;
		goto put;
	}
	return &train->job;

put:
	ontick_line_put(train->line, &train->plan.line);
free:
	kvfree(train);
	return ERR_PTR(error);
}

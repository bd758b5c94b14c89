// SPDX-License-Identifier: GPL-2.0
/* An input whose edges are answered on an output, in its interrupt or in that one's thread. */

#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "job.h"
#include "lines.h"

/* A thread that has not begun by then will not. */
#define SETTLES_WITHIN HZ

/**
 * struct response - one job
 * @job: what it has in common with others
 * @plan: what user space wants
 * @input: interrupts
 * @output: answers
 * @sleeps: reading the one or writing the other may sleep
 * @active: what the output is
 * @answering: one answer at a time, in a thread
 * @lock: the same in hard interrupts; also of what follows
 * @waiting: edges without an answer so far
 * @since_ns: when the first of them came
 * @told: this interrupt has a handler of its own, and that saw an edge
 * @settled: the thread has its priority and its CPU
 * @settling: completed once that is so
 * @refused: why not
 */
struct response {
	struct ontick_job job;
	struct ontick_response plan;
	struct gpio_desc *input;
	struct gpio_desc *output;
	bool sleeps;
	bool active;
	struct mutex answering; /* of output and active */
	raw_spinlock_t lock; /* of waiting, since_ns and told */
	u64 waiting;
	u64 since_ns;
	bool told;
	bool settled;
	struct completion settling;
	int refused;
};

static struct response *of(struct ontick_job *job)
{
	return container_of(job, struct response, job);
}

/* What the output should become; an errno if the input does not tell. */
static int wanted(const struct response *response)
{
	if (response->plan.answer == ONTICK_ANSWER_TOGGLE)
		return !response->active;
	return ontick_line_read(response->input, response->sleeps);
}

static int answer(struct response *response)
{
	int active = wanted(response);

	if (active < 0)
		return active;
	response->active = active;
	return ontick_line_write(response->output, response->sleeps, active);
}

static void answered(struct response *response, u64 since_ns, u64 missed, int error)
{
	if (error)
		WRITE_ONCE(response->job.error, error);
	else
		ontick_histogram_add(&response->job.histogram, ktime_get_ns() - since_ns, missed);
}

static irqreturn_t answer_at_once(int irq, void *data)
{
	u64 since_ns = ktime_get_ns();
	struct response *response = data;
	int error;

	raw_spin_lock(&response->lock);
	error = answer(response);
	raw_spin_unlock(&response->lock);
	answered(response, since_ns, 0, error);
	return IRQ_HANDLED;
}

static irqreturn_t note_edge(int irq, void *data)
{
	u64 now_ns = ktime_get_ns();
	struct response *response = data;

	raw_spin_lock(&response->lock);
	if (!response->waiting++)
		response->since_ns = now_ns;
	response->told = true;
	raw_spin_unlock(&response->lock);
	return IRQ_WAKE_THREAD;
}

/* In the thread itself, as nothing else may be done to it from outside. */
static void settle(struct response *response)
{
	const struct ontick_response *plan = &response->plan;

	if (plan->priority)
		response->refused = ontick_set_priority(current, plan->priority);
	if (plan->cpu >= 0 && !response->refused)
		response->refused = set_cpus_allowed_ptr(current, cpumask_of(plan->cpu));
	response->settled = true;
	complete(&response->settling);
}

/* Edges to answer, and since when. */
static u64 take_waiting(struct response *response, u64 *since_ns)
{
	u64 waiting;

	raw_spin_lock_irq(&response->lock);
	waiting = response->waiting;
	*since_ns = response->since_ns;
	response->waiting = 0;
	/* The interrupt of an expander is handled in that one's thread: nobody is told before. */
	if (!response->told) {
		waiting = 1;
		*since_ns = ktime_get_ns();
	}
	raw_spin_unlock_irq(&response->lock);
	return waiting;
}

static irqreturn_t answer_in_thread(int irq, void *data)
{
	struct response *response = data;
	u64 waiting, since_ns;
	int error;

	if (!response->settled) {
		settle(response);
		/* Woken for that alone? */
		if (!READ_ONCE(response->told))
			return IRQ_HANDLED;
	}
	waiting = take_waiting(response, &since_ns);
	/* The last answer was for this edge, too. */
	if (!waiting)
		return IRQ_HANDLED;
	mutex_lock(&response->answering);
	error = answer(response);
	mutex_unlock(&response->answering);
	answered(response, since_ns, waiting - 1, error);
	return IRQ_HANDLED;
}

static unsigned long trigger(const struct response *response)
{
	unsigned long edges = 0;

	if (response->plan.edge & ONTICK_EDGE_RISING)
		edges |= IRQF_TRIGGER_RISING;
	if (response->plan.edge & ONTICK_EDGE_FALLING)
		edges |= IRQF_TRIGGER_FALLING;
	return edges;
}

/* Handled in the thread of the chip that it belongs to, which has other things to do, too. */
static bool has_own_thread(unsigned int irq)
{
	return !irq_check_status_bit(irq, IRQ_NESTED_THREAD);
}

/* Threads of interrupts belong to the kernel: woken once without an edge, it sets itself up. */
static int await_settled(struct response *response)
{
	if (response->settled)
		return 0;
	irq_wake_thread(response->job.irq, response);
	if (!wait_for_completion_timeout(&response->settling, SETTLES_WITHIN))
		return -EOPNOTSUPP;
	return response->refused;
}

/* The output has what the input had before anybody was told of its edges. */
static int follow_once(struct response *response)
{
	unsigned long flags;
	int error;

	if (response->plan.answer != ONTICK_ANSWER_FOLLOW)
		return 0;
	if (response->plan.context == ONTICK_CONTEXT_HARD) {
		raw_spin_lock_irqsave(&response->lock, flags);
		error = answer(response);
		raw_spin_unlock_irqrestore(&response->lock, flags);
	} else {
		mutex_lock(&response->answering);
		error = answer(response);
		mutex_unlock(&response->answering);
	}
	return error;
}

static int request(struct response *response, unsigned int irq)
{
	unsigned long flags = trigger(response);

	if (response->plan.context == ONTICK_CONTEXT_HARD)
		return request_irq(irq, answer_at_once, flags | IRQF_NO_THREAD, "ontick", response);
	return request_threaded_irq(irq, note_edge, answer_in_thread, flags | IRQF_ONESHOT,
				    "ontick", response);
}

static void stop(struct ontick_job *job)
{
	if (!job->irq)
		return;
	free_irq(job->irq, of(job));
	job->irq = 0;
}

static int start(struct ontick_job *job)
{
	struct response *response = of(job);
	int irq = gpiod_to_irq(response->input);
	int error;

	if (irq <= 0)
		return -ENXIO;
	response->waiting = 0;
	response->told = false;
	response->settled = response->plan.context == ONTICK_CONTEXT_HARD ||
			    (!response->plan.priority && response->plan.cpu < 0);
	response->refused = 0;
	reinit_completion(&response->settling);
	/* An edge would have settle() place a thread that is not this job's. */
	if (!response->settled && !has_own_thread(irq))
		return -EOPNOTSUPP;
	error = request(response, irq);
	if (error)
		return error;
	job->irq = irq;
	error = await_settled(response) ?: follow_once(response);
	if (error)
		stop(job);
	return error;
}

static void release(struct ontick_job *job)
{
	struct response *response = of(job);

	ontick_line_put(response->output, &response->plan.output);
	ontick_line_put(response->input, &response->plan.input);
	kfree(response);
}

static const struct ontick_job_ops ops = {
	.start = start,
	.stop = stop,
	.free = release,
};

static int check(const struct ontick_response *plan)
{
	int error = ontick_line_check(&plan->input, false) ?:
		    ontick_line_check(&plan->output, true) ?:
		    ontick_placement_check(plan->cpu, plan->priority);

	if (error)
		return error;
	if (plan->context > ONTICK_CONTEXT_THREADED || plan->answer > ONTICK_ANSWER_TOGGLE)
		return -EINVAL;
	if (plan->edge < ONTICK_EDGE_RISING || plan->edge > ONTICK_EDGE_BOTH)
		return -EINVAL;
	/* There is no thread to place. */
	if (plan->context == ONTICK_CONTEXT_HARD && (plan->cpu >= 0 || plan->priority))
		return -EINVAL;
	return plan->reserved[0] || plan->reserved[1] || plan->reserved[2] ? -EINVAL : 0;
}

static int get_lines(struct device *device, struct response *response)
{
	const struct ontick_response *plan = &response->plan;
	int error;

	response->input = ontick_line_get(device, &plan->input, GPIOD_IN);
	if (IS_ERR(response->input))
		return PTR_ERR(response->input);
	error = gpiod_to_irq(response->input);
	if (error <= 0) {
		error = -ENXIO;
		goto put_input;
	}
	response->output = ontick_line_get(device, &plan->output, GPIOD_OUT_LOW);
	if (IS_ERR(response->output)) {
		error = PTR_ERR(response->output);
		goto put_input;
	}
	response->sleeps = gpiod_cansleep(response->input) || gpiod_cansleep(response->output);
	if (response->sleeps && plan->context == ONTICK_CONTEXT_HARD) {
		error = -EOPNOTSUPP;
		goto put_output;
	}
	return 0;

put_output:
	ontick_line_put(response->output, &plan->output);
put_input:
	ontick_line_put(response->input, &plan->input);
	return error;
}

struct ontick_job *ontick_response_new(struct device *device, const struct ontick_response *plan)
{
	struct response *response;
	int error = check(plan);

	if (error)
		return ERR_PTR(error);
	response = kzalloc(sizeof(*response), GFP_KERNEL);
	if (!response)
		return ERR_PTR(-ENOMEM);
	response->plan = *plan;
	mutex_init(&response->answering);
	raw_spin_lock_init(&response->lock);
	init_completion(&response->settling);
	ontick_job_init(&response->job, &ops);
	error = get_lines(device, response);
	if (error) {
		kfree(response);
		return ERR_PTR(error);
	}
	return &response->job;
}

// SPDX-License-Identifier: GPL-2.0
/* The device /dev/ontick: an open file is one job. */

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "job.h"

#define VERSION "0.1.0"

static struct miscdevice device;

/**
 * struct client - an open file
 * @lock: of what is done to the job
 * @job: once set, it stays until the file is closed
 */
struct client {
	struct mutex lock; /* setting up, starting, stopping, asking for results */
	struct ontick_job *job;
};

static struct ontick_job *job_of(struct file *file)
{
	struct client *client = file->private_data;

	/* Pairs with adopt(): who waits or reads does so without the lock. */
	return smp_load_acquire(&client->job);
}

static int open(struct inode *inode, struct file *file)
{
	struct client *client = kzalloc(sizeof(*client), GFP_KERNEL);

	if (!client)
		return -ENOMEM;
	mutex_init(&client->lock);
	file->private_data = client;
	return stream_open(inode, file);
}

static int release(struct inode *inode, struct file *file)
{
	struct client *client = file->private_data;

	if (client->job)
		ontick_job_free(client->job);
	kfree(client);
	return 0;
}

static int tell_version(void __user *to)
{
	struct ontick_version version = { .abi = ONTICK_ABI, .module = VERSION };

	return copy_to_user(to, &version, sizeof(version)) ? -EFAULT : 0;
}

static int adopt(struct client *client, struct ontick_job *job)
{
	if (IS_ERR(job))
		return PTR_ERR(job);
	/* Pairs with job_of(). */
	smp_store_release(&client->job, job);
	return 0;
}

static int set_up_response(struct client *client, const void __user *from)
{
	struct ontick_response plan;

	if (copy_from_user(&plan, from, sizeof(plan)))
		return -EFAULT;
	return adopt(client, ontick_response_new(device.this_device, &plan));
}

static int set_up_train(struct client *client, const void __user *from)
{
	struct ontick_train plan;

	if (copy_from_user(&plan, from, sizeof(plan)))
		return -EFAULT;
	return adopt(client, ontick_train_new(device.this_device, &plan));
}

static int set_up(struct client *client, unsigned int command, const void __user *from)
{
	if (client->job)
		return -EBUSY;
	if (command == ONTICK_IOC_TRAIN)
		return set_up_train(client, from);
	return set_up_response(client, from);
}

static int wait_for_end(struct ontick_job *job)
{
	if (!job || ontick_job_state(job) == ONTICK_STATE_READY)
		return -EINVAL;
	return wait_for_completion_interruptible(&job->ended);
}

static int tell_result(struct ontick_job *job, void __user *to)
{
	struct ontick_result result;
	int error;

	if (copy_from_user(&result, to, sizeof(result)))
		return -EFAULT;
	if (result.reserved)
		return -EINVAL;
	error = ontick_job_result(job, &result);
	if (!error && copy_to_user(to, &result, sizeof(result)))
		error = -EFAULT;
	return error;
}

static int with_job(struct ontick_job *job, unsigned int command, void __user *argument)
{
	if (!job)
		return -EINVAL;
	switch (command) {
	case ONTICK_IOC_START:
		return ontick_job_start(job);
	case ONTICK_IOC_STOP:
		ontick_job_stop(job);
		return 0;
	default:
		return tell_result(job, argument);
	}
}

static long control(struct file *file, unsigned int command, unsigned long argument)
{
	struct client *client = file->private_data;
	void __user *data = (void __user *)argument;
	int error;

	switch (command) {
	case ONTICK_IOC_VERSION:
		return tell_version(data);
	case ONTICK_IOC_WAIT:
		/* Without the lock, so that another thread can stop the job. */
		return wait_for_end(job_of(file));
	case ONTICK_IOC_RESPONSE:
	case ONTICK_IOC_TRAIN:
	case ONTICK_IOC_START:
	case ONTICK_IOC_STOP:
	case ONTICK_IOC_RESULT:
		break;
	default:
		return -ENOTTY;
	}
	if (mutex_lock_interruptible(&client->lock))
		return -ERESTARTSYS;
	if (command == ONTICK_IOC_RESPONSE || command == ONTICK_IOC_TRAIN)
		error = set_up(client, command, data);
	else
		error = with_job(client->job, command, data);
	mutex_unlock(&client->lock);
	return error;
}

static ssize_t read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	struct ontick_job *job = job_of(file);

	if (!job || !job->ops->read)
		return -EINVAL;
	return job->ops->read(job, to, size, !(file->f_flags & O_NONBLOCK));
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = open,
	.release = release,
	.read = read,
	.unlocked_ioctl = control,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "ontick",
	.fops = &operations,
	.mode = 0600,
};
module_misc_device(device);

MODULE_AUTHOR("The ontick developers");
MODULE_DESCRIPTION("Pulses and responses on GPIO lines, timed in the kernel");
MODULE_LICENSE("GPL");
MODULE_VERSION(VERSION);

/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * What user space and the module ontick say to each other through /dev/ontick.
 *
 * An open file is one job: a train of pulses on a line, or an input line whose
 * interrupts are answered on an output line. Set it up once, start it, wait for
 * its end or stop it, read what it recorded; closing the file stops it and
 * releases its lines. docs/kernel-module.md explains every field.
 */
#ifndef _UAPI_ONTICK_H
#define _UAPI_ONTICK_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Grows by one with each change that an older program would notice. */
#define ONTICK_ABI 1

/* Longest label of a chip, with its end. */
#define ONTICK_LABEL_LEN 32

/**
 * struct ontick_version - what is loaded
 * @abi: ONTICK_ABI of the module
 * @reserved: zero
 * @module: its version as text, ending with a zero
 */
struct ontick_version {
	__u32 abi;
	__u32 reserved;
	char module[24];
};

/* The line is active while its voltage is low. */
#define ONTICK_LINE_ACTIVE_LOW 0x1U

/* What an output is left at: as it is, inactive, active, or an input. */
enum ontick_end {
	ONTICK_END_KEEP = 0,
	ONTICK_END_INACTIVE = 1,
	ONTICK_END_ACTIVE = 2,
	ONTICK_END_INPUT = 3,
};

/**
 * struct ontick_line - a line of a GPIO chip
 * @chip: the chip's label, as GPIO_GET_CHIPINFO_IOCTL tells it
 * @offset: the line on it
 * @flags: ONTICK_LINE_*
 * @end: enum ontick_end, of an output
 * @reserved: zero
 */
struct ontick_line {
	char chip[ONTICK_LABEL_LEN];
	__u32 offset;
	__u32 flags;
	__u32 end;
	__u32 reserved;
};

/* Where an interrupt is answered. */
enum ontick_context {
	/* In the interrupt itself, also on a PREEMPT_RT kernel. */
	ONTICK_CONTEXT_HARD = 0,
	/* In the interrupt's thread. */
	ONTICK_CONTEXT_THREADED = 1,
};

/* Which edges of the input's voltage interrupt. */
enum ontick_edge {
	ONTICK_EDGE_RISING = 1,
	ONTICK_EDGE_FALLING = 2,
	ONTICK_EDGE_BOTH = 3,
};

/* What the answer is. */
enum ontick_answer {
	/* The output becomes as active as the input is found. */
	ONTICK_ANSWER_FOLLOW = 0,
	/* The output changes. */
	ONTICK_ANSWER_TOGGLE = 1,
};

/**
 * struct ontick_response - an input whose edges are answered on an output
 * @input: the line that interrupts
 * @output: the line that answers
 * @context: enum ontick_context
 * @edge: enum ontick_edge
 * @answer: enum ontick_answer
 * @cpu: where the interrupt's thread runs; -1: anywhere
 * @priority: of that thread, SCHED_FIFO 1 to 99; 0: as the kernel has it
 * @reserved: zero
 *
 * The histogram has the time from the interrupt handler's beginning to when the
 * output was written. Edges that came before the one ahead of them was answered
 * have one answer together, and are missed.
 */
struct ontick_response {
	struct ontick_line input;
	struct ontick_line output;
	__u32 context;
	__u32 edge;
	__u32 answer;
	__s32 cpu;
	__u32 priority;
	__u32 reserved[3];
};

/* What waits while a pulse lasts. */
enum ontick_by {
	ONTICK_BY_UDELAY = 0,
	ONTICK_BY_USLEEP = 1,
	ONTICK_BY_HRTIMER = 2,
};

/* For the length of each pulse; with ONTICK_BY_UDELAY only. */
#define ONTICK_TRAIN_NO_PREEMPT 0x1U
#define ONTICK_TRAIN_NO_IRQ 0x2U

/* What a train may be; the duty is that of ONTICK_BY_UDELAY, in percent. */
#define ONTICK_WIDTH_MIN_NS 1000ULL
#define ONTICK_WIDTH_MAX_NS 1000000000ULL
#define ONTICK_GAP_MIN_NS 1000ULL
#define ONTICK_PERIOD_MAX_NS 10000000000ULL
#define ONTICK_COUNT_MAX 1000000000ULL
#define ONTICK_DUTY_MAX 90
#define ONTICK_NO_PREEMPT_MAX_NS 100000000ULL
#define ONTICK_NO_IRQ_MAX_NS 10000000ULL

/**
 * struct ontick_train - pulses on a line
 * @line: is inactive between pulses
 * @width_ns: how long a pulse should be
 * @period_ns: from the beginning of one to that of the next
 * @count: how many; 0: until it is stopped
 * @by: enum ontick_by
 * @flags: ONTICK_TRAIN_*
 * @cpu: where the thread that makes them runs; -1: anywhere
 * @priority: of that thread, SCHED_FIFO 1 to 99; 0: SCHED_OTHER
 * @reserved: zero
 *
 * The beginnings lie on a grid; one that is later than a whole period is left
 * out and missed. The histogram has widths: from just before the line became
 * active to just after it became inactive again.
 */
struct ontick_train {
	struct ontick_line line;
	__u64 width_ns;
	__u64 period_ns;
	__u64 count;
	__u32 by;
	__u32 flags;
	__s32 cpu;
	__u32 priority;
	__u64 reserved[2];
};

/**
 * struct ontick_pulse - one pulse, as read() returns them in order
 * @rose_ns: the monotonic clock just before the line became active
 * @width_ns: until just after it became inactive
 * @missed: how many were left out before it
 * @lost: how many made before it nobody had read in time
 *
 * read() waits for a pulse, and returns 0 once the train has ended and all were
 * read.
 */
struct ontick_pulse {
	__u64 rose_ns;
	__u64 width_ns;
	__u64 missed;
	__u64 lost;
};

/*
 * Cells of a histogram: values below 32 ns have one each; above, every power of
 * two has 32 of them. Cell c from 32 on holds the values v with
 * v >> (c / 32 - 1) == 32 + c % 32; what is beyond the last cell is in it.
 */
#define ONTICK_CELLS 1024
#define ONTICK_CELLS_PER_OCTAVE 32

enum ontick_state {
	ONTICK_STATE_EMPTY = 0,
	ONTICK_STATE_READY = 1,
	ONTICK_STATE_RUNNING = 2,
	ONTICK_STATE_ENDED = 3,
};

/**
 * struct ontick_result - what was recorded since the start
 * @count: pulses made, or interrupts answered
 * @missed: pulses left out, or edges that had no answer of their own
 * @min_ns: least value; 0 while there is none
 * @max_ns: largest value
 * @sum_ns: of all values
 * @cells: address of ONTICK_CELLS counters (__u64), or 0
 * @state: enum ontick_state
 * @error: why it ended before its time, as a positive errno; 0: it did not
 * @irq: of a response, its interrupt's number
 * @reserved: zero
 */
struct ontick_result {
	__u64 count;
	__u64 missed;
	__u64 min_ns;
	__u64 max_ns;
	__u64 sum_ns;
	__u64 cells;
	__u32 state;
	__u32 error;
	__u32 irq;
	__u32 reserved;
};

#define ONTICK_IOC 0xE3
#define ONTICK_IOC_VERSION _IOR(ONTICK_IOC, 0x00, struct ontick_version)
#define ONTICK_IOC_RESPONSE _IOW(ONTICK_IOC, 0x01, struct ontick_response)
#define ONTICK_IOC_TRAIN _IOW(ONTICK_IOC, 0x02, struct ontick_train)
#define ONTICK_IOC_START _IO(ONTICK_IOC, 0x03)
#define ONTICK_IOC_WAIT _IO(ONTICK_IOC, 0x04)
#define ONTICK_IOC_STOP _IO(ONTICK_IOC, 0x05)
#define ONTICK_IOC_RESULT _IOWR(ONTICK_IOC, 0x06, struct ontick_result)

#endif

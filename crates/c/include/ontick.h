/*
 * libontick: run code on time on stock Linux.
 *
 * Every function that can fail returns a status: ONTICK_OK, ONTICK_NONE, or one of ONTICK_ERROR_...,
 * which are negative. ontick_last_message() then says in a sentence what is wrong and what to do.
 * Times are nanoseconds on CLOCK_MONOTONIC. docs/c.md of ontick has the whole page.
 *
 * Made from the sources by cbindgen; do not edit.
 */

#ifndef ONTICK_H
#define ONTICK_H

#include <stddef.h>
#include <stdint.h>

// Programs that were compiled with another major number do not run with this library; the loader
// knows by the soname.
#define ONTICK_ABI_MAJOR 0

// Raised with each addition: a program needs at least the one that it was compiled with.
#define ONTICK_ABI_MINOR 4

// Done.
#define ONTICK_OK 0

// There was nothing: no edge until the deadline, no further outlier, no samples. Not an error.
#define ONTICK_NONE 1

// An argument is NULL, out of its range, or makes no sense.
#define ONTICK_ERROR_ARGUMENT -1

// The system does not grant it: a privilege, a limit, the only CPU.
#define ONTICK_ERROR_REFUSED -2

// There is no such line, chip or CPU.
#define ONTICK_ERROR_NOT_FOUND -3

// Another program has it; the message says which.
#define ONTICK_ERROR_IN_USE -4

// This kind of line cannot do that.
#define ONTICK_ERROR_UNSUPPORTED -5

// A line stopped answering: its driver or device went away.
#define ONTICK_ERROR_GONE -6

// The handle belongs to the process that this one was forked from. Nothing was done with it.
#define ONTICK_ERROR_FORKED -7

// Only the thread that was set up can give it back.
#define ONTICK_ERROR_WRONG_THREAD -8

// The system failed: a file, a thread, memory.
#define ONTICK_ERROR_SYSTEM -9

// A fault of the library itself. Please report it with the message.
#define ONTICK_ERROR_INTERNAL -10

// For ontick_thread_options.cpu: the quietest CPU that no other program of ontick has.
#define ONTICK_CPU_AUTO -1

// For ontick_thread_options.cpu: wherever the thread may run now.
#define ONTICK_CPU_KEEP -2

// Sleep to a margin before the deadline, then read the clock until it is time; the margin follows the
// wake-ups that the thread sees.
#define ONTICK_WAIT_HYBRID 0

// Sleep until the deadline.
#define ONTICK_WAIT_SLEEP 1

// Read the clock until the deadline. Nothing else runs on that CPU meanwhile.
#define ONTICK_WAIT_SPIN 2

// Deadlines that have passed are left out and counted as missed.
#define ONTICK_OVERRUN_SKIP 0

// Every deadline is acted on, those that have passed at once.
#define ONTICK_OVERRUN_CATCH_UP 1

// For ontick_cycle_options.phase_ns: wherever the first call falls.
#define ONTICK_PHASE_CHANCE -1

// For ontick_cycle_options.phase_ns: away from the timer tick and what else recurs on this CPU.
// ontick_cycle_new() watches the CPU for half a second to find it; intervals above 100 ms have none.
#define ONTICK_PHASE_AUTO -2

// The line is read.
#define ONTICK_INPUT 0

// The line is driven.
#define ONTICK_OUTPUT 1

// The line is read as it is, be it driven or not: without edges, and with the bias that it has.
#define ONTICK_AS_IS 2

// The bias that is set up already.
#define ONTICK_BIAS_AS_IS 0

// No bias.
#define ONTICK_BIAS_DISABLED 1

// A resistor to the supply.
#define ONTICK_BIAS_PULL_UP 2

// A resistor to ground.
#define ONTICK_BIAS_PULL_DOWN 3

// No edges.
#define ONTICK_EDGES_NONE 0

// Edges up.
#define ONTICK_EDGES_RISING 1

// Edges down.
#define ONTICK_EDGES_FALLING 2

// All edges.
#define ONTICK_EDGES_BOTH 3

// An output keeps its last value when it is closed.
#define ONTICK_EXIT_KEEP 0

// It is left low.
#define ONTICK_EXIT_LOW 1

// It is left high.
#define ONTICK_EXIT_HIGH 2

// It is not driven any more.
#define ONTICK_EXIT_INPUT 3

// A series of deadlines, for one thread at a time.
typedef struct ontick_cycle ontick_cycle;

// A histogram of latencies: exact up to 255 ns, then with buckets of at most 1 % of their value.
typedef struct ontick_histogram ontick_histogram;

// A line that this program has, for one thread at a time.
typedef struct ontick_line ontick_line;

// A listener, for one thread at a time.
typedef struct ontick_listener ontick_listener;

// Counts of latencies: one thread records, others may read at any time.
typedef struct ontick_recorder ontick_recorder;

// A talker, for one thread at a time.
typedef struct ontick_talker ontick_talker;

// A thread that was set up.
typedef struct ontick_thread ontick_thread;

// Watches a thread from beside.
typedef struct ontick_watchdog ontick_watchdog;

// How a thread is to run. ontick_thread_options_init() fills it.
typedef struct ontick_thread_options {
    // sizeof(ontick_thread_options)
    uint32_t size;
    // The CPU that it is pinned to: a number, ONTICK_CPU_AUTO (set by init) or ONTICK_CPU_KEEP.
    int32_t cpu;
    // "fifo:90" (set by init), "rr:50", "other" or "deadline:100us/1ms/1ms"; NULL leaves it as it is.
    const char *policy;
    // Not 0 (set by init): lock the process's memory, and touch stack and heap.
    int32_t lock_memory;
    // Not 0: fail with the first thing that is refused. 0 (set by init): go on without, and tell by
    // ontick_thread_refusal().
    int32_t strict;
    // Keep CPUs out of power states that take longer than this to leave, in us; -1 (set by init): do not ask.
    int32_t cpu_latency_us;
    // 0.
    int32_t reserved;
} ontick_thread_options;

// How a cycle keeps its time. ontick_cycle_options_init() fills it, all but interval_ns.
typedef struct ontick_cycle_options {
    // sizeof(ontick_cycle_options)
    uint32_t size;
    // ONTICK_WAIT_HYBRID (set by init), ONTICK_WAIT_SLEEP or ONTICK_WAIT_SPIN.
    int32_t wait;
    // From one deadline to the next, in ns: 1000 (1 us) to 86400000000000 (a day).
    uint64_t interval_ns;
    // Deadlines are so many ns after a multiple of the interval; or ONTICK_PHASE_CHANCE (set by init)
    // or ONTICK_PHASE_AUTO.
    int64_t phase_ns;
    // Share of the time that a hybrid wait may spin, above 0 and at most 1; 0.9 is set by init.
    double duty;
    // ONTICK_OVERRUN_SKIP (set by init) or ONTICK_OVERRUN_CATCH_UP.
    int32_t overrun;
    // 0.
    int32_t reserved;
} ontick_cycle_options;

// One period's beginning. This structure never changes.
typedef struct ontick_tick {
    // Number of the period since the first, from 0; missed ones count.
    uint64_t index;
    // When the thread should have been running, in ns.
    uint64_t deadline_ns;
    // When it was, in ns.
    uint64_t now_ns;
    // now_ns - deadline_ns; 0 where the wait ended early.
    uint64_t latency_ns;
    // Periods that were missed just before this one.
    uint64_t missed;
} ontick_tick;

// A latency above the recorder's threshold.
typedef struct ontick_outlier {
    // When it was seen, in ns.
    uint64_t at_ns;
    // How late the thread was, in ns.
    uint64_t latency_ns;
} ontick_outlier;

// The figures of a histogram. Later versions add to its end.
typedef struct ontick_stats {
    // Latencies that were recorded.
    uint64_t count;
    // The smallest, in ns; 0 where there is none.
    uint64_t min_ns;
    // The largest, in ns; 0 where there is none.
    uint64_t max_ns;
    // Their mean, in ns; 0 where there is none.
    double mean_ns;
    // Their standard deviation, in ns; 0 where there is none.
    double std_dev_ns;
    // Periods that were missed.
    uint64_t missed;
    // Waits that ended before their time.
    uint64_t early;
    // Latencies above the recorder's threshold.
    uint64_t outliers;
} ontick_stats;

// Some of a histogram's latencies: `count` from low_ns to low_ns + width_ns - 1.
typedef struct ontick_bucket {
    // The smallest, in ns.
    uint64_t low_ns;
    // How many ns they cover.
    uint64_t width_ns;
    // How many there are.
    uint64_t count;
} ontick_bucket;

// What is wanted of a line. ontick_line_options_init() fills it: an input, as it is wired.
typedef struct ontick_line_options {
    // sizeof(ontick_line_options)
    uint32_t size;
    // ONTICK_INPUT (set by init), ONTICK_OUTPUT or ONTICK_AS_IS.
    int32_t direction;
    // An output's first value, 0 or 1.
    int32_t value;
    // Not 0: 1 is low on the wire.
    int32_t active_low;
    // ONTICK_BIAS_...
    int32_t bias;
    // ONTICK_EDGES_...: what ontick_line_edge() waits for.
    int32_t edges;
    // ONTICK_EXIT_...: what an output is left at when it is closed.
    int32_t on_exit;
    // A level of an input counts once it has lasted so long, in microseconds: up to 16 000 000; 0: at once.
    uint32_t debounce_us;
} ontick_line_options;

// An edge of a line. This structure never changes.
typedef struct ontick_edge {
    // When it happened, in ns: the kernel's interrupt, or the write that caused it on a simulated line.
    uint64_t time_ns;
    // 1 for up, 0 for down, as the user sees the line (after active_low).
    int32_t rising;
    // Edges of this line since the one before that were not reported.
    uint32_t lost;
} ontick_edge;

// What a talker sends, and how. ontick_talker_options_init() fills it, all but network, plan, station
// and either interfaces or udp.
typedef struct ontick_talker_options {
    // sizeof(ontick_talker_options)
    uint32_t size;
    // The CPU of the thread that sends: a number, ONTICK_CPU_AUTO (set by init) or ONTICK_CPU_KEEP.
    int32_t cpu;
    // The file that describes the network.
    const char *network;
    // Its plan, as `ontick network plan --out` writes it.
    const char *plan;
    // The station that this program is.
    const char *station;
    // The interface of its cable; of a station with several cables one for each, in the order of the
    // file, with commas between.
    const char *interfaces;
    // Streams that leave as datagrams instead: "setpoint=192.0.2.7:5000", with commas between.
    const char *udp;
    // What the plan is for ("user", "kernel", ...); NULL (set by init): what the calibration is of, or
    // else the user data plane.
    const char *target;
    // The file of a calibration that the plan was made with, or NULL (set by init).
    const char *calibration;
    // Scheduling of the thread that sends: "fifo:90" (set by init), "rr:50", "other".
    const char *policy;
    // When the first periods begin, in ns of TAI; 0 (set by init): with a whole second, about a second
    // from now.
    uint64_t base_time_ns;
} ontick_talker_options;

// What became of the messages of a stream, or of all.
typedef struct ontick_talker_figures {
    // Messages that were handed to the kernel.
    uint64_t sent;
    // Messages that the kernel did not take: no link, no room.
    uint64_t refused;
    // Messages that were left out, as their period was over.
    uint64_t left_out;
    // How late a message was handed over at most, of all streams, in ns.
    uint64_t max_late_ns;
    // No more than this were 99 in 100 of them, in ns.
    uint64_t p99_late_ns;
    // How often the machine's clock was set meanwhile: messages followed it.
    uint64_t clock_steps;
} ontick_talker_figures;

// What a listener receives, and by what. ontick_listener_options_init() fills it, all but network,
// plan, station and interfaces or udp.
typedef struct ontick_listener_options {
    // sizeof(ontick_listener_options)
    uint32_t size;
    // 0.
    int32_t reserved;
    // The file that describes the network.
    const char *network;
    // Its plan, as `ontick network plan --out` writes it.
    const char *plan;
    // The station that this program is.
    const char *station;
    // The interface of its cable; of a station with several cables one for each, in the order of the
    // file, with commas between.
    const char *interfaces;
    // Addresses at which datagrams are received: "0.0.0.0:5000", with commas between.
    const char *udp;
    // What the plan is for ("user", "kernel", ...); NULL (set by init): what the calibration is of, or
    // else the user data plane.
    const char *target;
    // The file of a calibration that the plan was made with, or NULL (set by init).
    const char *calibration;
} ontick_listener_options;

// A message that came. This structure never changes.
typedef struct ontick_message {
    // The stream's name.
    const char *stream;
    // The message's number, from 0 when its talker began: one that is missing was lost.
    uint64_t number;
    // When it was to be sent, in ns of TAI.
    uint64_t planned_ns;
    // When its last frame came, in ns of TAI, by the interface's stamp or the kernel's.
    uint64_t arrived_ns;
    // What its talker had it carry; valid until the next call for a message of this listener.
    const void *payload;
    // Its length in bytes.
    size_t length;
} ontick_message;

// What became of the messages of a stream.
typedef struct ontick_listener_figures {
    // Messages that came whole.
    uint64_t received;
    // Messages between the first that came and the newest that did not come whole.
    uint64_t lost;
    // Messages that came after their deadline.
    uint64_t late;
    // Frames that came behind one that was sent after them.
    uint64_t out_of_order;
    // Frames that came twice.
    uint64_t duplicates;
    // The longest time from the beginning of the period until a message was there, in ns.
    uint64_t max_latency_ns;
    // No more than this did 99 in 100 take, in ns.
    uint64_t p99_latency_ns;
} ontick_listener_figures;

// What came besides messages in good order, of all streams.
typedef struct ontick_listener_strays {
    // Frames of a talker with another plan or another network: give both the same files.
    uint64_t other_plan;
    // Frames of streams that are for others.
    uint64_t other_streams;
    // Frames with another VLAN tag or priority than is planned, or without one.
    uint64_t retagged;
    // Frames that came and found no room: this program took them too slowly.
    uint64_t overflowed;
    // Frames planned more than an hour from when they came: both machines need one time.
    uint64_t other_time;
} ontick_listener_strays;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// ONTICK_ABI_MAJOR of the library that is loaded times 65536, plus its ONTICK_ABI_MINOR.
uint32_t ontick_abi_version(void);

// The version of ontick that the library is from: "0.1.0".
const char *ontick_version(void);

// What went wrong in the last call of this thread that returned an error, as a sentence: what, why,
// and what to do. It stays valid until the thread's next call that fails; "" where none has failed.
const char *ontick_last_message(void);

// The name of a status: "ONTICK_ERROR_IN_USE"; "unknown" for a number that is none.
const char *ontick_status_name(int status);

// Fills the options with what most loops want; `size` is sizeof(ontick_thread_options).
int ontick_thread_options_init(struct ontick_thread_options *options, size_t size);

// Sets the calling thread up: CPU, priority, memory. Options may be NULL for the defaults. Threads and
// processes that it starts afterwards get normal scheduling (SCHED_RESET_ON_FORK, which
// sched_getscheduler(2) shows as a bit of the policy) on its CPU; a child made by fork(2) has again
// what the thread had before.
int ontick_thread_setup(const struct ontick_thread_options *options,
                        struct ontick_thread **thread);

// How many of the things that were asked for the system refused; negative for an error.
int ontick_thread_refusals(const struct ontick_thread *thread);

// A refusal, from 0: what was asked, why it was refused, and what to do; NULL past the last. It
// stays valid until the thread is given back.
const char *ontick_thread_refusal(const struct ontick_thread *thread, int index);

// The CPU that the thread is pinned to; ONTICK_NONE where it is not.
int ontick_thread_cpu(const struct ontick_thread *thread, uint32_t *cpu);

// Gives the thread back what it had before: policy, priority, CPUs; memory is unlocked when the last
// thread is given back, unless the program had locked some itself before set-up. Sets *thread to NULL;
// only the thread itself can do it. One that ends without it takes its priority with it, and memory
// stays locked.
int ontick_thread_restore(struct ontick_thread **thread);

// Fills the options; `size` is sizeof(ontick_cycle_options).
int ontick_cycle_options_init(struct ontick_cycle_options *options, size_t size);

// Makes a cycle, whose first deadline is at least one interval from now. Call it on the thread that
// will wait, after ontick_thread_setup(); it takes 20 ms, to compare clocks.
int ontick_cycle_new(const struct ontick_cycle_options *options, struct ontick_cycle **cycle);

// Waits for the next deadline and tells what became of it. It allocates nothing, takes no lock, and
// makes no system call but the sleep. A signal does not end the wait: let its handler set a flag.
int ontick_cycle_next(struct ontick_cycle *cycle, struct ontick_tick *tick);

// Ends the cycle and sets *cycle to NULL.
int ontick_cycle_free(struct ontick_cycle **cycle);

// The time now on CLOCK_MONOTONIC, in ns.
uint64_t ontick_now_ns(void);

// Makes a recorder. Latencies above `outlier_threshold_ns` are also kept one by one.
int ontick_recorder_new(uint64_t outlier_threshold_ns, struct ontick_recorder **recorder);

// Records a tick: its latency, and the periods missed before it. It allocates nothing, takes no lock
// and makes no system call. Only one thread may record.
int ontick_recorder_record(struct ontick_recorder *recorder,
                           const struct ontick_tick *tick);

// Takes the next latency that was above the threshold; ONTICK_NONE where there is none. Any thread
// may ask.
int ontick_recorder_next_outlier(const struct ontick_recorder *recorder,
                                 struct ontick_outlier *outlier);

// Ends the recorder and sets *recorder to NULL.
int ontick_recorder_free(struct ontick_recorder **recorder);

// Takes what the recorder has counted so far, while it goes on. Any thread may take it.
int ontick_recorder_histogram(const struct ontick_recorder *recorder,
                              struct ontick_histogram **histogram);

// The histogram's figures; `size` is sizeof(ontick_stats).
int ontick_histogram_stats(const struct ontick_histogram *histogram,
                           struct ontick_stats *stats,
                           size_t size);

// The latency that a share of all (0.99) does not exceed, in ns: the upper end of its bucket, so
// never too good. ONTICK_NONE where there are none.
int ontick_histogram_quantile(const struct ontick_histogram *histogram,
                              double share,
                              uint64_t *latency_ns);

// How many latencies were certainly below `limit_ns`.
int ontick_histogram_below(const struct ontick_histogram *histogram,
                           uint64_t limit_ns,
                           uint64_t *count);

// A bucket that holds latencies, from 0, ascending; ONTICK_NONE past the last.
int ontick_histogram_bucket(const struct ontick_histogram *histogram,
                            size_t index,
                            struct ontick_bucket *bucket);

// Writes a record that ontick shows and compares. `name` is the series' in tables and pictures; thread and
// cycle tell how the loop ran, and may be NULL. An existing file is replaced as a whole.
int ontick_histogram_save(const struct ontick_histogram *histogram,
                          const char *name,
                          const struct ontick_thread *thread,
                          struct ontick_cycle *cycle,
                          const char *path);

// Ends the histogram and sets *histogram to NULL.
int ontick_histogram_free(struct ontick_histogram **histogram);

// Watches the calling thread, by a thread of its own on another CPU: one that kept its CPU busy for
// `limit_ns` (10 ms to an hour; 2 s is usual) without ever sleeping loses its real-time priority.
int ontick_watchdog_start(uint64_t limit_ns, struct ontick_watchdog **watchdog);

// 1 where the thread lost its priority, 0 where it did not, negative for an error.
int ontick_watchdog_demoted(const struct ontick_watchdog *watchdog);

// Ends the watch and sets *watchdog to NULL.
int ontick_watchdog_stop(struct ontick_watchdog **watchdog);

// Fills the options; `size` is sizeof(ontick_line_options).
int ontick_line_options_init(struct ontick_line_options *options, size_t size);

// Takes a line: "gpiochip0:17", a line's own name ("GPIO17"), "reg:17" (the board's registers), or
// "sim:bench/4" (a simulated chip, which is made on first use). Options may be NULL for an input.
int ontick_line_open(const char *name,
                     const struct ontick_line_options *options,
                     struct ontick_line **line);

// Drives the line to 0 or 1.
int ontick_line_write(struct ontick_line *line, int value);

// Returns once what was written has reached the chip.
int ontick_line_flush(struct ontick_line *line);

// The line's value: 0 or 1; negative for an error.
int ontick_line_read(struct ontick_line *line);

// Waits for the next edge until `deadline_ns` (0: not at all); ONTICK_NONE where there was none.
int ontick_line_edge(struct ontick_line *line, uint64_t deadline_ns, struct ontick_edge *edge);

// Releases the line and sets *line to NULL; an output is left as was asked.
int ontick_line_close(struct ontick_line **line);

// Joins two lines of a simulated chip ("sim:bench/4", "sim:bench/17"): whichever is driven, the other
// reads.
int ontick_simulated_wire(const char *from,
                          const char *to);

// Removes a simulated chip ("bench"), whose lines nobody else can open then.
int ontick_simulated_remove(const char *chip);

// Fills the options; `size` is sizeof(ontick_talker_options).
int ontick_talker_options_init(struct ontick_talker_options *options, size_t size);

// Reads network and plan, refuses a plan that does not fit, and opens the interfaces. Nothing is sent yet.
int ontick_talker_open(const struct ontick_talker_options *options,
                       struct ontick_talker **talker);

// The name of a stream that the station sends, from 0; NULL past the last. It stays valid until the
// talker is closed.
const char *ontick_talker_stream(const struct ontick_talker *talker, int index);

// How many bytes a message of the stream carries at most.
int ontick_talker_room(const struct ontick_talker *talker, const char *stream, size_t *bytes);

// What the stream's next message carries, and those after it until the next call. It is copied, and
// taken 50 us before the message leaves. A listener gets exactly these bytes. Before the first call
// messages are empty. It waits for nothing and allocates nothing.
int ontick_talker_set_payload(struct ontick_talker *talker,
                              const char *stream,
                              const void *bytes,
                              size_t length);

// Starts the thread that sends each message at its time, once. What the system refuses of its set-up
// is told by ontick_talker_refusal(): it sends all the same, but may be late.
int ontick_talker_begin(struct ontick_talker *talker);

// A refusal, from 0: what was asked for the thread, why it was refused, and what to do; NULL past the
// last. It stays valid until the talker is closed.
const char *ontick_talker_refusal(const struct ontick_talker *talker,
                                  int index);

// Fills figures of a stream, or of all where that is NULL, while it sends or after it; `size` is
// sizeof(ontick_talker_figures).
int ontick_talker_get_figures(const struct ontick_talker *talker,
                              const char *stream,
                              struct ontick_talker_figures *figures,
                              size_t size);

// Ends the thread, which takes up to 20 ms: nothing is sent afterwards. The figures can still be read.
// Once more does nothing.
int ontick_talker_end(struct ontick_talker *talker);

// Ends it, closes the interfaces, and sets *talker to NULL.
int ontick_talker_close(struct ontick_talker **talker);

// Fills the options; `size` is sizeof(ontick_listener_options).
int ontick_listener_options_init(struct ontick_listener_options *options, size_t size);

// Reads network and plan, refuses a plan that does not fit, and opens the interfaces. From now on what
// comes is kept, some 30000 frames for each interface, until the program takes it.
int ontick_listener_open(const struct ontick_listener_options *options,
                         struct ontick_listener **listener);

// The name of a stream that comes to the station, from 0; NULL past the last. It stays valid until the
// listener is closed.
const char *ontick_listener_stream(const struct ontick_listener *listener,
                                   int index);

// Waits for the next message of any stream until `deadline_ns` of ontick_now_ns() (0: not at all);
// ONTICK_NONE where none came.
int ontick_listener_next(struct ontick_listener *listener,
                         uint64_t deadline_ns,
                         struct ontick_message *message);

// Fills figures of a stream, or of all where that is NULL, of what was taken so far; `size` is
// sizeof(ontick_listener_figures).
int ontick_listener_get_figures(const struct ontick_listener *listener,
                                const char *stream,
                                struct ontick_listener_figures *figures,
                                size_t size);

// Fills what came besides messages in good order; `size` is sizeof(ontick_listener_strays).
int ontick_listener_get_strays(struct ontick_listener *listener,
                               struct ontick_listener_strays *strays,
                               size_t size);

// Closes the interfaces and sets *listener to NULL.
int ontick_listener_close(struct ontick_listener **listener);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ONTICK_H */

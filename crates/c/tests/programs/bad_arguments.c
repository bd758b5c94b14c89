/* NULL and absurd arguments: each is refused with its status and a sentence; nothing is done, nothing leaks.
 * Usage: bad_arguments CHIP FOLDER */
#include <ontick.h>
#include "expect.h"

static void no_handle(void)
{
    ontick_tick tick;
    ontick_stats stats;
    ontick_outlier outlier;
    ontick_bucket bucket;
    ontick_edge edge;
    uint64_t value;
    memset(&tick, 0, sizeof tick);

    REFUSED(ontick_thread_setup(NULL, NULL), ONTICK_ERROR_ARGUMENT, "address of a pointer");
    REFUSED(ontick_thread_refusals(NULL), ONTICK_ERROR_ARGUMENT, "handle is NULL");
    REFUSED(ontick_thread_cpu(NULL, NULL), ONTICK_ERROR_ARGUMENT, "handle is NULL");
    EXPECT(ontick_thread_refusal(NULL, 0) == NULL);
    REFUSED(ontick_thread_restore(NULL), ONTICK_ERROR_ARGUMENT, "address of a pointer");
    REFUSED(ontick_cycle_new(NULL, NULL), ONTICK_ERROR_ARGUMENT, "address of a pointer");
    REFUSED(ontick_cycle_next(NULL, &tick), ONTICK_ERROR_ARGUMENT, "handle is NULL");
    REFUSED(ontick_cycle_free(NULL), ONTICK_ERROR_ARGUMENT, "address of a pointer");
    REFUSED(ontick_recorder_new(0, NULL), ONTICK_ERROR_ARGUMENT, "address of a pointer");
    REFUSED(ontick_recorder_record(NULL, &tick), ONTICK_ERROR_ARGUMENT, "handle is NULL");
    REFUSED(ontick_recorder_next_outlier(NULL, &outlier), ONTICK_ERROR_ARGUMENT, "handle is NULL");
    REFUSED(ontick_recorder_histogram(NULL, NULL), ONTICK_ERROR_ARGUMENT, "address of a pointer");
    REFUSED(ontick_histogram_stats(NULL, &stats, sizeof stats), ONTICK_ERROR_ARGUMENT, "handle is NULL");
    REFUSED(ontick_histogram_quantile(NULL, 0.5, &value), ONTICK_ERROR_ARGUMENT, "handle is NULL");
    REFUSED(ontick_histogram_below(NULL, 1, &value), ONTICK_ERROR_ARGUMENT, "handle is NULL");
    REFUSED(ontick_histogram_bucket(NULL, 0, &bucket), ONTICK_ERROR_ARGUMENT, "handle is NULL");
    REFUSED(ontick_histogram_save(NULL, "a", NULL, NULL, "b"), ONTICK_ERROR_ARGUMENT, "handle is NULL");
    REFUSED(ontick_watchdog_start(2000000000, NULL), ONTICK_ERROR_ARGUMENT, "address of a pointer");
    REFUSED(ontick_watchdog_demoted(NULL), ONTICK_ERROR_ARGUMENT, "handle is NULL");
    REFUSED(ontick_line_write(NULL, 1), ONTICK_ERROR_ARGUMENT, "handle is NULL");
    REFUSED(ontick_line_read(NULL), ONTICK_ERROR_ARGUMENT, "handle is NULL");
    REFUSED(ontick_line_flush(NULL), ONTICK_ERROR_ARGUMENT, "handle is NULL");
    REFUSED(ontick_line_edge(NULL, 0, &edge), ONTICK_ERROR_ARGUMENT, "handle is NULL");
    REFUSED(ontick_simulated_wire(NULL, NULL), ONTICK_ERROR_ARGUMENT, "first line's name is NULL");
    REFUSED(ontick_simulated_remove(NULL), ONTICK_ERROR_ARGUMENT, "chip's name is NULL");
}

static void threads(void)
{
    ontick_thread *thread = (ontick_thread *)&thread, *second = NULL;
    ontick_thread_options options;
    uint32_t cpu = 7;
    REFUSED(ontick_thread_options_init(NULL, sizeof options), ONTICK_ERROR_ARGUMENT, "NULL");
    REFUSED(ontick_thread_options_init(&options, 0), ONTICK_ERROR_ARGUMENT, "sizeof");
    memset(&options, 0, sizeof options);
    REFUSED(ontick_thread_setup(&options, &thread), ONTICK_ERROR_ARGUMENT, "ontick_thread_options_init()");
    EXPECT(thread == NULL);
    EXPECT(ontick_thread_options_init(&options, sizeof options) == ONTICK_OK);
    options.cpu = 70000;
    REFUSED(ontick_thread_setup(&options, &thread), ONTICK_ERROR_NOT_FOUND, "CPU 70000 is not online");
    options.cpu = -7;
    REFUSED(ontick_thread_setup(&options, &thread), ONTICK_ERROR_ARGUMENT, "CPU -7");
    options.cpu = ONTICK_CPU_KEEP;
    options.policy = "fifo:100";
    REFUSED(ontick_thread_setup(&options, &thread), ONTICK_ERROR_ARGUMENT, "1 to 99");
    options.policy = "\xff";
    REFUSED(ontick_thread_setup(&options, &thread), ONTICK_ERROR_ARGUMENT, "UTF-8");
    options.policy = NULL;
    options.lock_memory = 0;
    options.cpu_latency_us = -2;
    REFUSED(ontick_thread_setup(&options, &thread), ONTICK_ERROR_ARGUMENT, "cpu_latency_us is -2");
    options.cpu_latency_us = -1;
    options.reserved = 1;
    REFUSED(ontick_thread_setup(&options, &thread), ONTICK_ERROR_ARGUMENT, "reserved is 1");
    options.reserved = 0;
    EXPECT(ontick_thread_setup(&options, &thread) == ONTICK_OK);
    EXPECT(ontick_thread_cpu(thread, &cpu) == ONTICK_NONE && cpu == 7);
    REFUSED(ontick_thread_cpu(thread, NULL), ONTICK_ERROR_ARGUMENT, "NULL");
    EXPECT(ontick_thread_refusals(thread) == 0);
    EXPECT(ontick_thread_refusal(thread, 0) == NULL && ontick_thread_refusal(thread, -1) == NULL);
    REFUSED(ontick_thread_setup(&options, &second), ONTICK_ERROR_ARGUMENT, "set up already");
    EXPECT(ontick_thread_restore(&thread) == ONTICK_OK && thread == NULL);
    /* A second time does nothing. */
    EXPECT(ontick_thread_restore(&thread) == ONTICK_OK);
}

static void cycles(void)
{
    ontick_cycle *cycle = NULL;
    ontick_cycle_options options;
    double not_a_number = 0.0;
    REFUSED(ontick_cycle_new(NULL, &cycle), ONTICK_ERROR_ARGUMENT, "interval_ns is 0");
    EXPECT(ontick_cycle_options_init(&options, sizeof options) == ONTICK_OK);
    options.interval_ns = UINT64_MAX;
    REFUSED(ontick_cycle_new(&options, &cycle), ONTICK_ERROR_ARGUMENT, "a day");
    options.interval_ns = 1000000;
    not_a_number /= not_a_number;
    options.duty = not_a_number;
    REFUSED(ontick_cycle_new(&options, &cycle), ONTICK_ERROR_ARGUMENT, "duty is NaN");
    options.duty = 1.5;
    REFUSED(ontick_cycle_new(&options, &cycle), ONTICK_ERROR_ARGUMENT, "duty is 1.5");
    options.duty = 0.5;
    options.wait = 3;
    REFUSED(ontick_cycle_new(&options, &cycle), ONTICK_ERROR_ARGUMENT, "wait is 3");
    options.wait = ONTICK_WAIT_SLEEP;
    options.overrun = -1;
    REFUSED(ontick_cycle_new(&options, &cycle), ONTICK_ERROR_ARGUMENT, "overrun is -1");
    options.overrun = ONTICK_OVERRUN_CATCH_UP;
    options.phase_ns = -3;
    REFUSED(ontick_cycle_new(&options, &cycle), ONTICK_ERROR_ARGUMENT, "phase_ns is -3");
    options.phase_ns = 250000;
    options.reserved = -1;
    REFUSED(ontick_cycle_new(&options, &cycle), ONTICK_ERROR_ARGUMENT, "reserved is -1");
    options.reserved = 0;
    EXPECT(ontick_cycle_new(&options, &cycle) == ONTICK_OK);
    REFUSED(ontick_cycle_next(cycle, NULL), ONTICK_ERROR_ARGUMENT, "tick is NULL");
    EXPECT(ontick_cycle_free(&cycle) == ONTICK_OK && cycle == NULL && ontick_cycle_free(&cycle) == ONTICK_OK);
}

static void histograms(const char *folder)
{
    char path[4096];
    ontick_recorder *recorder = NULL;
    ontick_histogram *histogram = NULL;
    ontick_stats stats;
    ontick_outlier outlier;
    ontick_tick tick;
    uint64_t value = 7;
    struct {
        ontick_stats known;
        uint64_t later;
    } longer;
    EXPECT(ontick_recorder_new(1000, &recorder) == ONTICK_OK);
    REFUSED(ontick_recorder_record(recorder, NULL), ONTICK_ERROR_ARGUMENT, "tick is NULL");
    EXPECT(ontick_recorder_next_outlier(recorder, &outlier) == ONTICK_NONE);
    EXPECT(ontick_recorder_histogram(recorder, &histogram) == ONTICK_OK);
    EXPECT(ontick_histogram_quantile(histogram, 0.5, &value) == ONTICK_NONE && value == 7);
    EXPECT(ontick_histogram_stats(histogram, &stats, sizeof stats) == ONTICK_OK);
    EXPECT(stats.count == 0 && stats.min_ns == 0 && stats.max_ns == 0 && stats.mean_ns == 0.0);
    EXPECT(ontick_histogram_free(&histogram) == ONTICK_OK);

    memset(&tick, 0, sizeof tick);
    for (uint64_t n = 1; n <= 100; n++) {
        tick.deadline_ns = n * 1000000;
        tick.latency_ns = n == 100 ? 5000 : n;
        tick.now_ns = tick.deadline_ns + tick.latency_ns;
        tick.missed = n == 50 ? 3 : 0;
        EXPECT(ontick_recorder_record(recorder, &tick) == ONTICK_OK);
    }
    EXPECT(ontick_recorder_next_outlier(recorder, &outlier) == ONTICK_OK && outlier.latency_ns == 5000);
    EXPECT(ontick_recorder_histogram(recorder, &histogram) == ONTICK_OK);
    memset(&longer, 1, sizeof longer);
    EXPECT(ontick_histogram_stats(histogram, &longer.known, sizeof longer) == ONTICK_OK);
    EXPECT(longer.known.count == 100 && longer.known.missed == 3 && longer.known.outliers == 1 && longer.later == 0);
    EXPECT(longer.known.min_ns == 1 && longer.known.max_ns == 5000 && longer.known.mean_ns == 99.5);
    EXPECT(ontick_histogram_quantile(histogram, 0.5, &value) == ONTICK_OK && value == 50);
    EXPECT(ontick_histogram_below(histogram, 11, &value) == ONTICK_OK && value == 10);
    REFUSED(ontick_histogram_quantile(histogram, 1.1, &value), ONTICK_ERROR_ARGUMENT, "from 0 to 1");
    REFUSED(ontick_histogram_quantile(histogram, 0.5, NULL), ONTICK_ERROR_ARGUMENT, "NULL");
    REFUSED(ontick_histogram_stats(histogram, NULL, sizeof stats), ONTICK_ERROR_ARGUMENT, "NULL");
    REFUSED(ontick_histogram_stats(histogram, &stats, 0), ONTICK_ERROR_ARGUMENT, "sizeof(ontick_stats)");
    uint64_t counted = 0;
    ontick_bucket bucket;
    for (size_t i = 0; ontick_histogram_bucket(histogram, i, &bucket) == ONTICK_OK; i++) counted += bucket.count;
    EXPECT(counted == 100);
    REFUSED(ontick_histogram_save(histogram, NULL, NULL, NULL, "x"), ONTICK_ERROR_ARGUMENT, "name is NULL");
    REFUSED(ontick_histogram_save(histogram, "x", NULL, NULL, "/proc/x/y"), ONTICK_ERROR_SYSTEM, "/proc/x/y");
    snprintf(path, sizeof path, "%s/record.json", folder);
    EXPECT(ontick_histogram_save(histogram, "my loop", NULL, NULL, path) == ONTICK_OK);
    EXPECT(ontick_histogram_free(&histogram) == ONTICK_OK && ontick_recorder_free(&recorder) == ONTICK_OK);
    EXPECT(ontick_histogram_free(&histogram) == ONTICK_OK && ontick_recorder_free(&recorder) == ONTICK_OK);
}

static void lines(const char *chip)
{
    char out[64], in[64], past[64];
    ontick_line *output = NULL, *input = NULL, *again = NULL;
    ontick_line_options options;
    ontick_edge edge;
    snprintf(out, sizeof out, "sim:%s/4", chip);
    snprintf(in, sizeof in, "sim:%s/17", chip);
    snprintf(past, sizeof past, "sim:%s/4000", chip);
    REFUSED(ontick_line_open(NULL, NULL, &input), ONTICK_ERROR_ARGUMENT, "line's name is NULL");
    REFUSED(ontick_line_open("sim:", NULL, &input), ONTICK_ERROR_ARGUMENT, "names no line");
    REFUSED(ontick_line_open(past, NULL, &input), ONTICK_ERROR_NOT_FOUND, "the chip has lines 0 to");
    REFUSED(ontick_line_open("gpiochip77:1", NULL, &input), ONTICK_ERROR_NOT_FOUND, "gpiochip77");
    EXPECT(ontick_line_options_init(&options, sizeof options) == ONTICK_OK);
    options.edges = ONTICK_EDGES_BOTH;
    options.direction = ONTICK_AS_IS;
    REFUSED(ontick_line_open(in, &options, &input), ONTICK_ERROR_UNSUPPORTED, "open it as an input");
    options.edges = ONTICK_EDGES_NONE;
    options.bias = ONTICK_BIAS_PULL_UP;
    REFUSED(ontick_line_open(in, &options, &input), ONTICK_ERROR_UNSUPPORTED, "open it as an input");
    options.bias = ONTICK_BIAS_AS_IS;
    options.edges = ONTICK_EDGES_BOTH;
    options.direction = ONTICK_INPUT;
    EXPECT(ontick_line_open(in, &options, &input) == ONTICK_OK);
    options.debounce_us = 16000001;
    REFUSED(ontick_line_open(out, &options, &output), ONTICK_ERROR_ARGUMENT, "debounced");
    options.debounce_us = 0;
    options.edges = 4;
    REFUSED(ontick_line_open(out, &options, &output), ONTICK_ERROR_ARGUMENT, "edges is 4");
    options.edges = ONTICK_EDGES_NONE;
    options.direction = 9;
    REFUSED(ontick_line_open(out, &options, &output), ONTICK_ERROR_ARGUMENT, "direction is 9");
    options.direction = ONTICK_OUTPUT;
    options.value = 2;
    REFUSED(ontick_line_open(out, &options, &output), ONTICK_ERROR_ARGUMENT, "value is 2");
    options.value = 0;
    options.on_exit = 7;
    REFUSED(ontick_line_open(out, &options, &output), ONTICK_ERROR_ARGUMENT, "on_exit is 7");
    options.on_exit = ONTICK_EXIT_LOW;
    EXPECT(ontick_simulated_wire(out, in) == ONTICK_OK);
    EXPECT(ontick_line_open(out, &options, &output) == ONTICK_OK);
    REFUSED(ontick_line_open(out, &options, &again), ONTICK_ERROR_IN_USE, "in use by");
    REFUSED(ontick_line_write(output, 5), ONTICK_ERROR_ARGUMENT, "0 or 1");
    REFUSED(ontick_line_write(input, 1), ONTICK_ERROR_UNSUPPORTED, "ONTICK_OUTPUT");
    REFUSED(ontick_line_edge(input, 0, NULL), ONTICK_ERROR_ARGUMENT, "edge is NULL");
    EXPECT(ontick_line_edge(input, 0, &edge) == ONTICK_NONE);
    EXPECT(ontick_line_write(output, 1) == ONTICK_OK && ontick_line_flush(output) == ONTICK_OK);
    EXPECT(ontick_line_read(input) == 1);
    EXPECT(ontick_line_edge(input, ontick_now_ns() + 1000000000, &edge) == ONTICK_OK && edge.rising == 1);
    EXPECT(ontick_line_close(&output) == ONTICK_OK && output == NULL && ontick_line_close(&output) == ONTICK_OK);
    EXPECT(ontick_line_read(input) == 0);
    EXPECT(ontick_line_close(&input) == ONTICK_OK);
    REFUSED(ontick_simulated_remove("x/../../../tmp/x"), ONTICK_ERROR_ARGUMENT, "1 to 32 letters");
    EXPECT(ontick_simulated_remove(chip) == ONTICK_OK);
}

static void watchdogs(void)
{
    ontick_watchdog *watchdog = NULL;
    REFUSED(ontick_watchdog_start(1, &watchdog), ONTICK_ERROR_ARGUMENT, "10 ms");
    REFUSED(ontick_watchdog_start(UINT64_MAX, &watchdog), ONTICK_ERROR_ARGUMENT, "an hour");
    EXPECT(ontick_watchdog_start(2000000000, &watchdog) == ONTICK_OK && ontick_watchdog_demoted(watchdog) == 0);
    EXPECT(ontick_watchdog_stop(&watchdog) == ONTICK_OK && ontick_watchdog_stop(&watchdog) == ONTICK_OK);
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    EXPECT(ontick_abi_version() >> 16 == ONTICK_ABI_MAJOR);
    EXPECT((ontick_abi_version() & 0xffff) >= ONTICK_ABI_MINOR);
    EXPECT(strchr(ontick_version(), '.') != NULL);
    EXPECT(strcmp(ontick_last_message(), "") == 0);
    EXPECT(strcmp(ontick_status_name(ONTICK_ERROR_IN_USE), "ONTICK_ERROR_IN_USE") == 0);
    EXPECT(strcmp(ontick_status_name(99), "unknown") == 0);
    no_handle();
    threads();
    cycles();
    histograms(argv[2]);
    lines(argv[1]);
    watchdogs();
    puts("all refused as they should be");
    return 0;
}

/* The loop that stands beside rust_loop.rs: c_loop CPU PRIORITY INTERVAL_NS CYCLES RECORD */
#include <ontick.h>
#include <stdio.h>
#include <stdlib.h>

static void must(int status)
{
    if (status < 0) {
        fprintf(stderr, "c_loop: %s\n", ontick_last_message());
        exit(2);
    }
}

int main(int argc, char **argv)
{
    char policy[16];
    ontick_thread_options how;
    ontick_cycle_options when;
    ontick_thread *thread;
    ontick_watchdog *watchdog;
    ontick_cycle *cycle;
    ontick_recorder *recorder;
    ontick_histogram *histogram;
    ontick_tick tick;

    if (argc != 6) return 2;
    must(ontick_thread_options_init(&how, sizeof how));
    how.cpu = atoi(argv[1]);
    snprintf(policy, sizeof policy, "fifo:%d", atoi(argv[2]));
    how.policy = policy;
    how.strict = 1;
    must(ontick_thread_setup(&how, &thread));
    must(ontick_watchdog_start(10000000000, &watchdog));
    must(ontick_cycle_options_init(&when, sizeof when));
    when.interval_ns = strtoull(argv[3], NULL, 10);
    when.phase_ns = ONTICK_PHASE_AUTO;
    must(ontick_cycle_new(&when, &cycle));
    must(ontick_recorder_new(UINT64_MAX, &recorder));
    for (int n = 0; n < 200; n++) must(ontick_cycle_next(cycle, &tick));
    for (unsigned long long left = strtoull(argv[4], NULL, 10); left > 0; left--) {
        must(ontick_cycle_next(cycle, &tick));
        must(ontick_recorder_record(recorder, &tick));
    }
    must(ontick_recorder_histogram(recorder, &histogram));
    must(ontick_histogram_save(histogram, "C", thread, cycle, argv[5]));
    return 0;
}

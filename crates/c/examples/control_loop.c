/* A control loop of 1 kHz with its own latency histogram: control_loop [CYCLES] */
#include <ontick.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
static volatile sig_atomic_t stop;
static void end(int number) { (void)number; stop = 1; }
static void must(int status) /* each call's status is negative where it failed */
{
    if (status < 0) { fprintf(stderr, "control_loop: %s\n", ontick_last_message()); exit(2); }
}
int main(int argc, char **argv)
{
    long cycles = argc > 1 ? atol(argv[1]) : 5000;
    ontick_thread *thread; ontick_watchdog *watchdog; ontick_recorder *recorder;
    ontick_cycle *cycle; ontick_cycle_options options; ontick_tick tick;
    ontick_histogram *histogram; ontick_stats stats; uint64_t p99 = 0;

    signal(SIGINT, end);
    must(ontick_thread_setup(NULL, &thread)); /* a quiet CPU, fifo:90, memory locked */
    for (int i = 0; i < ontick_thread_refusals(thread); i++) fprintf(stderr, "%s\n", ontick_thread_refusal(thread, i));
    must(ontick_watchdog_start(2000000000, &watchdog)); /* priority is lost after 2 s without a rest */
    must(ontick_cycle_options_init(&options, sizeof options));
    options.interval_ns = 1000000;
    must(ontick_cycle_new(&options, &cycle));
    must(ontick_recorder_new(100000, &recorder));
    while (!stop && cycles-- > 0) {
        must(ontick_cycle_next(cycle, &tick));
        must(ontick_recorder_record(recorder, &tick));
        /* read inputs, compute, set outputs */
    }
    must(ontick_recorder_histogram(recorder, &histogram));
    must(ontick_histogram_stats(histogram, &stats, sizeof stats));
    must(ontick_histogram_quantile(histogram, 0.99, &p99));
    printf("%.0f cycles, %.0f missed, p99 %.0f ns, max %.0f ns\n", (double)stats.count, (double)stats.missed, (double)p99, (double)stats.max_ns);
    must(ontick_histogram_free(&histogram)); must(ontick_recorder_free(&recorder));
    must(ontick_cycle_free(&cycle)); must(ontick_watchdog_stop(&watchdog));
    must(ontick_thread_restore(&thread)); /* priority and CPUs as they were */
    return 0;
}

/* What cyclictest measures, by libontick, under cyclictest's own options:
 *   from_cyclictest [-p PRIORITY] [-a CPU] [-i INTERVAL_US] [-l LOOPS] [-m] [-w hybrid|sleep] [-o RECORD]
 * docs/c.md goes through it line by line. */
#define _POSIX_C_SOURCE 200809L
#include <ontick.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t stop;

static void end(int number)
{
    (void)number;
    stop = 1;
}

static void must(int status)
{
    if (status < 0) {
        fprintf(stderr, "from_cyclictest: %s\n", ontick_last_message());
        exit(2);
    }
}

static long number(const char *text)
{
    char *rest;
    long value = strtol(text, &rest, 10);
    if (rest == text || *rest != '\0') {
        fprintf(stderr, "from_cyclictest: \"%s\" is no number\n", text);
        exit(2);
    }
    return value;
}

int main(int argc, char **argv)
{
    ontick_thread_options how;
    ontick_cycle_options when;
    long priority = 0, loops = 10000;
    const char *record = NULL;
    char policy[32];

    must(ontick_thread_options_init(&how, sizeof how));
    must(ontick_cycle_options_init(&when, sizeof when));
    how.cpu = ONTICK_CPU_KEEP;
    how.lock_memory = 0;
    how.strict = 1; /* as cyclictest: without its priority it does not start */
    when.wait = ONTICK_WAIT_SLEEP;
    when.interval_ns = 1000000;
    for (int option; (option = getopt(argc, argv, "p:a:i:l:mw:o:")) != -1;) {
        switch (option) {
        case 'p': priority = number(optarg); break;
        case 'a': how.cpu = (int32_t)number(optarg); break;
        case 'i': when.interval_ns = (uint64_t)number(optarg) * 1000; break;
        case 'l': loops = number(optarg); break;
        case 'm': how.lock_memory = 1; break;
        case 'w': when.wait = strcmp(optarg, "hybrid") == 0 ? ONTICK_WAIT_HYBRID : ONTICK_WAIT_SLEEP; break;
        case 'o': record = optarg; break;
        default: return 2;
        }
    }
    snprintf(policy, sizeof policy, priority > 0 ? "fifo:%ld" : "other", priority);
    how.policy = policy;
    signal(SIGINT, end);
    signal(SIGTERM, end);

    /* sched_setscheduler, sched_setaffinity, mlockall */
    ontick_thread *thread;
    must(ontick_thread_setup(&how, &thread));

    /* clock_gettime, clock_nanosleep(TIMER_ABSTIME), the addition of the interval, the histogram's array */
    ontick_cycle *cycle;
    ontick_recorder *recorder;
    ontick_tick tick;
    memset(&tick, 0, sizeof tick);
    must(ontick_cycle_new(&when, &cycle));
    must(ontick_recorder_new(UINT64_MAX, &recorder));
    for (long n = 0; n < loops && !stop; n++) {
        must(ontick_cycle_next(cycle, &tick));
        must(ontick_recorder_record(recorder, &tick));
    }

    ontick_histogram *histogram;
    ontick_stats stats;
    must(ontick_recorder_histogram(recorder, &histogram));
    must(ontick_histogram_stats(histogram, &stats, sizeof stats));
    printf("T: 0 (%5ld) P:%2ld I:%ld C:%7llu Min:%7llu Act:%5llu Avg:%5llu Max:%8llu\n", (long)getpid(), priority,
           (long)(when.interval_ns / 1000), (unsigned long long)stats.count, (unsigned long long)stats.min_ns / 1000,
           (unsigned long long)tick.latency_ns / 1000, (unsigned long long)stats.mean_ns / 1000,
           (unsigned long long)stats.max_ns / 1000);
    if (record != NULL) {
        must(ontick_histogram_save(histogram, "my loop", thread, cycle, record));
    }
    must(ontick_histogram_free(&histogram));
    must(ontick_recorder_free(&recorder));
    must(ontick_cycle_free(&cycle));
    must(ontick_thread_restore(&thread));
    return 0;
}

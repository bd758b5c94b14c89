/* Several timed threads in one program: a reader that looks while another records, messages of each thread's own, and a
 * thread that cannot be given back by another, a thread
 * with a small stack, and memory that the program locked itself. */
#include <ontick.h>
#include <pthread.h>
#include <sys/mman.h>
#include "expect.h"

static ontick_recorder *recorder;

static void *timed(void *place)
{
    ontick_thread_options how;
    ontick_cycle_options when;
    ontick_cycle *cycle = NULL;
    ontick_tick tick;
    EXPECT(strcmp(ontick_last_message(), "") == 0);
    EXPECT(ontick_thread_options_init(&how, sizeof how) == ONTICK_OK);
    how.policy = NULL;
    how.cpu = ONTICK_CPU_KEEP;
    EXPECT(ontick_thread_setup(&how, (ontick_thread **)place) == ONTICK_OK);
    EXPECT(ontick_cycle_options_init(&when, sizeof when) == ONTICK_OK);
    when.interval_ns = 100000;
    when.wait = ONTICK_WAIT_SLEEP;
    EXPECT(ontick_cycle_new(&when, &cycle) == ONTICK_OK);
    for (int n = 0; n < 500; n++) {
        EXPECT(ontick_cycle_next(cycle, &tick) == ONTICK_OK);
        EXPECT(ontick_recorder_record(recorder, &tick) == ONTICK_OK);
    }
    EXPECT(ontick_cycle_free(&cycle) == ONTICK_OK);
    /* Its own handle, as the one that was passed shows. */
    return NULL;
}

/* As a small system's threads are; what is refused there (a policy, the memory lock) does not matter. */
static void *small(void *unused)
{
    ontick_thread *thread = NULL;
    EXPECT(ontick_thread_setup(NULL, &thread) == ONTICK_OK);
    EXPECT(ontick_thread_restore(&thread) == ONTICK_OK);
    return unused;
}

static void try_small(void)
{
    pthread_attr_t how;
    pthread_t thread;
    EXPECT(pthread_attr_init(&how) == 0 && pthread_attr_setstacksize(&how, 64 << 10) == 0);
    EXPECT(pthread_create(&thread, &how, small, NULL) == 0);
    EXPECT(pthread_join(thread, NULL) == 0 && pthread_attr_destroy(&how) == 0);
}

static long locked_kib(void)
{
    char line[256];
    long kib = -1;
    FILE *status = fopen("/proc/self/status", "r");
    EXPECT(status != NULL);
    while (fgets(line, sizeof line, status) != NULL && sscanf(line, "VmLck: %ld", &kib) != 1) kib = -1;
    EXPECT(fclose(status) == 0);
    return kib;
}

static void try_locked(void)
{
    static char own[8192];
    ontick_thread *thread = NULL;
    EXPECT(locked_kib() == 0);
    EXPECT(mlock(own, sizeof own) == 0);
    EXPECT(ontick_thread_setup(NULL, &thread) == ONTICK_OK && ontick_thread_restore(&thread) == ONTICK_OK);
    EXPECT(locked_kib() >= 8);
    EXPECT(munlockall() == 0);
}

int main(void)
{
    ontick_thread *thread = NULL;
    pthread_t other;
    uint64_t count = 0;
    ontick_histogram *histogram = NULL;
    ontick_outlier outlier;
    try_locked();
    REFUSED(ontick_cycle_next(NULL, NULL), ONTICK_ERROR_ARGUMENT, "handle is NULL");
    EXPECT(ontick_recorder_new(0, &recorder) == ONTICK_OK);
    EXPECT(pthread_create(&other, NULL, timed, &thread) == 0);
    while (count < 500) {
        uint64_t now;
        EXPECT(ontick_recorder_histogram(recorder, &histogram) == ONTICK_OK);
        EXPECT(ontick_histogram_below(histogram, UINT64_MAX, &now) == ONTICK_OK && now >= count);
        EXPECT(ontick_histogram_free(&histogram) == ONTICK_OK);
        while (ontick_recorder_next_outlier(recorder, &outlier) == ONTICK_OK) EXPECT(outlier.latency_ns > 0);
        count = now;
    }
    EXPECT(pthread_join(other, NULL) == 0);
    REFUSED(ontick_thread_restore(&thread), ONTICK_ERROR_WRONG_THREAD, "only the thread that was set up");
    EXPECT(thread != NULL);
    EXPECT(ontick_recorder_free(&recorder) == ONTICK_OK);
    try_small();
    puts("each thread has its own");
    return 0;
}

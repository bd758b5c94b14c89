/* A program that gives up root's rights while its thread is set up: the loop runs on, a watchdog takes its priority, the
 * thread gets back what it had. Then what is refused is told, with what to do, and memory goes unlocked where it may not all be.
 * Usage: unprivileged */
#define _GNU_SOURCE
#include <grp.h>
#include <ontick.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>
#include "expect.h"

static int policy_now(void) { return sched_getscheduler(0) & ~SCHED_RESET_ON_FORK; }

int main(void)
{
    ontick_thread *thread = NULL;
    ontick_watchdog *watchdog = NULL;
    ontick_cycle *cycle = NULL;
    ontick_thread_options how;
    ontick_cycle_options when;
    ontick_tick tick;
    struct rlimit none = {0, 0}, usual = {8 << 20, 8 << 20};
    uint64_t end;
    void *later;

    EXPECT(setrlimit(RLIMIT_RTPRIO, &none) == 0 && setrlimit(RLIMIT_MEMLOCK, &usual) == 0);
    EXPECT(ontick_thread_options_init(&how, sizeof how) == ONTICK_OK);
    how.cpu = ONTICK_CPU_KEEP;
    how.lock_memory = 0;
    how.strict = 1;
    EXPECT(ontick_cycle_options_init(&when, sizeof when) == ONTICK_OK);
    when.interval_ns = 1000000;
    EXPECT(ontick_cycle_new(&when, &cycle) == ONTICK_OK);

    EXPECT(ontick_thread_setup(&how, &thread) == ONTICK_OK);
    EXPECT(ontick_watchdog_start(100000000, &watchdog) == ONTICK_OK);
    EXPECT(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
    EXPECT(ontick_cycle_next(cycle, &tick) == ONTICK_OK);
    EXPECT(policy_now() == SCHED_FIFO);
    end = ontick_now_ns() + 30000000000;
    while (ontick_watchdog_demoted(watchdog) == 0 && ontick_now_ns() < end) {}
    EXPECT(ontick_watchdog_demoted(watchdog) == 1 && policy_now() == SCHED_OTHER);
    EXPECT(ontick_watchdog_stop(&watchdog) == ONTICK_OK);
    EXPECT(ontick_thread_restore(&thread) == ONTICK_OK);
    EXPECT(policy_now() == SCHED_OTHER);

    REFUSED(ontick_thread_setup(&how, &thread), ONTICK_ERROR_REFUSED, "limits.conf");
    EXPECT(thread == NULL && policy_now() == SCHED_OTHER);
    how.strict = 0;
    EXPECT(ontick_thread_setup(&how, &thread) == ONTICK_OK);
    EXPECT(ontick_thread_refusals(thread) == 1 && strstr(ontick_thread_refusal(thread, 0), "limits.conf") != NULL);
    EXPECT(ontick_cycle_next(cycle, &tick) == ONTICK_OK);
    EXPECT(ontick_thread_restore(&thread) == ONTICK_OK && ontick_cycle_free(&cycle) == ONTICK_OK);

    /* Where not all memory may be locked, none is: else what is allocated later would be refused. */
    how.lock_memory = 1;
    EXPECT(ontick_thread_setup(&how, &thread) == ONTICK_OK);
    EXPECT(ontick_thread_refusals(thread) == 2 && strstr(ontick_thread_refusal(thread, 0), "RLIMIT_MEMLOCK") != NULL);
    later = malloc(12 << 20);
    EXPECT(later != NULL);
    free(later);
    EXPECT(ontick_thread_restore(&thread) == ONTICK_OK);
    puts("taken, given back, refused");
    return 0;
}

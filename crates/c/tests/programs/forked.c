/* A child that is forked by a timed thread: the handles of its parent are refused and left alone, it has no real-time
 * priority, and what it makes itself works. Usage: forked CHIP */
#define _GNU_SOURCE
#include <ontick.h>
#include <sched.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#include "expect.h"

int main(int argc, char **argv)
{
    char name[64];
    ontick_thread *thread = NULL;
    ontick_watchdog *watchdog = NULL;
    ontick_cycle *cycle = NULL;
    ontick_recorder *recorder = NULL;
    ontick_line *line = NULL;
    ontick_cycle_options options;
    ontick_line_options output;
    ontick_tick tick;
    cpu_set_t before, seen;
    int status = -1, policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;

    if (argc != 2) return 2;
    snprintf(name, sizeof name, "sim:%s/4", argv[1]);
    EXPECT(sched_getaffinity(0, sizeof before, &before) == 0);
    EXPECT(ontick_thread_setup(NULL, &thread) == ONTICK_OK);
    EXPECT(ontick_watchdog_start(2000000000, &watchdog) == ONTICK_OK);
    EXPECT(ontick_cycle_options_init(&options, sizeof options) == ONTICK_OK);
    options.interval_ns = 1000000;
    EXPECT(ontick_cycle_new(&options, &cycle) == ONTICK_OK && ontick_recorder_new(0, &recorder) == ONTICK_OK);
    EXPECT(ontick_line_options_init(&output, sizeof output) == ONTICK_OK);
    output.direction = ONTICK_OUTPUT;
    output.value = 1;
    output.on_exit = ONTICK_EXIT_LOW;
    EXPECT(ontick_line_open(name, &output, &line) == ONTICK_OK);
    EXPECT(ontick_cycle_next(cycle, &tick) == ONTICK_OK);

    pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        EXPECT(sched_getscheduler(0) == policy);
        EXPECT(sched_getaffinity(0, sizeof seen, &seen) == 0 && CPU_EQUAL(&seen, &before));
        REFUSED(ontick_cycle_next(cycle, &tick), ONTICK_ERROR_FORKED, "forked");
        REFUSED(ontick_recorder_record(recorder, &tick), ONTICK_ERROR_FORKED, "forked");
        REFUSED(ontick_line_write(line, 0), ONTICK_ERROR_FORKED, "forked");
        /* Closing them does no more than forget them: the parent still drives its line. */
        REFUSED(ontick_line_close(&line), ONTICK_ERROR_FORKED, "forked");
        REFUSED(ontick_watchdog_stop(&watchdog), ONTICK_ERROR_FORKED, "forked");
        REFUSED(ontick_thread_restore(&thread), ONTICK_ERROR_FORKED, "forked");
        EXPECT(line == NULL && watchdog == NULL && thread == NULL);
        REFUSED(ontick_line_open(name, &output, &line), ONTICK_ERROR_IN_USE, "in use by");
        EXPECT(ontick_cycle_new(&options, &cycle) == ONTICK_OK && ontick_cycle_next(cycle, &tick) == ONTICK_OK);
        EXPECT(ontick_cycle_free(&cycle) == ONTICK_OK);
        _exit(0);
    }
    EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT(ontick_line_read(line) == 1);
    EXPECT(ontick_cycle_next(cycle, &tick) == ONTICK_OK);
    EXPECT(ontick_line_close(&line) == ONTICK_OK && ontick_cycle_free(&cycle) == ONTICK_OK);
    EXPECT(ontick_recorder_free(&recorder) == ONTICK_OK && ontick_watchdog_stop(&watchdog) == ONTICK_OK);
    EXPECT(ontick_thread_restore(&thread) == ONTICK_OK);
    /* The thread has again what it had. */
    EXPECT((sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == policy);
    EXPECT(sched_getaffinity(0, sizeof seen, &seen) == 0 && CPU_EQUAL(&seen, &before));
    EXPECT(ontick_simulated_remove(argv[1]) == ONTICK_OK);
    puts("the child left alone what is its parent's");
    return 0;
}

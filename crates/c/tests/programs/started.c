/* What a timed thread starts, by pthread_create, posix_spawn or system, has no real-time priority. Usage: started */
#define _GNU_SOURCE
#include <ontick.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#include "expect.h"

extern char **environ;

static void *policy_of_thread(void *place)
{
    *(int *)place = sched_getscheduler(0);
    return NULL;
}

int main(int argc, char **argv)
{
    char itself[] = "/proc/self/exe", child[] = "child", command[512], path[400];
    char *words[] = {itself, child, NULL};
    ontick_thread *thread = NULL;
    pthread_t other;
    pid_t spawned;
    int status = -1, seen = -1, granted;
    ssize_t length;

    (void)argv;
    if (argc > 1) return sched_getscheduler(0); /* as a child: what it has */
    length = readlink(itself, path, sizeof path - 1);
    EXPECT(length > 0);
    path[length] = 0;
    EXPECT(ontick_thread_setup(NULL, &thread) == ONTICK_OK);
    granted = ontick_thread_refusals(thread) == 0;
    if (granted) EXPECT(sched_getscheduler(0) == (SCHED_FIFO | SCHED_RESET_ON_FORK));

    EXPECT(pthread_create(&other, NULL, policy_of_thread, &seen) == 0 && pthread_join(other, NULL) == 0);
    EXPECT(seen == SCHED_OTHER);
    EXPECT(posix_spawn(&spawned, itself, NULL, NULL, words, environ) == 0);
    EXPECT(waitpid(spawned, &status, 0) == spawned && WIFEXITED(status) && WEXITSTATUS(status) == SCHED_OTHER);
    snprintf(command, sizeof command, "'%s' child", path);
    status = system(command);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == SCHED_OTHER);

    EXPECT(ontick_thread_restore(&thread) == ONTICK_OK);
    EXPECT((sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == SCHED_OTHER);
    puts(granted ? "normal, all of them" : "normal, all of them, without the right to more");
    return 0;
}

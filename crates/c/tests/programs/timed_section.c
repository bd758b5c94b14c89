/* A timed loop through the library allocates nothing and makes no system call but the sleep: allocations are counted, and
 * the kernel ends the program at any other call. Usage: timed_section CHIP */
#define _GNU_SOURCE
#include <ontick.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "expect.h"

static volatile int counting;
static volatile unsigned long allocations;

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

/* In place of the C library's, also for libontick.so. */
void *malloc(size_t size) { allocations += counting; return __libc_malloc(size); }
void *calloc(size_t n, size_t size) { allocations += counting; return __libc_calloc(n, size); }
void *realloc(void *old, size_t size) { allocations += counting; return __libc_realloc(old, size); }
void free(void *old) { allocations += counting; __libc_free(old); }
int posix_memalign(void **place, size_t alignment, size_t size)
{
    allocations += counting;
    *place = __libc_memalign(alignment, size);
    return *place == NULL;
}

#define ALLOW(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void forbid_system_calls(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(__NR_clock_nanosleep),
        ALLOW(__NR_clock_gettime), /* where the vDSO cannot answer */
#ifdef __NR_clock_nanosleep_time64
        ALLOW(__NR_clock_nanosleep_time64),
        ALLOW(__NR_clock_gettime64),
#endif
        ALLOW(__NR_exit_group),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    EXPECT(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

int main(int argc, char **argv)
{
    char name[64];
    ontick_thread *thread;
    ontick_cycle *cycle;
    ontick_recorder *recorder;
    ontick_line *line;
    ontick_cycle_options options;
    ontick_line_options output;
    ontick_tick tick;
    void *block;

    if (argc != 2) return 2;
    counting = 1;
    block = malloc(10);
    counting = 0;
    EXPECT(allocations == 1 && block != NULL);
    free(block);
    snprintf(name, sizeof name, "sim:%s/4", argv[1]);
    EXPECT(ontick_thread_setup(NULL, &thread) == ONTICK_OK);
    EXPECT(ontick_cycle_options_init(&options, sizeof options) == ONTICK_OK);
    options.interval_ns = 200000;
    EXPECT(ontick_cycle_new(&options, &cycle) == ONTICK_OK);
    /* With 0 each late cycle is an outlier, and handed on. */
    EXPECT(ontick_recorder_new(0, &recorder) == ONTICK_OK);
    EXPECT(ontick_line_options_init(&output, sizeof output) == ONTICK_OK);
    output.direction = ONTICK_OUTPUT;
    EXPECT(ontick_line_open(name, &output, &line) == ONTICK_OK);
    EXPECT(ontick_simulated_remove(argv[1]) == ONTICK_OK); /* by name only: the line stays open */
    puts("armed");
    fflush(stdout);
    allocations = 0;
    counting = 1;
    forbid_system_calls();
    for (int n = 0; n < 1000; n++) {
        if (ontick_cycle_next(cycle, &tick) != ONTICK_OK || ontick_recorder_record(recorder, &tick) != ONTICK_OK) _exit(3);
        if (ontick_line_write(line, n % 2) != ONTICK_OK || ontick_line_read(line) != n % 2) _exit(4);
    }
    /* Refusals with a fixed sentence do not allocate either. */
    if (ontick_cycle_next(NULL, &tick) != ONTICK_ERROR_ARGUMENT || ontick_line_write(line, 7) != ONTICK_ERROR_ARGUMENT) _exit(5);
    _exit(allocations == 0 ? 0 : 6);
}

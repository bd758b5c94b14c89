/* What the tests' programs say when something is not as it should be. */
#ifndef EXPECT_H
#define EXPECT_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s (last message: %s)\n", __FILE__, __LINE__, #condition, ontick_last_message()); \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* The status, and a word of the sentence that explains it. */
#define REFUSED(call, status, word)                                                                                    \
    do {                                                                                                               \
        int seen = (call);                                                                                             \
        if (seen != (status) || strstr(ontick_last_message(), (word)) == NULL) {                                       \
            fprintf(stderr, "%s:%d: %s is %s: %s\n", __FILE__, __LINE__, #call, ontick_status_name(seen),              \
                    ontick_last_message());                                                                            \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)
#endif

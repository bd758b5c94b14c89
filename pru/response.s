# A pin of r30 follows a pin of r31.
#
# A round of `follow` looks at the input twice, and in between reads the counter and the host's word, so that it ends
# when it is told to:
#
#                         hardware    simulator
#       look A                   1            1
#       read the counter       R 4            3
#       look B                   1            1
#       read COMMAND             3            3
#       qbeq                     1            1
#
# From a look to the end of the `set` or `clr` that answers it are 2 cycles: a branch, which is the look itself, and
# the write. From A to B are 1 + R, from B to A are 5, so a change that comes just after a look is answered
#
#       max(1 + R, 5) + 2 = 7 cycles, 35 ns, after it at the latest; one that comes just before a look, after 2.
#
# That holds for a change that comes when the bookkeeping of the one before is over (about 60 cycles, 300 ns); one that
# comes sooner waits for it. Where somebody else uses the shared RAM at that moment, a read takes longer.
#
# What is measured of each answer is its bound: from the last look that still saw the old level to the write that
# answers, by the counter. The answer itself took less than that, and whatever a read took longer than usual is in it.

        .equ    FIRMWARE, 2
        .include "shared.inc"
        .include "common.inc"

# One direction: until the input is \level (s or c, as in qbbs, qbbc), then \act; then on with \next.
        .macro  follow name, level, act, next
\name\():
        qbb\level \name\()_a, r31, r6            # look A
        lbbo    &r11, r3, CYCLE, 4
        qbb\level \name\()_b, r31, r6            # look B
        lbbo    &r0, r2, COMMAND, 4
        qbeq    \name, r0, START
        jmp     stopped

        # Seen by A: the last look was B of the round before, R behind the start of the last read of the counter.
\name\()_a:
        \act    r30, r30, r5
        lbbo    &r15, r3, CYCLE, 4
        sub     r14, r15, r11
        sub     r14, r14, r13
        jmp     \name\()_answered
        # Seen by B: the last look was A, one cycle before the start of that read.
\name\()_b:
        \act    r30, r30, r5
        lbbo    &r15, r3, CYCLE, 4
        sub     r14, r15, r11
        add     r14, r14, 1
\name\()_answered:
        qbeq    \name\()_unknown, r15, r21
        mov     r20, r15
        jal     r1.w0, record
        qbbc    \name\()_on, r20, 31
        jmp     \name\()_back
        # The counter had come to its end: nobody knows how long this took.
\name\()_unknown:
        lbbo    &r16, r2, LATE, 4
        add     r16, r16, 1
        sbbo    &r16, r2, LATE, 4
\name\()_back:
        jal     r1.w0, set_back
\name\()_on:
        qbeq    \next, r8, 0
        sub     r7, r7, 1
        qbne    \next, r7, 0
        jmp     finished
        .endm

work:
        fill    &r21, 4
        # The output has its right level from the start.
        lbbo    &r11, r3, CYCLE, 4
        qbbs    inverse, r4, INVERSE
        qbbs    high, r31, r6
        clr     r30, r30, r5
        jmp     rise
high:   set     r30, r30, r5
        jmp     fall
inverse:
        qbbs    inverse_high, r31, r6
        set     r30, r30, r5
        jmp     inverse_rise
inverse_high:
        clr     r30, r30, r5
        jmp     inverse_fall

        follow  rise, s, set, fall
        follow  fall, c, clr, rise
        follow  inverse_rise, s, clr, inverse_fall
        follow  inverse_fall, c, set, inverse_rise

finished:
        ldi     r0, FINISHED
        jmp     rest
stopped:
        ldi     r0, STOPPED
        jmp     rest

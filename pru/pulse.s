# Pulses on a pin of r30, as wide as they should be to the cycle of 5 ns.
#
# Nothing between the instruction that raises the pin and the one that lowers it touches memory, so their distance is
# a count of instructions:
#
#       set                     1       the pin rises at its end
#       qbbc                    1
#       mov                     1       if the width is odd
#       sub, qbne             2 x n     n = (width - 2) / 2, rounded down
#       clr                     1       the pin falls at its end
#
# From the end of `set` to the end of `clr`: 1 + odd + 2n + 1 = width, where n = (width - 2) / 2, rounded down, and odd
# is what that leaves. n is 1 at least, so the narrowest pulse is 4 cycles, 20 ns.
#
# Each is measured with the cycle counter as well, read before the rise and after the fall. That takes R cycles each
# time (`calibrate`), so the two readings are R + width + 1 apart. It would show if an instruction ever waited.
#
# The gap ends by the counter: it is read until less than NEAR cycles are left, and the rest is counted out. What one
# read takes more or less than usual is the error of the gap, and of that gap alone.

        .equ    FIRMWARE, 1
        .include "shared.inc"
        .include "common.inc"

        .equ    NARROWEST, 4
        .equ    SHORTEST, 120           # the bookkeeping between two pulses fits in: docs/pru.md
        .equ    NEAR, 40                # more than once around `wait`, also with reads that are slow

work:
        ldi     r18, WIDTH
        qbgt    refuse, r9, NARROWEST
        ldi     r18, GAP
        qbgt    refuse, r10, SHORTEST
        clr     r30, r30, r5
        # From the read that tells of the gap's rest to the rise: that read, R; sub, qbge, sub, qblt, qbge, sub, lsr, qbbc,
        # 8; one more and 2 x m, counted out; the read before the rise, R; set, 1. So r19 = 2R + 9 is not counted out.
        # m is 1 at least, so 2 must be left.
        add     r19, r13, r13
        add     r19, r19, 9
        add     r21, r19, 1
        # The first gap begins now.
        lbbo    &r11, r3, CYCLE, 4

pulse:
        # No period is longer than 10 s, so it is soon enough to set the counter back after 10.7. The gap in which that
        # happens is longer by what the counter does not see.
        qbbc    1f, r11, 31
        jal     r1.w0, set_back
1:
        # n, and whether there is one more.
        sub     r20, r9, 2
        lsr     r12, r20, 1

        # Until the gap is nearly over the host can stop it.
wait:
        lbbo    &r0, r2, COMMAND, 4
        qbne    stopped, r0, START
        lbbo    &r15, r3, CYCLE, 4
        sub     r15, r15, r11           # so much of the gap had passed when that was read
        qbge    late, r10, r15
        sub     r15, r10, r15           # and so much was left
        qblt    wait, r15, NEAR
        qbge    late, r15, r21
        sub     r15, r15, r19
        lsr     r16, r15, 1
        qbbc    2f, r15, 0
        mov     r0, r0
2:      sub     r16, r16, 1
        qbne    2b, r16, 0
now:
        lbbo    &r15, r3, CYCLE, 4
        set     r30, r30, r5
        qbbc    3f, r20, 0
        mov     r0, r0
3:      sub     r12, r12, 1
        qbne    3b, r12, 0
        clr     r30, r30, r5
        # The gap began when the pin fell, just as this read begins.
        lbbo    &r11, r3, CYCLE, 4
        sub     r14, r11, r15
        sub     r14, r14, r13
        sub     r14, r14, 1
        jal     r1.w0, record
        qbeq    pulse, r8, 0
        sub     r7, r7, 1
        qbne    pulse, r7, 0
        ldi     r0, FINISHED
        jmp     rest

late:
        lbbo    &r15, r2, LATE, 4
        add     r15, r15, 1
        sbbo    &r15, r2, LATE, 4
        jmp     now

stopped:
        ldi     r0, STOPPED
        jmp     rest

// SPDX-License-Identifier: BSD-2-Clause
// Functions with frames of known size: 3,000 bytes, 500, 100. The last may have its own below the stack pointer.
#define FRAME(name, bytes, after)                                                                            \
    __attribute__((noinline, noclone)) void name(void) {                                                     \
        volatile char room[bytes];                                                                           \
        room[0] = room[bytes - 1] = 1;                                                                       \
        after;                                                                                               \
        room[0] = 2;                                                                                         \
    }

FRAME(leaf, 100, (void)0)
FRAME(inner, 100, (void)0)
FRAME(middle, 500, inner())
FRAME(outer, 3000, middle())

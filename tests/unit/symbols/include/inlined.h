// SPDX-License-Identifier: BSD-2-Clause
// An inlined function of another file.
#ifndef TEST_SYMBOLS_INLINED_H
#define TEST_SYMBOLS_INLINED_H

enum { outer_constant = 17 };

static inline __attribute__((always_inline)) int header_inline(int x) {
    int sum = 0;
    while (x > 0) {
        sum += x & 3;
        x >>= 2;
    }
    return sum;
}

#endif

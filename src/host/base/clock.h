// SPDX-License-Identifier: BSD-2-Clause
//
// The clocks of the kernel as one number.
#ifndef SEEP_BASE_CLOCK_H
#define SEEP_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

// What `clock` shows, in ns. CLOCK_MONOTONIC is the clock of an image.
static inline int64_t seep_clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t seep_monotonic_ns(void) {
    return seep_clock_ns(CLOCK_MONOTONIC);
}

#endif

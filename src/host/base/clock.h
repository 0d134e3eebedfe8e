// SPDX-License-Identifier: BSD-2-Clause
//
// The clocks of the kernel as one number.
#ifndef SEEP_BASE_CLOCK_H
#define SEEP_BASE_CLOCK_H

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>

// What `clock` shows, in ns. CLOCK_MONOTONIC is the clock of an image.
static inline int64_t seep_clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// Nanoseconds since some moment of the boot, without the time asleep.
static inline int64_t seep_monotonic_ns(void) {
    return seep_clock_ns(CLOCK_MONOTONIC);
}

// The same duration or time for the kernel. `ns` is not negative.
static inline struct timespec seep_timespec(int64_t ns) {
    return (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
}

// Sleeps until that time of CLOCK_MONOTONIC, or until a signal has set *stop. A signal that comes just before
// the system call does not end the sleep.
static inline void seep_sleep_until(int64_t then_ns, const volatile sig_atomic_t *stop) {
    struct timespec then = seep_timespec(then_ns);
    while (!*stop && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL) == EINTR)
        continue;
}

#endif

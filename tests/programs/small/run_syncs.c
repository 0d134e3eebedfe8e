// SPDX-License-Identifier: BSD-2-Clause
// For the tool: tells of a sync, and with SLOW_CLOCK its clock goes a thousand times slower, so that a run is short
// however loaded the machine is.
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int fsync(int fd) {
    (void)fd;
    return truncate(getenv("SYNCED"), 1);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    long done = syscall(SYS_clock_gettime, clock, time);
    if (done == 0 && clock == CLOCK_MONOTONIC && getenv("SLOW_CLOCK")) {
        long long ns = (time->tv_sec * 1000000000LL + time->tv_nsec) / 1000;
        time->tv_sec = (time_t)(ns / 1000000000);
        time->tv_nsec = (long)(ns % 1000000000);
    }
    return (int)done;
}

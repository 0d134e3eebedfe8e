// SPDX-License-Identifier: BSD-2-Clause
// Loaded into the tool: the process that is to start the program does not start it, and each look at the clock is a
// second later than the last one.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int execv(const char *path, char *const words[]) {
    (void)path, (void)words;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sleep(60);
    _exit(1);
}

int clock_gettime(clockid_t clock, struct timespec *ret_at) {
    static time_t later;
    long done = syscall(SYS_clock_gettime, clock, ret_at);
    ret_at->tv_sec += ++later;
    return (int)done;
}

// SPDX-License-Identifier: BSD-2-Clause
//
// For tests only (-Dfaults=true, and the library that tests/live builds for itself): system calls of this
// library that fail. SEEP_FAULT=N makes the Nth call of the process fail with the first errno that is
// sensible for it, N:E with errno E, N+ and N+:E that call and all that follow. N:dU: the call comes U
// microseconds later. N:sS: the thread gets the signal S right before the call, if there is a handler. Calls
// with N:dU and N:sS are made, and do not fail by this. tN and so on: only calls of other threads than the
// first count. SEEP_FAULT_SEEN names a file that the Nth call makes: so a test knows when N has gone past the
// last call. SEEP_FAULT_SMALL=1 makes the tables that grow with the program
// small. SEEP_FAULT_CLOCK=N: the clock of events is off by up to N of its units in each thread, and steps
// anew every 64 events.
#ifdef SEEP_FAULTS
#include <errno.h>
#include <stdlib.h>

#include "preload/events.h"
#include "preload/preload.h"

enum { NOT_READ = 0, OFF = 1, ON = 2 };
static _Atomic uint32_t state;
static _Atomic uint64_t nr_calls;
static uint64_t target;
static bool and_all_after;
static bool of_threads;
static char wanted_kind; // 'd', 's'; else it fails
static uint64_t wanted;  // errno, microseconds or signal; 0: the usual errno
static char seen[512];

// What a call of its kind says when something is short, forbidden or gone. 0: it cannot fail, or the
// program's life hangs on it and not ours.
static int usual_errno(long nr) {
    switch (nr) {
    case SYS_exit_group:
    case SYS_getpid:
    case SYS_gettid:
    case SYS_getppid:
    case SYS_geteuid:
    case SYS_sched_yield:
    case SYS_kill:
    case SYS_munmap: // of whole areas: the kernel has no reason
        return 0;
    case SYS_memfd_create:
    case SYS_openat:
    case SYS_socket:
        return EMFILE;
    case SYS_connect:
        return ECONNREFUSED;
    case SYS_sendmsg:
        return EAGAIN;
    case SYS_write:
        return ENOSPC;
    case SYS_read:
        return EIO;
    case SYS_ftruncate:
        return EFBIG;
    case SYS_madvise:
        return EINVAL;
    case SYS_rt_sigprocmask: // sys_readable
        return EFAULT;
    case SYS_readlinkat:
    case SYS_renameat2:
    case SYS_unlinkat:
        return EACCES;
    case SYS_close:
    case SYS_nanosleep:
    case SYS_wait4:
        return EINTR;
    case SYS_tgkill:
    case SYS_prctl:
    case SYS_prlimit64:
    case SYS_sigaltstack:
        return EPERM;
    case SYS_newfstatat:
        return ENOENT;
    default: // memory in all its forms
        return ENOMEM;
    }
}

static uint64_t digits(const char **at) {
    uint64_t value = 0;
    for (; **at >= '0' && **at <= '9'; ++*at)
        value = value * 10 + (uint64_t)(**at - '0');
    return value;
}

static void read_setting(void) {
    const char *at = getenv("SEEP_FAULT");
    const char *name = getenv("SEEP_FAULT_SEEN");
    uint32_t result = OFF;
    if (at && *at) {
        of_threads = *at == 't';
        at += of_threads;
        target = digits(&at);
        and_all_after = *at == '+';
        at += and_all_after;
        if (*at == ':') {
            at++;
            wanted_kind = *at;
            at += *at == 'd' || *at == 's';
            wanted = digits(&at);
        }
        for (size_t i = 0; name && name[i] && i < sizeof(seen) - 1; i++)
            seen[i] = name[i];
        result = ON;
    }
    atomic_store_explicit(&state, result, memory_order_release);
}

// Tables as small as the window can cut them: 4,096 nodes and sites, 85 threads, 682 modules.
uint64_t seep_fault_area(uint64_t bytes) {
    const char *small = getenv("SEEP_FAULT_SMALL");
    return small && *small ? SEEP_MIN(bytes, (uint64_t)SEEP_LARGEST_PAGE) : bytes;
}

// The kernel's structure begins with the handler.
static bool is_handled(int number) {
    uint64_t action[8] = {0};
    return sys6_real(SYS_rt_sigaction, number, 0, (long)action, SYS_SIGSET_BYTES, 0, 0) == 0 && *action;
}

long seep_fault(long nr) {
    if (atomic_load_explicit(&state, memory_order_acquire) == NOT_READ)
        read_setting();
    int error = usual_errno(nr);
    if (atomic_load_explicit(&state, memory_order_acquire) != ON || !error)
        return 0;
    if (of_threads && sys6_real(SYS_gettid, 0, 0, 0, 0, 0, 0) == sys6_real(SYS_getpid, 0, 0, 0, 0, 0, 0))
        return 0;
    uint64_t call = atomic_fetch_add_explicit(&nr_calls, 1, memory_order_relaxed) + 1;
    if (call < target || (call > target && !and_all_after))
        return 0;
    if (call == target && *seen)
        sys6_real(SYS_close,
                  sys6_real(SYS_openat, AT_FDCWD, (long)seen, O_WRONLY | O_CREAT | O_CLOEXEC, 0600, 0, 0), 0,
                  0, 0, 0, 0);
    if (wanted_kind != 'd' && wanted_kind != 's')
        return -(wanted ? (long)wanted : error);
    if (wanted_kind == 'd')
        sys6_real(SYS_nanosleep,
                  (long)&(struct timespec){(time_t)(wanted / 1000000), (long)(wanted % 1000000) * 1000}, 0, 0,
                  0, 0, 0);
    else if (is_handled((int)wanted))
        sys6_real(SYS_tgkill, sys6_real(SYS_getpid, 0, 0, 0, 0, 0, 0),
                  sys6_real(SYS_gettid, 0, 0, 0, 0, 0, 0), (long)wanted, 0, 0, 0);
    return 0;
}

uint64_t seep_fault_clock(uint64_t stamp) {
    static _Thread_local uint64_t random, nr_calls_here, most, off;
    if (!random) {
        const char *text = getenv("SEEP_FAULT_CLOCK");
        most = text ? digits(&text) : 0;
        random = (uint64_t)(uintptr_t)&random * UINT64_C(0x9e3779b97f4a7c15) | 1;
    }
    if (most && nr_calls_here++ % 64 == 0) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        off = random % (2 * most + 1);
    }
    return stamp + off - most;
}
#endif

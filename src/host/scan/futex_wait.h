// SPDX-License-Identifier: BSD-2-Clause
// A thread that sleeps in the kernel, in a wait that a stop may change: on a futex, or in a call that may
// have done a part of its work (write to a pipe, send, io_uring_enter). What /proc tells of it without a
// stop.
#ifndef SEEP_SCAN_FUTEX_WAIT_H
#define SEEP_SCAN_FUTEX_WAIT_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct seep_futex_wait {
    uint64_t arguments[6]; // of the system call
    uint64_t sp_rt;
    uint64_t pc_rt;
    bool stop_ends_it; // a restarted call would end at once, or its result is not known
};

// false: the thread does something else, or may not be looked at.
bool seep_futex_wait_find(pid_t pid, pid_t tid, struct seep_futex_wait *ret_wait);

// The thread pointer of a thread that was not stopped, from what lies above its stack; 0: not found.
uint64_t seep_thread_pointer_find(pid_t pid, uint64_t sp_rt);

#endif

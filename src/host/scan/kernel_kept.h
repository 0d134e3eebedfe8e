// SPDX-License-Identifier: BSD-2-Clause
//
// Addresses that the kernel keeps for a process and tells: data of epoll (/proc/PID/fdinfo) and values of
// POSIX timers (/proc/PID/timers). It does not tell alternate signal stacks, requests of io_uring and aio at
// work, or what lies in pipes and sockets. Source: proc_pid_fdinfo(5), "eventpoll files"; proc_pid_timers(5).
#ifndef SEEP_SCAN_KERNEL_KEPT_H
#define SEEP_SCAN_KERNEL_KEPT_H

#include <sys/types.h>

#include "core/attr.h"

struct seep_kernel_word {
    uint64_t word;
    int32_t epoll; // descriptor of the epoll instance; -1: it is of a timer
    uint32_t of;   // the watched descriptor, or the number of the timer
};

struct seep_kernel_kept {
    struct seep_kernel_word *items;
    size_t nr_items;
    size_t capacity;
    bool is_cut; // there is more than is read
    int32_t *epolls;
    size_t nr_epolls;
    size_t epolls_capacity;
};

// Both leave out what cannot be read. false: out of memory; call _deinit in any case.
// Finds the descriptors of epoll among all. The process need not wait for that: it runs.
SEEP_MUST_CHECK bool seep_kernel_kept_find(pid_t pid, struct seep_kernel_kept *kept);
// The process is stopped.
SEEP_MUST_CHECK bool seep_kernel_kept_read(pid_t pid, struct seep_kernel_kept *kept);
void seep_kernel_kept_deinit(struct seep_kernel_kept *kept);

#endif

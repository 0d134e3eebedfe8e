// SPDX-License-Identifier: BSD-2-Clause
//
// Addresses that the kernel keeps for a process and tells: data of epoll and buffers registered with io_uring
// (/proc/PID/fdinfo), values of POSIX timers (/proc/PID/timers), values of queued signals
// (PTRACE_PEEKSIGINFO), and of threads the list of robust futexes (get_robust_list) and the area of
// restartable sequences (PTRACE_GET_RSEQ_CONFIGURATION). It does not tell alternate signal stacks, of which
// the library takes note, requests of io_uring and aio at work, values of mq_notify, where it clears the
// number of a thread that ends (set_tid_address), or what lies in pipes and sockets.
// Source: proc_pid_fdinfo(5), "eventpoll files"; proc_pid_timers(5); ptrace(2); get_robust_list(2); Linux,
// io_uring/fdinfo.c.
#ifndef SEEP_SCAN_KERNEL_KEPT_H
#define SEEP_SCAN_KERNEL_KEPT_H

#include <sys/types.h>

#include "scan/stop.h"

struct seep_kernel_word {
    uint64_t word;
    uint8_t kind;  // enum seep_root_kind (roots.h)
    bool is_start; // it counts as a pointer to the start of what it leads into
    int32_t id;    // descriptor, number of the timer or the signal, or thread
    uint32_t of;   // of epoll: the watched descriptor; of SEEP_ROOT_KERNEL: enum seep_kernel_place
};

struct seep_kernel_kept {
    struct seep_kernel_word *items;
    size_t nr_items;
    size_t capacity;
    bool is_cut;     // there is more than is read
    int32_t *epolls; // descriptors
    size_t nr_epolls;
    size_t epolls_capacity;
    int32_t *rings; // descriptors of io_uring
    size_t nr_rings;
    size_t rings_capacity;
    size_t nr_signals; // that were looked at
};

// Both leave out what cannot be read. false: out of memory; call _deinit in any case.
// Finds the descriptors of epoll and io_uring among all. The process need not wait for that: it runs.
SEEP_MUST_CHECK bool seep_kernel_kept_find(pid_t pid, struct seep_kernel_kept *kept);
// The process is stopped, its threads by the calling thread.
SEEP_MUST_CHECK bool seep_kernel_kept_read(pid_t pid, const struct seep_stopped *stopped,
                                           struct seep_kernel_kept *kept);
void seep_kernel_kept_deinit(struct seep_kernel_kept *kept);

#endif

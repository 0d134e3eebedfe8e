// SPDX-License-Identifier: BSD-2-Clause
//
// A copy-on-write copy of a stopped process: a child of it that never runs. One of its threads is made to
// call clone(2), so that the process need not wait while its memory is read: only for the kernel to copy its
// page tables.
//
// While the thread makes the call it has not got its own registers, and the kernel gives no tracer his
// registers back when a tracer dies. So a helper of ours does it, the guard: no signal to us reaches it, and
// when we are gone it finishes, ends the copy, and ends.
//
// Invariants
//  - No byte of the process is changed: the thread goes to a syscall instruction that is there, and back.
//  - The copy is stopped at birth, and dies with the guard (PTRACE_O_EXITKILL). In the moment before that is
//  set
//    it could only fault at once, on no stack and with all signals blocked.
//  - It ends without a signal (no SIGCHLD), the process's own waits do not see it but with __WALL or
//  __WCLONE, and
//    what is left of it in the table of processes is waited for by the process, in the way that it was made.
// What the process shares with others is shared with the copy as well, and goes on changing.
// Source: ptrace(2), clone(2). x86-64 only, 32-bit programs included.
#ifndef SEEP_SCAN_PROCESS_COPY_H
#define SEEP_SCAN_PROCESS_COPY_H

#include "scan/stop.h"

struct seep_process_copy {
    pid_t pid;       // as we see it; 0: none
    int64_t own_pid; // as the process sees it
    pid_t of;
    bool narrow;      // it runs a 32-bit program
    uint64_t call_rt; // where the process has a syscall instruction
    pid_t guard;      // our helper; 0: none
    int fd;           // to it
};

// Before the process is stopped: what the copy needs. SEEP_E_UNSUPPORTED where it cannot be made: another
// CPU, a seccomp filter, stopped by job control.
SEEP_MUST_CHECK struct seep_error *seep_process_copy_prepare(pid_t pid, struct seep_process_copy *ret_copy);
// *ret_stopped is as of seep_stop_process(), but the threads are those of the guard.
SEEP_MUST_CHECK struct seep_error *seep_process_copy_stop(struct seep_process_copy *copied,
                                                          struct seep_stopped **ret_stopped);
// Makes the copy and lets the process go on. *ret_pause_ns: how long it was stopped.
SEEP_MUST_CHECK struct seep_error *seep_process_copy_take(struct seep_process_copy *copied,
                                                          int64_t *ret_pause_ns);
// Ends the copy, and lets the process go on if it does not yet; also after a failure, and where nothing was
// begun. *ret_pause_ns: how long it was stopped for that.
void seep_process_copy_drop(struct seep_process_copy *copied, int64_t *ret_pause_ns);

#endif

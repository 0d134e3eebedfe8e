// SPDX-License-Identifier: BSD-2-Clause
//
// Programs that processes of one mount namespace are about to execute: each waits until the tool has read its
// file. The kernel asks (fanotify, FAN_OPEN_EXEC_PERM) for the mounts that were there when the gate was made,
// of file systems that the kernel serves by itself. A process of its own, the gatekeeper, answers. If the
// tool does not, the gatekeeper answers after a while, so no program waits for a tool that is busy or
// stopped. The gatekeeper ends with the tool, also by SIGKILL, and then the kernel lets all programs go.
// Source: fanotify(7), fanotify_init(2), fanotify_mark(2) (Linux 5.0). Proof: tests/live/test_attach_exec.py.
#ifndef SEEP_SOURCE_ATTACH_EXEC_GATE_H
#define SEEP_SOURCE_ATTACH_EXEC_GATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct seep_exec_gate;

struct seep_exec_waiting {
    pid_t pid; // 0: none
    int fd;    // of the file, in the gatekeeper
    uint64_t serial;
};

// For the mount namespace of `pid`. NULL: this kernel has no such events, or we lack CAP_SYS_ADMIN.
struct seep_exec_gate *seep_exec_gate_create(pid_t pid);
void seep_exec_gate_destroy(struct seep_exec_gate *gate); // takes NULL

int seep_exec_gate_fd(const struct seep_exec_gate *gate); // to poll; -1: nothing comes
// One that waits; it must be let go.
struct seep_exec_waiting seep_exec_gate_take(struct seep_exec_gate *gate);
#define SEEP_EXEC_GATE_PATH_BYTES 64u
// A path that opens as its file, until it is let go.
void seep_exec_gate_path(const struct seep_exec_gate *gate, const struct seep_exec_waiting *waiting,
                         char ret_path[SEEP_EXEC_GATE_PATH_BYTES]);
void seep_exec_gate_let_go(const struct seep_exec_gate *gate, const struct seep_exec_waiting *waiting);

#endif

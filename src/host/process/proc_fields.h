// SPDX-License-Identifier: BSD-2-Clause
//
// Numbers of /proc/PID/stat and /proc/PID/status. Source: proc_pid_stat(5), proc_pid_status(5).
#ifndef SEEP_PROCESS_PROC_FIELDS_H
#define SEEP_PROCESS_PROC_FIELDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/attr.h"

// Whether /proc is that of our PID namespace. In another one /proc/PID is another process, or none. Once
// /proc is ours, the kernel is not asked again, because a run calls this for each process.
bool seep_proc_is_ours(void);

// Fields of stat, as the manual numbers them.
enum seep_stat_field {
    SEEP_STAT_STATE = 3, // a letter
    SEEP_STAT_PARENT = 4,
    SEEP_STAT_FLAGS = 9, // PF_* of the kernel's linux/sched.h
    SEEP_STAT_THREADS = 20,
    SEEP_STAT_STARTED = 22, // ticks since the machine began
    SEEP_STAT_SIGNALS = 31, // bits 1 << (signal - 1) that wait for the thread
};

struct seep_stat {
    char text[1024]; // from the name on; it may have anything in it
};

// Reads stat of a thread; `tid` 0: of the process. false: it is not there.
bool seep_stat_read(pid_t pid, pid_t tid, struct seep_stat *ret_stat);
// The letter of the state, or another field's number. 0: the kernel does not tell that field.
char seep_stat_state(const struct seep_stat *stat);
uint64_t seep_stat_number(const struct seep_stat *stat, enum seep_stat_field field);

// The first number behind `key` ("PPid:") in status of a thread; `tid` 0: of the process; `pid` 0: of the
// calling thread. -1: it is not there.
long seep_status_number(pid_t pid, pid_t tid, const char *key);

// The number of a process or thread in its own pid namespace, the innermost. 0: it is not there.
unsigned long seep_own_id(pid_t id);

#endif

// SPDX-License-Identifier: BSD-2-Clause
//
// Capabilities that tracing by BPF programs needs, and what the lack of each costs.
#ifndef SEEP_PROCESS_RIGHTS_H
#define SEEP_PROCESS_RIGHTS_H

#include <sys/types.h>

#include "base/error.h"

// What a process may be missing.
enum seep_right { SEEP_RIGHT_BPF, SEEP_RIGHT_PERFMON, SEEP_RIGHT_PTRACE, SEEP_RIGHT_SYSLOG, SEEP_RIGHTS_NR };

// Of this process, in effect; CAP_SYS_ADMIN stands for the first two. Where that is not known: true, so that
// the kernel says no.
bool seep_right_is_held(enum seep_right right);
const char *seep_right_name(enum seep_right right); // CAP_...
const char *seep_right_cost(enum seep_right right); // of its absence, a sentence

// `error` says that the kernel does not let us look into a process: adds why, and which right would help.
struct seep_error *seep_right_to_debug(struct seep_error *error, pid_t pid);

#endif

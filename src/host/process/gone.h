// SPDX-License-Identifier: BSD-2-Clause
//
// Why a process is not there: there is none of that number, or it has ended and its parent has not waited for
// it.
#ifndef SEEP_PROCESS_GONE_H
#define SEEP_PROCESS_GONE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

// It has ended, and its parent has not waited for it.
bool seep_process_is_zombie(pid_t pid);
// The process is not there, has ended, or is about to end: the kernel takes its memory first, so a read of
// the memory returns only a part. false if only the first thread of the process has left.
bool seep_process_is_ending(pid_t pid);

// SEEP_E_NOT_FOUND where /proc shows no process at all.
SEEP_MUST_CHECK struct seep_error *seep_process_need_proc(void);

// Never NULL: SEEP_E_NOT_FOUND, with `hint` where there is no such process.
SEEP_MUST_CHECK struct seep_error *seep_process_gone(pid_t pid, const char *hint);

#endif

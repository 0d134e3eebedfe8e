// SPDX-License-Identifier: BSD-2-Clause
// One process of a heap trace: who it is. Private to the parts of a trace.
#ifndef SEEP_CAPTURE_TRACED_PROCESS_H
#define SEEP_CAPTURE_TRACED_PROCESS_H

#include "capture/heap_trace.h"

// Reads exe and arguments; what is not to be known is empty.
SEEP_MUST_CHECK struct seep_error *seep_traced_process_create(pid_t pid,
                                                              struct seep_traced_process **ret_process);
void seep_traced_process_destroy(struct seep_traced_process *process); // takes NULL
SEEP_MUST_CHECK SEEP_PRINTF(2, 3) struct seep_error *seep_traced_process_note(
    struct seep_traced_process *process, const char *format, ...);

int64_t seep_monotonic_ns(void);

#endif

// SPDX-License-Identifier: BSD-2-Clause
//
// One line for each call of an allocator function, as `seep attach --trace` prints them.
#ifndef SEEP_OUTPUT_REPORT_CALLS_H
#define SEEP_OUTPUT_REPORT_CALLS_H

#include <stdio.h>

#include "source/attach/attach_heap.h"
#include "names/symbols.h"

// Appends the line of one call to `out`: time since the start of the tracing, process and thread, function,
// size, block, and the function that called.
SEEP_MUST_CHECK struct seep_error *seep_put_call(FILE *out, struct seep_symbols *symbols,
                                                 const struct seep_traced_process *process,
                                                 const struct seep_heap_event *call);

#endif

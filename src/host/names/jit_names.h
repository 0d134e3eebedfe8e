// SPDX-License-Identifier: BSD-2-Clause
//
// Names of functions that a process made at run time, from the file that JIT compilers write for perf:
// /tmp/perf-PID.map, lines of "start size name". Source: Linux, tools/perf/Documentation/jit-interface.txt.
// The file belongs to others: it is used only if it is a plain file of ours or of root, and was last written
// while the process ran.
#ifndef SEEP_NAMES_JIT_NAMES_H
#define SEEP_NAMES_JIT_NAMES_H

#include "names/symbols.h"

struct seep_jit_names;

// Times are CLOCK_REALTIME. *ret_names is NULL where there is no such file, or none that may be used.
SEEP_MUST_CHECK struct seep_error *seep_jit_names_open(uint32_t pid, int64_t since_ns, int64_t until_ns,
                                                       struct seep_jit_names **ret_names);
// Of a text, which is copied. Lines that say nothing are passed over.
SEEP_MUST_CHECK struct seep_error *seep_jit_names_create(const char *text, size_t nr_bytes,
                                                         struct seep_jit_names **ret_names);
void seep_jit_names_destroy(struct seep_jit_names *names); // takes NULL

// The function at a run-time address, or at that before it where not `exact`: of several the one that begins
// last, and of those the one that was written last. *ret_symbol is NULL where there is none; it lives as long
// as `names`.
SEEP_MUST_CHECK struct seep_error *seep_jit_names_resolve(struct seep_jit_names *names, uint64_t address,
                                                          bool exact, const struct seep_symbol **ret_symbol);

#endif

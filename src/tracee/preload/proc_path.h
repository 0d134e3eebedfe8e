// SPDX-License-Identifier: BSD-2-Clause
//
// Paths in /proc that have the number of a process, a thread or a descriptor in them, made without libc.
#ifndef SEEP_PRELOAD_PROC_PATH_H
#define SEEP_PRELOAD_PROC_PATH_H

#include <stdint.h>

struct seep_proc_path {
    char text[48]; // ends with 0; what does not fit is cut
};

// `before`, `number` in decimal, `after`: ("/proc/", 42, "/stat"). Context: anywhere, async-signal-safe.
struct seep_proc_path seep_proc_path(const char *before, uint32_t number, const char *after)
    __attribute__((visibility("hidden")));

#endif

// SPDX-License-Identifier: BSD-2-Clause
//
// A copy of some memory of a process whose owner may be another user.
#ifndef SEEP_PROCESS_MEMORY_COPY_H
#define SEEP_PROCESS_MEMORY_COPY_H

#include <stdint.h>
#include <sys/types.h>

// The process may have mapped other memory there by now, such as a file on a file system that never answers.
// So the process of opener.h reads, and the tool waits for it no longer than for a file. Returns the
// descriptor of a memory file, which ends at the first page that cannot be read; -1 and errno: there is none.
// Proof: tests/hostile/test_hostile_waiting.py.
int seep_memory_copy(pid_t pid, uint64_t start, uint64_t end);

#endif

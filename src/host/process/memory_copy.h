// SPDX-License-Identifier: BSD-2-Clause
//
// A copy of some memory of a process whose owner may be another user.
#ifndef SEEP_PROCESS_MEMORY_COPY_H
#define SEEP_PROCESS_MEMORY_COPY_H

#include <stdint.h>
#include <sys/types.h>

// By now there may be other memory than the process had there, that of a file which never comes, say. So the
// process of opener.h reads, and is not waited for longer than for a file. Returns the descriptor of a memory
// file, which ends at the first page that cannot be read; -1 and errno: there is none.
// Proof: tests/hostile/test_hostile_waiting.py.
int seep_memory_copy(pid_t pid, uint64_t start, uint64_t end);

#endif

// SPDX-License-Identifier: BSD-2-Clause
//
// The environment that a process waits to execute a program with. It has not got it yet: it is read from the
// arguments of its system call. Source: proc_pid_syscall(5), execve(2).
// Proof: tests/live/test_attach_exec.py.
#ifndef SEEP_SOURCE_ATTACH_EXEC_ENVIRONMENT_H
#define SEEP_SOURCE_ATTACH_EXEC_ENVIRONMENT_H

#include <sys/types.h>

// The value of LD_LIBRARY_PATH, malloc'ed. NULL: not set, or not known: of a program of another word size,
// and where we may not read it.
char *seep_exec_library_path(pid_t pid);

#endif

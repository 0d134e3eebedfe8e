// SPDX-License-Identifier: BSD-2-Clause
//
// Taking from this process all that a worker has no use for, see worker.h.
// Source: seccomp(2), capabilities(7), prctl(2).
#ifndef SEEP_CONFINE_WORKER_RIGHTS_H
#define SEEP_CONFINE_WORKER_RIGHTS_H

#include <sys/types.h>

#include "core/attr.h"

// Keeps `socket` as the only open file, as descriptor SEEP_WORKER_SOCKET. What fails is named: static text,
// and errno. NULL: all is done. `parent` is whose child this is: it ends with that.
SEEP_MUST_CHECK const char *seep_worker_drop_rights(int socket, pid_t parent);

// The same of open files alone.
SEEP_MUST_CHECK bool seep_worker_keep_only(int socket);

#define SEEP_WORKER_SOCKET 3

// Opens a file for a library in the worker, by its path: returns a descriptor, or -1. NULL: no file may be
// opened. The function is called in the handler of the SIGSYS that the library's system call raised.
typedef int seep_worker_open_function(void *context, const char *path);
void seep_worker_let_open(seep_worker_open_function *open, void *context);

#endif

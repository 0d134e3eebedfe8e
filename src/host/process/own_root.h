// SPDX-License-Identifier: BSD-2-Clause
//
// The root of files that a process sees, where that is another one than ours: a container, a chroot.
#ifndef SEEP_PROCESS_OWN_ROOT_H
#define SEEP_PROCESS_OWN_ROOT_H

#include <stdbool.h>
#include <sys/types.h>

#define SEEP_OWN_ROOT_ROOM 64u

// false: it sees our files, or that cannot be told. ret_path is good as long as the process lives.
bool seep_process_own_root(pid_t pid, char ret_path[SEEP_OWN_ROOT_ROOM]);

#endif

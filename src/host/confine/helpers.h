// SPDX-License-Identifier: BSD-2-Clause
//
// Processes that the tool forks from itself, to open files and to parse them. The kernel may give one of them
// the number that a traced process had. Such a helper is no descendant of the program.
#ifndef SEEP_CONFINE_HELPERS_H
#define SEEP_CONFINE_HELPERS_H

#include <stdbool.h>
#include <sys/types.h>

// Context: any thread. Helpers that have no room in the table are not known.
void seep_helper_add(pid_t pid);
void seep_helper_remove(pid_t pid); // the tool has waited for it
bool seep_is_helper(pid_t pid);

#endif

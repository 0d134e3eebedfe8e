// SPDX-License-Identifier: BSD-2-Clause
//
// Processes that the tool forks from itself, to open files and to parse them. A number that a traced process
// had may be given to one of them, and then it is no descendant of the program.
#ifndef SEEP_CONFINE_HELPERS_H
#define SEEP_CONFINE_HELPERS_H

#include <stdbool.h>
#include <sys/types.h>

// Context: any thread. More helpers at once than there is room for are not known.
void seep_helper_add(pid_t pid);
void seep_helper_remove(pid_t pid); // the tool has waited for it
bool seep_is_helper(pid_t pid);

#endif

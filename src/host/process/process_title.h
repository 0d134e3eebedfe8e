// SPDX-License-Identifier: BSD-2-Clause
//
// What a process has put in place of its arguments, to be told apart from others by ps: "postgres:
// walwriter".
#ifndef SEEP_PROCESS_PROCESS_TITLE_H
#define SEEP_PROCESS_PROCESS_TITLE_H

#include <sys/types.h>

#include "core/attr.h"

// malloc'ed, without blanks at its end. NULL: it has arguments, no title; or it cannot be read, or out of
// memory.
char *seep_process_title(pid_t pid);

#endif

// SPDX-License-Identifier: BSD-2-Clause
// The file a command saves its trace in: the pattern of -o, or the usual name.
#ifndef SEEP_COMMAND_TRACE_NAME_H
#define SEEP_COMMAND_TRACE_NAME_H

#include "profile/profile.h"

#define SEEP_TRACE_NAME_DEFAULT "seep.%e.%p.seep"
#define SEEP_TRACE_NAME_SNAP    "seep.%e.%p.snap.seep" // of a process that runs on

// %e is the name of the program (seep_name_for_file()), %p its pid, %% a per cent sign; all else stands
// for itself. `program` is a path or a name. *ret_name is malloc'ed.
SEEP_MUST_CHECK struct seep_error *seep_trace_name(const char *pattern, const char *program, uint32_t pid,
                                                   char **ret_name);

// The folder of a path, malloc'ed. NULL: out of memory.
char *seep_folder_of(const char *path);

// Whether a trace can be saved as this file, before hours of tracing. What is no regular file is written to
// where it is; all else is made in its folder. What is only known when the program runs (%e, %p in the
// folder) is left to saving.
SEEP_MUST_CHECK struct seep_error *seep_trace_place_check(const char *output);

#endif

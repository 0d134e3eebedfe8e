// SPDX-License-Identifier: BSD-2-Clause
//
// The program that is to be run: where it is, and whether libseep.so can be loaded into it. Reads
// ELF headers and #! lines, which are hostile input; runs nothing.
#ifndef SEEP_SOURCE_RUN_PROGRAM_H
#define SEEP_SOURCE_RUN_PROGRAM_H

#include "base/error.h"

struct seep_program {
    char *path;          // malloc'ed: what to give to execve
    char *interpreter;   // malloc'ed: of its #! line, or NULL
    bool is_emulator;    // it runs programs of the CPU that the library is for
    bool cannot_preload; // the loader of the program would refuse or fail over libseep.so: do not ask it
    char *library; // malloc'ed: the one that fits it, where that is another than for this machine; or NULL
    char *why_untraced; // malloc'ed: one sentence, or NULL where nothing speaks against tracing
    bool as_other;      // it will not run as the user of this process, but as
    uid_t uid;
    gid_t gid;
};

// Exit statuses of a shell for a program that cannot be run.
#define SEEP_EXIT_NOT_EXECUTABLE 126
#define SEEP_EXIT_NOT_FOUND      127

// Looks `name` up as execvp does. On failure *ret_status is one of the two statuses.
SEEP_MUST_CHECK struct seep_error *seep_program_find(const char *name, struct seep_program *ret_program,
                                                     int *ret_status);
// Fills cannot_preload, library and why_untraced, by comparing with the library of this machine.
SEEP_MUST_CHECK struct seep_error *seep_program_inspect(struct seep_program *program, const char *library);
void seep_program_deinit(struct seep_program *program);

// The library that is preloaded: $SEEP_LIBRARY, or beside the tool, or where it is installed.
// *ret_path is malloc'ed and absolute.
// `modes`: the one with the modes count and log, libseep-record.so.
SEEP_MUST_CHECK struct seep_error *seep_library_place(bool modes, char **ret_path);

// The same, by a path that LD_PRELOAD can name. If its own path cannot be named, the path goes through a link
// to its folder. The link stays, because programs of the run may execute others at any time.
SEEP_MUST_CHECK struct seep_error *seep_library_find(bool modes, char **ret_path);

// Whether LD_PRELOAD can name the path: ld.so separates it at spaces and colons.
bool seep_library_can_be_named(const char *path);

// The same library for programs of another word size, in a folder beside it. malloc'ed; NULL: it is not
// there.
char *seep_library_of_others(const char *library, const char *machine);
#define SEEP_LIBRARY_OF_32_BITS "i386"

// The program that replays, which is installed with the library. *ret_path is malloc'ed and absolute.
SEEP_MUST_CHECK struct seep_error *seep_replayer_find(char **ret_path);

// What execve() said, as an error for the user, with the exit status.
SEEP_MUST_CHECK struct seep_error *seep_program_exec_error(const struct seep_program *program, int sys_errno,
                                                           int *ret_status);

#endif

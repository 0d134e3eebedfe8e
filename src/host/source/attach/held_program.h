// SPDX-License-Identifier: BSD-2-Clause
//
// A program that is started and held while its libraries are loaded, so that probes are in place before it
// can call any of them: by ptrace, from its exec to its first own instruction, and never after.
#ifndef SEEP_SOURCE_ATTACH_HELD_PROGRAM_H
#define SEEP_SOURCE_ATTACH_HELD_PROGRAM_H

#include <signal.h>
#include <sys/types.h>

#include "base/error.h"

struct seep_held_program {
    pid_t pid;
    uint64_t entry_rt; // its first instruction; 0: not known yet
    long entry_word;   // what stood there, while a breakpoint does
    bool released;
    int64_t released_ns; // CLOCK_MONOTONIC: it runs freely since then
    bool ended;          // before it was released
    int wait_status;
};

// Who is told while the program is held: it and what it opens.
struct seep_held_program_visitor {
    // It has mapped code; at its exec first.
    struct seep_error *(*mapped)(void *context);
    // It is about to open this file, or to exec it; NULL: the program stays in our mount namespace, and
    // none is told. Else it has one of its own.
    void (*opens)(void *context, pid_t pid, const char *path);
};

// Starts argv[0], looked up as execvp does, and stops it behind its exec. On failure *ret_status is what a
// shell would exit with. It ignores those signals, whatever we do with them.
SEEP_MUST_CHECK struct seep_error *seep_held_program_start(char *const *argv, const sigset_t *ignored,
                                                           const struct seep_held_program_visitor *visitor,
                                                           void *context,
                                                           struct seep_held_program *ret_program,
                                                           int *ret_status);

// Lets it load, and lets it go when it is about to begin.
SEEP_MUST_CHECK struct seep_error *seep_held_program_load(struct seep_held_program *program,
                                                          const struct seep_held_program_visitor *visitor,
                                                          void *context);
// Ends a program that has not been released.
void seep_held_program_abandon(struct seep_held_program *program);

#endif

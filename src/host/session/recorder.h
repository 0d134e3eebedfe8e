// SPDX-License-Identifier: BSD-2-Clause
//
// Takes the events of all processes of a run out of their rings and writes them into the trace, in a thread
// of its own: what else the tool does while the program runs must not let a ring get full.
//
// Invariants
//  - Within a chunk the events of one process are in the order of their stamps. What was published after the
//  latest
//    stamp of the pass before waits for the next pass: so an event never stands before one that it follows.
//  - What is counted in `read` of a ring is with us; the writer waits for that.
#ifndef SEEP_SESSION_RECORDER_H
#define SEEP_SESSION_RECORDER_H

#include "file/trace.h"
#include "profile/profile.h"
#include "source/run/run.h"

struct seep_recorder;

struct seep_recorder_options {
    // Makes the writer of the trace, when the program's pid is known. Not called again.
    struct seep_error *(*open)(void *data, pid_t pid, struct seep_trace_writer **ret_writer);
    // Gives it its name. It says by then which process it is of.
    struct seep_error *(*show)(void *data, struct seep_trace_writer *writer);
    void *data;
    uint64_t keep_bytes; // of chunks: the latest of them; 0: all
    const char *rest; // SEEP_OUT: where a library goes on that has taken over from us; borrowed, may be NULL
};

// Nothing runs yet: the thread starts with the first process.
SEEP_MUST_CHECK struct seep_error *seep_recorder_create(const struct seep_recorder_options *options,
                                                        struct seep_recorder **ret_recorder);
// The image of a process that may be recorded has come: its events are taken from now on.
SEEP_MUST_CHECK struct seep_error *seep_recorder_add(struct seep_recorder *recorder,
                                                     const struct seep_run_image *image);
// A process has ended: the recorder's thread takes and writes its last events at once, while the caller goes
// on. Takes NULL.
void seep_recorder_ended(struct seep_recorder *recorder);
// Takes the last events and ends the thread. *ret_writer has all events, for the rest of the trace. It is the
// caller's, and NULL if no process came. Returns the first error of the thread, after which the thread wrote
// nothing.
SEEP_MUST_CHECK struct seep_error *seep_recorder_finish(struct seep_recorder *recorder,
                                                        struct seep_trace_writer **ret_writer);
// Of a recorder that has finished: what the events of the process say of its peak, or why some are missing.
SEEP_MUST_CHECK struct seep_error *seep_recorder_tell(const struct seep_recorder *recorder,
                                                      struct seep_profile *profile);
// Ends the thread if it runs. Takes NULL.
void seep_recorder_destroy(struct seep_recorder *recorder);

#endif

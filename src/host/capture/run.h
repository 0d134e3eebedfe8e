// SPDX-License-Identifier: BSD-2-Clause
//
// Runs a program under libseep.so and gathers the images of it and its descendants.
//
// Invariants
//  - The program's descriptors, signals, mask, limits and terminal are as if it were run without us.
//    Only LD_PRELOAD and SEEP_* are added to its environment.
//  - The program never waits for us, and goes on unharmed when we are killed.
//  - Socket and folder are removed, whatever happens; after SIGKILL by the next run.
#ifndef SEEP_CAPTURE_RUN_H
#define SEEP_CAPTURE_RUN_H

#include <sys/types.h>

#include "base/error.h"

struct seep_run_options {
    char *const *argv;     // of the program, ends with NULL
    const char *mode;      // SEEP_MODE; NULL: the library's default
    uint64_t depth;        // SEEP_DEPTH; 0: the library's default
    uint64_t sample_bytes; // SEEP_SAMPLE; 0: every allocation
    bool ignore_children;  // SEEP_CHILDREN=ignore
    const char *allocator; // a library to preload behind libseep.so and what the user preloads; or NULL
};

// One image: a process from its start, exec or fork on.
struct seep_run_image {
    int fd;              // owned by the run; -1: taken early
    pid_t pid;           // as we see it
    uint32_t own_pid;    // as it sees itself
    size_t order;        // of arrival
    bool replaced;       // the same process handed over a later image: it went on with exec
    int64_t replaced_ns; // CLOCK_MONOTONIC, when it did
    bool is_main;        // the last image of the program itself
};

struct seep_run {
    struct seep_run_image *images; // in order of arrival
    size_t nr_images;
    size_t capacity;
    pid_t main_pid;
    int wait_status; // as of waitpid
    int64_t start_realtime_ns;
    int64_t duration_ns;
    char *path;         // malloc'ed: what was executed
    char *why_untraced; // malloc'ed: why its image could not come, or NULL
    uint64_t nr_refused;
    bool descriptors_ran_out;
};

// Called while the program runs, for an image whose process has ended, when many images are held;
// its fd is closed afterwards. An error ends the waiting for further early takes, nothing else.
typedef struct seep_error *(*seep_run_early)(void *data, const struct seep_run_image *image);

// Returns when the program has ended. On failure *ret_status is what a shell would exit with.
SEEP_MUST_CHECK struct seep_error *seep_run_program(const struct seep_run_options *options,
                                                    seep_run_early early, void *data,
                                                    struct seep_run **ret_run, int *ret_status);
void seep_run_destroy(struct seep_run *run); // takes NULL; closes the images

// Whether the process of an image is gone.
bool seep_run_image_ended(const struct seep_run_image *image);

#endif

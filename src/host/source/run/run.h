// SPDX-License-Identifier: BSD-2-Clause
//
// Runs a program under libseep.so and gathers the images of it and its descendants.
//
// Invariants
//  - The program's descriptors, signals, mask, limits and terminal are as if it were run without us.
//    Only LD_PRELOAD and SEEP_* are added to its environment.
//  - The program waits for us only where `scan` asks for it, when it leaves, and for a limited time; it
//    goes on unharmed when we are killed.
//  - Socket and folder are removed, whatever happens; after SIGKILL by the next run.
#ifndef SEEP_SOURCE_RUN_RUN_H
#define SEEP_SOURCE_RUN_RUN_H

#include <sys/types.h>

#include "base/error.h"

// What libseep.so takes of its settings (tracee/preload/settings.c).
#define SEEP_SAMPLE_BYTES_MAX UINT32_MAX
#define SEEP_OUT_BYTES_MAX    1024u // with the byte that ends it

struct seep_run_options {
    char *const *argv;       // of the program, ends with NULL
    const char *mode;        // SEEP_MODE; NULL: live
    bool drop;               // SEEP_DROP, with mode record
    const char *log;         // with mode log and record: SEEP_OUT, an absolute path; NULL: log_fd
    uint64_t log_fd;         // SEEP_LOG_FD
    const char *log_columns; // SEEP_LOG_COLUMNS; NULL: none
    uint64_t depth;          // SEEP_DEPTH; 0: the library's default
    uint64_t sample_bytes;   // SEEP_SAMPLE; 0: every allocation
    bool age;                // SEEP_AGE
    bool free_stacks;        // SEEP_FREE_STACKS
    bool wipe_freed;         // SEEP_WIPE
    bool ignore_children;    // SEEP_CHILDREN=ignore
    const char *allocator;   // a library to preload behind libseep.so and what the user preloads; or NULL
    bool scan;               // SEEP_SCAN=yes: processes park when they leave
    bool wait;               // for descendants that run on when the program has ended
};

// One image: a process from its start, exec or fork on.
struct seep_run_image {
    int fd;                    // owned by the run; -1: taken early
    int end_fd;                // owned by the run: the process; -1: there is none
    pid_t pid;                 // as we see it
    uint32_t own_pid;          // as it sees itself
    size_t order;              // of arrival
    int64_t start_realtime_ns; // when it was made; of all images of a run on one scale, see run.start_ns
    int64_t came_ns;           // CLOCK_MONOTONIC, when it came here
    bool replaced;             // it went on with exec: as a later image, or untraced
    bool reused;               // another process of that number handed over a later image
    int64_t replaced_ns;       // CLOCK_MONOTONIC, when it did
    bool parked;               // it has come to its look, when it left
    bool announced;            // a notice said that it would come, or it is of a forked child
    bool leaving;              // it has said that it goes on with exec, and nothing came of that yet
    uint32_t started_by;       // process that it was forked from before its exec, as far as it has said; or 0
    bool is_main;              // the last image of the program itself
};

// A process became another program (exec, posix_spawn), and nothing came of that one.
struct seep_run_notice {
    pid_t pid;
    uint32_t started_by; // the process that it was forked from, or itself
    uint32_t flags;      // SEEP_NOTICE_*
    char *path;          // malloc'ed: as the sender named it; "": it had no name
    char *why;           // malloc'ed: what speaks against tracing it, one sentence; NULL: nothing known
    int64_t came_ns;     // CLOCK_MONOTONIC, when it came here
    bool foreign;        // it was executed as another user, who is:
    uid_t uid;
    gid_t gid;
    bool answered;   // an image came, or it failed
    bool is_unfound; // at the end we find no such file: the process may have had another folder or PATH
};

// A process that still ran when the program had ended, and had made no heap operation of its own.
#define SEEP_RUN_IDLE_NAME_BYTES 32
struct seep_run_idle {
    pid_t pid;
    char name[SEEP_RUN_IDLE_NAME_BYTES];
};

struct seep_run {
    struct seep_run_image *images; // in order of arrival
    size_t nr_images;
    size_t capacity;
    pid_t main_pid;
    int wait_status; // as of waitpid
    int64_t start_realtime_ns;
    int64_t start_ns;             // CLOCK_MONOTONIC, at the same moment
    int64_t duration_ns;          // of the program
    uint64_t nr_started_before;   // processes and threads of the machine, see run_idle.h; 0: not known
    uint64_t system_us;           // time of the kernel for the program and the children that it waited for
    uint64_t most_resident_bytes; // of the program, ever; 0: not known
    int64_t watched_ns;           // and until none was waited for any more
    bool main_ended;
    char *path;                      // malloc'ed: what was executed
    char *why_untraced;              // malloc'ed: why its image could not come, or NULL
    struct seep_run_notice *notices; // in order of arrival
    size_t nr_notices;
    size_t notices_capacity;
    struct seep_run_idle *idle;
    size_t nr_idle;
    size_t idle_capacity;
    bool outrun; // processes were started and ended faster than they could be looked at: some may run on
    uint64_t nr_refused;
    bool descriptors_ran_out;
    bool notices_ran_out; // more programs were announced than are kept
};

// A process that is leaving and waits until it is released.
struct seep_run_parked {
    const struct seep_run_image *image;
    uint64_t sp_rt; // struct seep_parked
    int peer;
};
void seep_run_release(struct seep_run_parked *parked); // once more does nothing

// Both are called while the program runs. An error ends the watch for images, nothing else.
struct seep_run_events {
    // An image whose process has ended, when many images are held; its fd is closed afterwards.
    struct seep_error *(*early)(void *data, const struct seep_run_image *image);
    // An image has come. NULL: none is waited for.
    struct seep_error *(*arrived)(void *data, const struct seep_run_image *image);
    // A process that has not been released when this returns is then. NULL: none is looked at.
    struct seep_error *(*parked)(void *data, struct seep_run_parked *parked);
    // Called when the program has started, and again when *ret_next_ns (CLOCK_MONOTONIC) has come; INT64_MAX:
    // never again. Images whose process has gone on or ended may be among those of the run. May be
    // NULL.
    void (*look_on)(void *data, const struct seep_run *run, int64_t now_ns, int64_t *ret_next_ns);
    // Whether seep still traces a thread of a process. Called again and again until it returns false. May be
    // NULL.
    bool (*holds)(void *data);
    // The program ended a second ago, and these run on: called once. May be NULL.
    void (*waiting)(void *data, const struct seep_run_idle *left, size_t nr_left);
    void *data;
};

// Returns when the program has ended, and with `wait` when no descendant is left, or SIGINT, SIGTERM or
// SIGHUP came after the program's end, or SIGTERM or SIGHUP before it, and a second has passed since. On
// failure *ret_status is what a shell would exit with.
SEEP_MUST_CHECK struct seep_error *seep_run_program(const struct seep_run_options *options,
                                                    const struct seep_run_events *events,
                                                    struct seep_run **ret_run, int *ret_status);
void seep_run_destroy(struct seep_run *run); // takes NULL; closes the images

// Whether the process of an image is gone.
bool seep_run_image_ended(const struct seep_run_image *image);
// What the process ended with, as wait() has it. false: the kernel does not tell, or not any more, or not
// yet.
bool seep_run_image_status(const struct seep_run_image *image, int *ret_status);

#endif

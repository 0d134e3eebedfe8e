// SPDX-License-Identifier: BSD-2-Clause
//
// What the files that run a program share: the supervisor, which is one poll loop.
#ifndef SEEP_SOURCE_RUN_RUN_PARTS_H
#define SEEP_SOURCE_RUN_RUN_PARTS_H

#include <poll.h>
#include <signal.h>

#include "base/map.h"
#include "source/run/listener.h"
#include "source/run/run.h"
#include "source/run/run_idle.h"

// With more images of ended processes than this, they are made into profiles while the program runs.
#define SEEP_RUN_IMAGES_HELD 64u
// Polled for at once: each takes a descriptor.
#define SEEP_RUN_POLLED_FOR_MAX 64u
#define SEEP_RUN_NR_SIGNALS     6

// The signal settings before the supervisor changed them.
struct seep_run_signals {
    struct sigaction before[SEEP_RUN_NR_SIGNALS];
    sigset_t mask_before;
    int fd;
    bool told_to_end; // SIGTERM or SIGHUP came
};

struct seep_run_supervisor {
    struct seep_run *run;
    struct seep_listener listener;
    struct seep_run_signals signals;
    const struct seep_run_events *events;
    struct seep_map last_of_pid;   // pid to index of its latest image + 1
    struct seep_map notice_of_pid; // pid to index of its latest notice + 1, while nothing came of it
    struct seep_map image_files;   // inodes of all images that came
    size_t nr_held;
    size_t sweep_at; // number of held images at which to look for ended ones
    bool ended;
    bool stopped; // a signal came that asks for the report, after the program's end
    bool ignore_children;
    bool none_left; // the last search found no descendant
    struct pollfd *polls;
    size_t polls_capacity;
    struct seep_run_idle *left; // who runs on when the program has ended
    size_t nr_left;
    size_t left_capacity;
    int left_fds[SEEP_RUN_POLLED_FOR_MAX]; // pidfds of the first of them
    size_t nr_left_fds;
};

// ---- run.c ----

// Takes the signals that have come: the program's end; before that, signals to forward to it; after that, one
// that asks for the report.
void seep_run_read_signals(struct seep_run_supervisor *supervisor);
// Waits until something comes, or for `timeout_ms` (-1: for ever). *ret_nr: descriptors that are ready; -1: a
// signal.
SEEP_MUST_CHECK struct seep_error *seep_run_poll_once(struct seep_run_supervisor *supervisor, int timeout_ms,
                                                      int *ret_nr);
// Milliseconds until then, rounded up; -1: for ever.
int seep_run_until(int64_t then_ns);
// Calls the look_on of the events if *next_ns (CLOCK_MONOTONIC) has come. look_on returns when the next call
// is due.
void seep_run_look_on(struct seep_run_supervisor *supervisor, int64_t *next_ns);

// ---- run_start.c ----

// Blocks and ignores signals as the supervisor needs them. The descriptor is the caller's to close.
SEEP_MUST_CHECK struct seep_error *seep_run_signals_init(struct seep_run_signals *ret_signals);
void seep_run_signals_took(struct seep_run_signals *signals, int number);
// Where the tool was told to end, further SIGTERM and SIGHUP stay ignored: timeout(1) sends one to it and one
// to its group, and the second would end it before the trace is saved. Async-signal-safe: the child uses it
// between vfork and exec.
void seep_run_signals_restore(const struct seep_run_signals *signals);
// Starts the program. *ret_trouble: errno of a failed exec, or 0.
SEEP_MUST_CHECK struct seep_error *seep_run_start(struct seep_run_supervisor *supervisor, const char *path,
                                                  char *const *argv, char *const *environment,
                                                  int *ret_trouble);
// Every image is a descriptor. The program was started before this: its limit is not touched.
void seep_run_raise_own_limit(void);

// ---- run_status.c ----

// A descriptor of the process, the caller's to close. If it is gone already, that of the image that it had
// `before` (may be NULL) it executed a program. -1: there is none. Where descriptors are short, images come
// first.
int seep_run_end_open(struct seep_run_image *before, pid_t pid);

// ---- run_images.c ----

void seep_run_image_close(struct seep_run_image *image); // what is open of it
// The latest image of a process; NULL: none came. Valid until the next one comes.
struct seep_run_image *seep_run_last_image(const struct seep_run_supervisor *supervisor, pid_t pid);
// Whether a process runs; not one that only waits for its parent to notice its end.
bool seep_run_is_there(pid_t pid);
// The same, and it began before its image or notice came (CLOCK_MONOTONIC): its number has not gone to
// another process since. (An image of a forked child is older than the child, as the kernel has it: it says
// when the fork began.)
bool seep_run_is_there_since(pid_t pid, int64_t came_ns);
// Whether a process, of whatever user, is the program or was started by it: it has an image, or an ancestor
// that runs has one. The ancestors of a daemon are gone: it has the name of the socket, which is not told to
// a stranger, and its environment says from where, or it has an image mapped. Where the environment cannot be
// read the name alone counts.
bool seep_run_is_known(void *data, pid_t pid);
// Takes the messages of processes: images, notices, and the message of a process that leaves. Hands over
// images of ended processes when they are many.
SEEP_MUST_CHECK struct seep_error *seep_run_read_listener(struct seep_run_supervisor *supervisor);

// ---- run_left.c ----

// Waits until no descendant is left, or a signal asks for the report.
SEEP_MUST_CHECK struct seep_error *seep_run_wait_for_left(struct seep_run_supervisor *supervisor);

#endif

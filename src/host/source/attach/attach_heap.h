// SPDX-License-Identifier: BSD-2-Clause
//
// Traces the heap of a running process by probes in the kernel, from now until what is attached is destroyed.
//
// Invariants
//  - The process is neither stopped nor changed; when we go, also by SIGKILL, so do the probes.
//  - What is lost is counted by reason in the heap of its process.
#ifndef SEEP_SOURCE_ATTACH_ATTACH_HEAP_H
#define SEEP_SOURCE_ATTACH_ATTACH_HEAP_H

#include <signal.h>
#include <sys/types.h>

#include "base/note.h"
#include "base/error.h"
#include "profile/heap.h"

// One call as it comes out of the ring, before the heap of its process has taken it: SEEP_HEAP_ALLOC to
// SEEP_HEAP_FAILED.
struct seep_traced_process;
typedef void seep_attach_watcher(void *context, const struct seep_traced_process *process,
                                 const struct seep_heap_event *call);

struct seep_attach_options {
    pid_t pid;           // 0: one of the others
    const char *cgroup;  // a folder of the control groups, version 2: its processes, and those to come
    bool all;            // every process
    char *const *argv;   // a program, traced from its first instruction; ends with NULL
    sigset_t ignored;    // signals that argv starts with as ignored
    uint64_t sample;     // about one call in so many; 0 or 1: all
    const char *object;  // only the allocator of this file (its name, or the end of its path); NULL: any
    const char *prefix;  // of the allocator's functions; NULL: none
    uint64_t ring_bytes; // 0: the default
    int source;          // enum seep_attach_source
    bool ignore_children;
    bool faults;                  // page faults too
    int probes;                   // enum seep_probe_choice
    seep_attach_watcher *watcher; // is told each call; NULL: none
    void *watcher_context;
    void (*about_to_run)(void *context); // argv is held at its first instruction and will be let go; or NULL
    void *about_to_run_context;
    const volatile sig_atomic_t *stop; // set: files of the traced are read no further; NULL: it is not set
};

// Where allocations are learned from.
enum seep_attach_source {
    SEEP_SOURCE_AUTO,      // the functions; of one process that has none its otel_memory probes
    SEEP_SOURCE_FUNCTIONS, // of the allocator: every call
    SEEP_SOURCE_OTEL,      // probes that the program offers: its own samples
};

// For tests: what a kernel would do that has no more.
enum seep_probe_choice { SEEP_PROBES_BEST, SEEP_PROBES_MULTI, SEEP_PROBES_PERF };

#define SEEP_ATTACH_RING_BYTES      (UINT64_C(16) << 20)
#define SEEP_ATTACH_RING_BYTES_MANY (UINT64_C(64) << 20) // of a control group, or of all
#define SEEP_ATTACH_RING_SHARE      64u // of free memory: more than the least for a program that is started

struct seep_traced_code;
struct seep_bpf_rest;

// A traced process. Its fields are set by the events and read by all others.
struct seep_traced_process {
    struct seep_heap heap;
    uint32_t ppid;
    uint32_t forked_from; // pid whose blocks it began with, or 0
    const char *exe;      // texts are in the heap's arena
    const char *const *args;
    uint32_t nr_args;
    bool args_are_told;        // by the kernel at its exec, so they are its own
    int64_t start_realtime_ns; // of the tracing
    int64_t begun_ns;          // of its life as this program: since the tracing began; 0: it was there before
    int64_t duration_ns;       // until its end, since the tracing began
    int64_t read_ns;           // CLOCK_MONOTONIC: when exe and args were read; 0: they are its parent's
    uint64_t stack_rt;         // an address of its main thread's stack; 0: not known yet
    const char *begun_as;      // what was executed; NULL: it did not begin by exec
    bool execed;               // it went on as another program
    bool ended;
    bool is_loading; // began by exec, and its loader has not finished
    bool has_status; // it has ended so:
    int wait_status;
    struct seep_note *notes; // what a reader must know, in the heap's arena
    size_t nr_notes;
    struct seep_traced_code *code; // malloc'ed; NULL: nothing is known
    struct seep_bpf_rest *rest;    // malloc'ed: of the stack that comes next; NULL
};

struct seep_attached;
struct seep_profile;

// Whether it is of processes that come and go, not of one and its children.
bool seep_attached_is_open(const struct seep_attached *attached);

// Adds to `profile` what a reader must know of all of it.
SEEP_MUST_CHECK struct seep_error *seep_attached_notes(const struct seep_attached *attached,
                                                       struct seep_profile *profile);

// SEEP_E_PERMISSION, SEEP_E_UNSUPPORTED, SEEP_E_NOT_FOUND (no such process; no allocator in it).
// With argv *ret_status is what a shell would exit with on failure.
SEEP_MUST_CHECK struct seep_error *seep_attached_create(const struct seep_attach_options *options,
                                                        struct seep_attached **ret_attached, int *ret_status);
void seep_attached_destroy(struct seep_attached *attached); // takes NULL; the process is as it was

// Takes events until `end_ns` (CLOCK_MONOTONIC), until *stop is set, or until all processes have ended.
SEEP_MUST_CHECK struct seep_error *seep_attached_run(struct seep_attached *attached, int64_t end_ns,
                                                     const volatile sig_atomic_t *stop);
// All events so far have been taken and the figures are whole.
SEEP_MUST_CHECK struct seep_error *seep_attached_settle(struct seep_attached *attached);
// Whether the process has ended. Of a control group or of all processes: never, because others may come.
bool seep_attached_ended(const struct seep_attached *attached);

// The processes, in the order in which they were met. Valid until the next call.
// Those of a control group, or of all, are no longer among them when they have ended.
size_t seep_attached_processes(const struct seep_attached *attached,
                               struct seep_traced_process *const **ret_processes);

#endif

// SPDX-License-Identifier: BSD-2-Clause
//
// Brings the parts of a trace together, see attach_heap.h: which objects a process has mapped, their unwind
// tables and allocator functions, the probes, and the events that come of them.
//
// Frees are probed before allocations, so that no block is seen whose free could not be. The programs are
// loaded when the first process's objects are known, because maps cannot grow.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/live_thread.h"
#include "source/attach/heap.skel.h"
#include "source/attach/private_file.h"
#include "process/process_map.h"
#include "source/attach/attach_parts.h"
#include "source/attach/traced_process.h"

#define POLL_MS 10

static bool has_ended(int pidfd) {
    struct pollfd ended = {.fd = pidfd, .events = POLLIN};
    return poll(&ended, 1, 0) == 1;
}

bool seep_heap_trace_is_open(const struct seep_heap_trace *trace) {
    return trace->scope >= SEEP_BPF_SCOPE_CGROUP;
}

bool seep_heap_trace_ended(const struct seep_heap_trace *trace) {
    if (seep_heap_trace_is_open(trace))
        return false; // others may come
    for (size_t i = 0; i < trace->nr_processes; i++)
        if (trace->processes[i]->heap.pid == trace->options.pid && !trace->processes[i]->ended)
            return false;
    return true;
}

// The exit status of a program that is our child.
static void reap(struct seep_heap_trace *trace) {
    struct seep_traced_process *last = seep_trace_process_of(trace, (uint32_t)trace->options.pid);
    if (!trace->options.argv || last->has_status)
        return;
    if (!trace->held.ended)
        trace->held.ended = waitpid(trace->held.pid, &trace->held.wait_status, WNOHANG) == trace->held.pid;
    last->has_status = trace->held.ended;
    last->wait_status = trace->held.wait_status;
}

struct seep_error *seep_heap_trace_run(struct seep_heap_trace *trace, int64_t end_ns,
                                       const volatile sig_atomic_t *stop) {
    for (;;) {
        bool ended = has_ended(trace->pidfd);
        struct seep_error *err = seep_trace_drain(trace);
        if (err)
            return err;
        if (ended) {
            reap(trace);
            for (size_t i = 0; i < trace->nr_processes; i++) {
                if (!trace->processes[i]->ended && !trace->processes[i]->has_status)
                    trace->processes[i]->duration_ns = trace->now_ns;
                trace->processes[i]->ended = true;
            }
            return NULL;
        }
        int64_t left_ns = end_ns - seep_monotonic_ns();
        if (left_ns <= 0 || *stop)
            return NULL;
        struct pollfd events[] = {{.fd = ring_buffer__epoll_fd(trace->ring), .events = POLLIN},
                                  {.fd = trace->pidfd, .events = POLLIN}};
        poll(events, SEEP_ARRAY_SIZE(events), (int)SEEP_MIN((left_ns + 999999) / 1000000, (int64_t)POLL_MS));
    }
}

struct seep_error *seep_heap_trace_settle(struct seep_heap_trace *trace) {
    struct seep_error *err = seep_trace_drain(trace);
    seep_trace_forget_ended(trace);
    const uint64_t *lost = trace->bpf->bss->seep_lost;
    uint64_t *into = trace->processes[0]->heap.lost;
    into[SEEP_LOST_RING] = lost[SEEP_BPF_LOST_ALLOC] + lost[SEEP_BPF_LOST_FREE] + lost[SEEP_BPF_LOST_OTHER];
    into[SEEP_LOST_NO_THREAD] = lost[SEEP_BPF_LOST_THREAD];
    into[SEEP_LOST_ODD_FULL] = lost[SEEP_BPF_LOST_SAMPLED];
    for (size_t i = 0; i < trace->nr_processes; i++) {
        struct seep_traced_process *process = trace->processes[i];
        if (process->ended)
            continue;
        process->duration_ns = trace->now_ns;
        if (!err)
            err = seep_traced_look_at_pages(&process->heap);
    }
    return err;
}

size_t seep_heap_trace_processes(const struct seep_heap_trace *trace,
                                 struct seep_traced_process *const **ret_processes) {
    *ret_processes = trace->processes;
    return trace->nr_processes;
}

// ---- start and end ----

static struct seep_error *scan_objects(struct seep_heap_trace *trace, pid_t pid) {
    struct seep_process_map map;
    struct seep_error *err = seep_process_map_init(pid, &map);
    size_t index;
    if (err)
        return err;
    for (size_t i = 0; i < map.nr_areas && !err; i++)
        err = seep_trace_find_object(trace, pid, &map.areas[i], &index);
    seep_process_map_deinit(&map);
    return err;
}

static struct seep_error *no_otel(const struct seep_heap_trace *trace) {
    for (size_t i = 0; i < trace->nr_objects; i++)
        if (trace->objects[i]->allocator.otel_refused)
            return seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED, "%s of %s is not understood",
                                                     trace->objects[i]->allocator.otel_refused,
                                                     trace->objects[i]->path),
                                   "without --source the functions of its allocator are probed");
    struct seep_error *err =
        trace->options.pid
            ? seep_error_create(SEEP_E_NOT_FOUND, "process %d: no otel_memory probes in its code",
                                (int)trace->options.pid)
            : seep_error_create(SEEP_E_NOT_FOUND, "no otel_memory probes in the code of any process");
    return seep_error_hint(err, "without --source the functions of its allocator are probed");
}

static struct seep_error *check_allocator(const struct seep_heap_trace *trace) {
    for (size_t i = 0; i < trace->nr_objects; i++) {
        const struct seep_probe_places *places = trace->objects[i]->allocator.places;
        // A program may go on as another one, whose loader will tell: `ld.so PROG`, `sh -c PROG`.
        if (places[SEEP_PROBE_ALLOC].nr || places[SEEP_PROBE_OTEL_ALLOC].nr ||
            (trace->options.argv && places[SEEP_PROBE_MODULES].nr))
            return NULL;
    }
    size_t nr_readable = 0;
    for (size_t i = 0; i < trace->nr_objects; i++)
        nr_readable += trace->objects[i]->inode && !trace->objects[i]->unreadable;
    if (!nr_readable && trace->options.pid)
        return seep_error_hint(seep_error_create(SEEP_E_PERMISSION,
                                                 "process %d: the files that it has mapped cannot be opened",
                                                 (int)trace->options.pid),
                               "a process of another user needs CAP_SYS_PTRACE as well");
    if (trace->options.source == SEEP_SOURCE_OTEL)
        return no_otel(trace);
    const char *prefix = trace->options.prefix ? trace->options.prefix : "";
    struct seep_error *err =
        trace->options.pid
            ? seep_error_create(SEEP_E_NOT_FOUND, "process %d: no function named %smalloc in its code",
                                (int)trace->options.pid, prefix)
            : seep_error_create(SEEP_E_NOT_FOUND, "no function named %smalloc in the code of any process",
                                prefix);
    if (trace->options.object)
        return seep_error_hint(err, "-O %s: is that the object with the allocator?", trace->options.object);
    return seep_error_hint(err, "a stripped static program has no names to find it by; an allocator with "
                                "names of its own: --symbols-prefix");
}

static struct seep_error *open_pidfd(struct seep_heap_trace *trace, pid_t pid) {
    trace->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (trace->pidfd >= 0)
        return NULL;
    return seep_error_hint(seep_error_system(errno, "process %d", (int)pid), "name a running process");
}

// Of /proc/PID/status: a number, 0 where it has none; or a letter.
static long status_of(pid_t pid, const char *field) {
    char path[64], line[128];
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    size_t nr = strlen(field);
    long found = 0;
    while (file && !found && fgets(line, sizeof(line), file)) {
        if (strncmp(line, field, nr) != 0 || line[nr] != ':')
            continue;
        const char *value = line + nr + 1 + strspn(line + nr + 1, "\t ");
        found = *value >= 'A' ? *value : strtol(value, NULL, 10);
    }
    if (file)
        fclose(file);
    return found;
}

// What is there, and is no process that could be traced.
static struct seep_error *check_kind(pid_t pid) {
    // Each event that it takes would make more of them.
    if (pid == getpid())
        return seep_error_hint(
            seep_error_create(SEEP_E_UNSUPPORTED, "process %d: that is seep itself", (int)pid),
            "start another seep to trace this one");
    long leader = status_of(pid, "Tgid");
    if (leader && leader != pid)
        return seep_error_hint(
            seep_error_create(SEEP_E_NOT_FOUND, "%d is a thread of process %ld", (int)pid, leader),
            "name the process");
    if (status_of(pid, "State") == 'Z' && seep_live_thread(pid) == pid) // its main thread may have left alone
        return seep_error_hint(
            seep_error_create(SEEP_E_NOT_FOUND, "process %d has ended and waits for its parent", (int)pid),
            "name a running process");
    // All others have memory, or had when they began to end.
    if (leader && !status_of(pid, "VmSize") && seep_live_thread(pid) == pid && status_of(pid, "PPid") <= 2)
        return seep_error_hint(
            seep_error_create(SEEP_E_UNSUPPORTED, "process %d is a thread of the kernel", (int)pid),
            "'seep kernel' traces what the kernel allocates");
    return NULL;
}

// The kernel tells a process that is probed by the memory of its main thread.
static struct seep_error *check_main_thread(pid_t pid) {
    if (seep_live_thread(pid) == pid)
        return NULL;
    return seep_error_hint(
        seep_error_create(SEEP_E_UNSUPPORTED,
                          "process %d: its main thread has left by pthread_exit, and the "
                          "kernel sets no probes in such a process alone",
                          (int)pid),
        "trace it from its start ('seep run', 'seep attach -- PROG'), or among all: --all");
}

// Exact figures where they can be had.
static void choose_source(struct seep_heap_trace *trace) {
    bool has_functions = false, has_otel = false;
    for (size_t i = 0; i < trace->nr_objects; i++) {
        has_functions |= trace->objects[i]->allocator.places[SEEP_PROBE_ALLOC].nr != 0;
        has_otel |= trace->objects[i]->allocator.places[SEEP_PROBE_OTEL_ALLOC].nr != 0;
    }
    if (trace->options.source == SEEP_SOURCE_AUTO)
        trace->options.source = has_otel && !has_functions ? SEEP_SOURCE_OTEL : SEEP_SOURCE_FUNCTIONS;
    for (size_t i = 0; i < trace->nr_objects; i++)
        seep_trace_keep_source(trace, trace->objects[i]);
}

// The user wanted to stop while files were read: what would follow takes as long again, and would trace
// nothing.
static struct seep_error *check_stop(const struct seep_heap_trace *trace) {
    if (!trace->options.stop || !*trace->options.stop)
        return NULL;
    return seep_error_create(SEEP_E_UNSUPPORTED, "interrupted before the probes stood: nothing was traced");
}

static struct seep_error *start_process(struct seep_heap_trace *trace) {
    pid_t pid = trace->options.pid;
    struct seep_traced_process *process = NULL;
    struct seep_error *err = check_kind(pid);
    if (!err)
        err = open_pidfd(trace, pid);
    if (!err)
        err = check_main_thread(pid);
    if (!err)
        err = scan_objects(trace, pid);
    if (!err)
        err = check_stop(trace);
    if (!err)
        choose_source(trace);
    if (!err)
        err = check_allocator(trace);
    if (!err)
        err = seep_trace_load(trace);
    if (!err)
        err = seep_trace_add_process(trace, pid, &process);
    if (!err)
        err = seep_trace_update_process(trace, process);
    if (!err)
        err = seep_traced_process_note(process, SEEP_NOTE_ATTACHED_LATE,
                                       "attached while it ran: blocks from before are not known");
    return err;
}

// What one process does not have is no reason not to trace the others.
static struct seep_error *unless_gone(struct seep_error *err) {
    if (!err || (err->code != SEEP_E_NOT_FOUND && err->code != SEEP_E_PERMISSION))
        return err;
    seep_error_destroy(err);
    return NULL;
}

static struct seep_error *for_members(struct seep_heap_trace *trace, const pid_t *pids, size_t nr,
                                      struct seep_error *(*visit)(struct seep_heap_trace *, pid_t)) {
    struct seep_error *err = NULL;
    for (size_t i = 0; i < nr && !err; i++)
        err = unless_gone(visit(trace, pids[i]));
    return err;
}

// One that was met by an event already is not met again.
static struct seep_error *add_member(struct seep_heap_trace *trace, pid_t pid) {
    return seep_trace_process_of(trace, (uint32_t)pid)
               ? NULL
               : seep_trace_took_new(trace, pid, NULL, &(struct seep_trace_birth){.at_ns = 0});
}

// Those that come between the two looks are met by their first event.
static struct seep_error *start_scope(struct seep_heap_trace *trace) {
    pid_t *pids = NULL;
    size_t nr = 0;
    struct seep_error *err = trace->options.cgroup ? seep_trace_open_cgroup(trace) : NULL;
    if (!err)
        err = seep_trace_members(trace, &pids, &nr);
    if (!err)
        err = for_members(trace, pids, nr, scan_objects);
    if (!err)
        err = check_stop(trace);
    if (!err && !nr)
        err = seep_error_hint(seep_error_create(SEEP_E_NOT_FOUND, "no process in %s",
                                                trace->options.cgroup ? trace->options.cgroup : "/proc"),
                              "start one first, or name the group above it: what allocates is looked for in "
                              "those that are there");
    if (!err)
        err = check_allocator(trace);
    if (!err)
        err = seep_trace_load(trace);
    free(pids);
    pids = NULL;
    if (!err)
        err = seep_trace_members(trace, &pids, &nr);
    if (!err)
        err = for_members(trace, pids, nr, add_member);
    free(pids);
    if (!err && !trace->nr_processes)
        err = seep_error_hint(seep_error_create(SEEP_E_NOT_FOUND, "no process that could be traced"),
                              "all have ended meanwhile, or their files may not be read (CAP_SYS_PTRACE)");
    return err;
}

static struct seep_error *mapped_code(void *context) {
    struct seep_heap_trace *trace = context;
    return seep_trace_update_process(trace, trace->processes[0]);
}

static struct seep_error *start_program(struct seep_heap_trace *trace, int *ret_status) {
    struct seep_traced_process *process = NULL;
    if (!trace->options.ignore_children && seep_private_is_possible())
        trace->scope = SEEP_BPF_SCOPE_FAMILY;
    struct seep_held_program_visitor visitor = {
        mapped_code, trace->scope == SEEP_BPF_SCOPE_FAMILY ? seep_trace_opens : NULL};
    struct seep_error *err = seep_trace_load(trace);
    if (!err)
        err = seep_held_program_start(trace->options.argv, &trace->options.ignored, &visitor, trace,
                                      &trace->held, ret_status);
    if (err)
        return err;
    if (trace->options.about_to_run)
        trace->options.about_to_run(trace->options.about_to_run_context);
    trace->options.pid = trace->held.pid;
    err = open_pidfd(trace, trace->held.pid);
    if (!err)
        err = seep_trace_add_process(trace, trace->held.pid, &process);
    if (!err)
        err = seep_held_program_load(&trace->held, &visitor, trace);
    if (!err && trace->held.released)
        process->begun_ns = trace->held.released_ns - trace->start_ns;
    if (!err)
        err = check_allocator(trace);
    return err;
}

struct seep_error *seep_heap_trace_create(const struct seep_heap_trace_options *options,
                                          struct seep_heap_trace **ret_trace, int *ret_status) {
    struct seep_heap_trace *trace = calloc(1, sizeof(*trace));
    if (!trace)
        return seep_error_no_memory();
    trace->options = *options;
    trace->pidfd = trace->cgroup = -1;
    trace->scope = options->cgroup ? SEEP_BPF_SCOPE_CGROUP
                   : options->all  ? SEEP_BPF_SCOPE_ALL
                                   : SEEP_BPF_SCOPE_PROBED;
    if ((options->argv || trace->scope != SEEP_BPF_SCOPE_PROBED) && !options->source)
        trace->options.source = SEEP_SOURCE_FUNCTIONS; // what comes later is not known yet
    trace->start_ns = seep_monotonic_ns();
    if (!trace->options.ring_bytes)
        trace->options.ring_bytes =
            seep_heap_trace_is_open(trace) ? SEEP_TRACE_RING_BYTES_MANY : SEEP_TRACE_RING_BYTES;
    struct seep_error *err = seep_trace_choose_probes(trace);
    if (!err)
        err = options->argv                           ? start_program(trace, ret_status)
              : trace->scope != SEEP_BPF_SCOPE_PROBED ? start_scope(trace)
                                                      : start_process(trace);
    if (!err && !seep_heap_trace_is_open(trace))
        err = seep_trace_check_probed(trace);
    if (err) {
        seep_heap_trace_destroy(trace);
        return err;
    }
    *ret_trace = trace;
    return NULL;
}

void seep_heap_trace_destroy(struct seep_heap_trace *trace) {
    if (!trace)
        return;
    if (trace->options.argv)
        seep_held_program_abandon(&trace->held);
    for (size_t i = 0; i < trace->nr_attachments; i++)
        seep_trace_attachment_deinit(&trace->attachments[i]);
    free(trace->attachments);
    seep_trace_close_landings(trace);
    ring_buffer__free(trace->ring);
    seep_bpf_tables_deinit(&trace->tables);
    seep_heap__destroy(trace->bpf);
    for (size_t i = 0; i < trace->nr_objects; i++)
        seep_trace_object_destroy(trace->objects[i]);
    free(trace->objects);
    for (size_t i = 0; i < trace->nr_processes; i++)
        seep_traced_process_destroy(trace->processes[i]);
    free(trace->processes);
    seep_map_deinit(&trace->process_ids);
    seep_map_deinit(&trace->steps);
    for (size_t i = 0; i < trace->nr_private_paths; i++)
        free(trace->private_paths[i]);
    free(trace->private_paths);
    if (trace->cgroup >= 0)
        close(trace->cgroup);
    if (trace->pidfd >= 0)
        close(trace->pidfd);
    seep_error_destroy(trace->failed);
    seep_error_destroy(trace->refused);
    free(trace);
}

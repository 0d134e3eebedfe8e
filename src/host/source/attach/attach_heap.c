// SPDX-License-Identifier: BSD-2-Clause
//
// Brings what is attached together, see attach_heap.h: which objects a process has mapped, their unwind
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
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/live_thread.h"
#include "base/words.h"
#include "process/gone.h"
#include "process/memory_limit.h"
#include "process/proc_fields.h"
#include "source/attach/heap.skel.h"
#include "source/attach/private_file.h"
#include "process/process_map.h"
#include "process/rights.h"
#include "source/attach/attach_parts.h"
#include "source/attach/emulator.h"
#include "source/attach/exec_gate.h"
#include "source/attach/traced_process.h"

#define POLL_MS 10
// The time between two looks at programs that wait to be executed, at the clock, and at whether the tool is
// to end.
#define SLICE_NS INT64_C(50000000)

static bool has_ended(int pidfd) {
    struct pollfd ended = {.fd = pidfd, .events = POLLIN};
    return poll(&ended, 1, 0) == 1;
}

bool seep_attached_is_open(const struct seep_attached *attached) {
    return attached->scope >= SEEP_BPF_SCOPE_CGROUP;
}

bool seep_attached_ended(const struct seep_attached *attached) {
    if (seep_attached_is_open(attached))
        return false; // others may come
    for (size_t i = 0; i < attached->nr_processes; i++)
        if (attached->processes[i]->heap.pid == attached->options.pid && !attached->processes[i]->ended)
            return false;
    return true;
}

// The exit status of a program that is our child.
static void reap(struct seep_attached *attached) {
    struct seep_traced_process *last = seep_attach_process_of(attached, (uint32_t)attached->options.pid);
    if (!attached->options.argv || last->has_status)
        return;
    if (!attached->held.ended)
        attached->held.ended =
            waitpid(attached->held.pid, &attached->held.wait_status, WNOHANG) == attached->held.pid;
    last->has_status = attached->held.ended;
    last->wait_status = attached->held.wait_status;
}

struct seep_error *seep_attached_run(struct seep_attached *attached, int64_t end_ns,
                                     const volatile sig_atomic_t *stop) {
    for (;;) {
        bool ended = has_ended(attached->pidfd);
        struct seep_error *err = seep_attach_look_at_waiting(attached);
        // The last events of a process that has ended are taken before it counts as ended: an exec among them
        // begins another life of it.
        if (!err)
            err = seep_attach_drain(attached, ended ? INT64_MAX : seep_monotonic_ns() + SLICE_NS);
        if (err)
            return err;
        if (ended) {
            reap(attached);
            for (size_t i = 0; i < attached->nr_processes; i++) {
                if (!attached->processes[i]->ended && !attached->processes[i]->has_status)
                    attached->processes[i]->duration_ns = attached->now_ns;
                attached->processes[i]->ended = true;
            }
            return NULL;
        }
        int64_t left_ns = end_ns - seep_monotonic_ns();
        if (left_ns <= 0 || *stop)
            return NULL;
        struct pollfd events[] = {{.fd = ring_buffer__epoll_fd(attached->ring), .events = POLLIN},
                                  {.fd = attached->pidfd, .events = POLLIN},
                                  {.fd = seep_exec_gate_fd(attached->gate), .events = POLLIN}};
        poll(events, SEEP_ARRAY_SIZE(events), (int)SEEP_MIN((left_ns + 999999) / 1000000, (int64_t)POLL_MS));
    }
}

struct seep_error *seep_attached_settle(struct seep_attached *attached) {
    uint64_t nr_left = 0;
    struct seep_error *err = seep_attach_drain_whole(attached, &nr_left);
    seep_attach_forget_ended(attached);
    const uint64_t *lost = attached->bpf->bss->seep_lost;
    uint64_t *into = attached->processes[0]->heap.lost;
    into[SEEP_LOST_RING] =
        lost[SEEP_BPF_LOST_ALLOC] + lost[SEEP_BPF_LOST_FREE] + lost[SEEP_BPF_LOST_OTHER] + nr_left;
    into[SEEP_LOST_NO_THREAD] = lost[SEEP_BPF_LOST_THREAD];
    into[SEEP_LOST_ODD_FULL] = lost[SEEP_BPF_LOST_SAMPLED];
    for (size_t i = 0; i < attached->nr_processes; i++) {
        struct seep_traced_process *process = attached->processes[i];
        if (process->ended)
            continue;
        process->duration_ns = attached->now_ns;
        if (!err)
            err = seep_heap_look_at_pages(&process->heap);
    }
    return err;
}

size_t seep_attached_processes(const struct seep_attached *attached,
                               struct seep_traced_process *const **ret_processes) {
    *ret_processes = attached->processes;
    return attached->nr_processes;
}

// ---- start and end ----

static struct seep_error *scan_objects(struct seep_attached *attached, pid_t pid) {
    struct seep_process_map map;
    struct seep_error *err = seep_process_map_init(pid, &map);
    size_t index;
    if (err)
        return err->code == SEEP_E_PERMISSION ? seep_right_to_debug(err, pid) : err;
    for (size_t i = 0; i < map.nr_areas && !err; i++)
        err = seep_attach_find_object(attached, pid, &map.areas[i], &index);
    seep_process_map_deinit(&map);
    return err;
}

static struct seep_error *no_otel(const struct seep_attached *attached) {
    for (size_t i = 0; i < attached->nr_objects; i++)
        if (attached->objects[i]->allocator.otel_refused)
            return seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED, "%s of %s is not understood",
                                                     attached->objects[i]->allocator.otel_refused,
                                                     attached->objects[i]->path),
                                   "without --source the functions of its allocator are probed");
    struct seep_error *err =
        attached->options.pid
            ? seep_error_create(SEEP_E_NOT_FOUND, "process %d: no otel_memory probes in its code",
                                (int)attached->options.pid)
            : seep_error_create(SEEP_E_NOT_FOUND, "no otel_memory probes in the code of any process");
    return seep_error_hint(err, "without --source the functions of its allocator are probed");
}

static struct seep_error *check_allocator(const struct seep_attached *attached) {
    for (size_t i = 0; i < attached->nr_objects; i++) {
        const struct seep_probe_places *places = attached->objects[i]->allocator.places;
        // A program may go on as another one, whose loader will tell: `ld.so PROG`, `sh -c PROG`.
        if (places[SEEP_PROBE_ALLOC].nr || places[SEEP_PROBE_OTEL_ALLOC].nr ||
            (attached->options.argv && places[SEEP_PROBE_MODULES].nr))
            return NULL;
    }
    size_t nr_readable = 0;
    for (size_t i = 0; i < attached->nr_objects; i++)
        nr_readable += attached->objects[i]->inode && !attached->objects[i]->unreadable;
    if (!nr_readable && attached->options.pid)
        return seep_error_hint(seep_error_create(SEEP_E_PERMISSION,
                                                 "process %d: the files that it has mapped cannot be opened",
                                                 (int)attached->options.pid),
                               "a process of another user needs CAP_SYS_PTRACE as well");
    if (attached->options.source == SEEP_SOURCE_OTEL)
        return no_otel(attached);
    const char *prefix = attached->options.prefix ? attached->options.prefix : "";
    struct seep_error *err =
        attached->options.pid
            ? seep_error_create(SEEP_E_NOT_FOUND, "process %d: no function named %smalloc in its code",
                                (int)attached->options.pid, prefix)
            : seep_error_create(SEEP_E_NOT_FOUND, "no function named %smalloc in the code of any process",
                                prefix);
    if (attached->options.object)
        return seep_error_hint(err, "-O %s: is that the object with the allocator?",
                               attached->options.object);
    return seep_error_hint(err,
                           "a stripped static program has no names to find it by: link it without -s, or "
                           "with the shared C library; an allocator with names of its own: --symbols-prefix");
}

static struct seep_error *open_pidfd(struct seep_attached *attached, pid_t pid) {
    attached->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (attached->pidfd >= 0)
        return NULL;
    return seep_error_hint(seep_error_system(errno, "process %d", (int)pid), "name a running process");
}

// What is there, and is no process that could be traced.
static struct seep_error *check_kind(pid_t pid) {
    // Each event that it takes would make more of them.
    if (pid == getpid())
        return seep_error_hint(
            seep_error_create(SEEP_E_UNSUPPORTED, "process %d: that is seep itself", (int)pid),
            "start another seep to trace this one");
    long leader = seep_status_number(pid, 0, "Tgid:");
    if (leader > 0 && leader != pid)
        return seep_error_hint(
            seep_error_create(SEEP_E_NOT_FOUND, "%d is a thread of process %ld", (int)pid, leader),
            "name the process");
    if (seep_process_is_zombie(pid) && seep_live_thread(pid) == pid) // its main thread may have left alone
        return seep_error_hint(
            seep_error_create(SEEP_E_NOT_FOUND, "process %d has ended and waits for its parent", (int)pid),
            "name a running process");
    // All others have memory, or had when they began to end.
    if (leader > 0 && seep_status_number(pid, 0, "VmSize:") <= 0 && seep_live_thread(pid) == pid &&
        seep_status_number(pid, 0, "PPid:") <= 2)
        return seep_error_hint(
            seep_error_create(SEEP_E_UNSUPPORTED, "process %d is a thread of the kernel", (int)pid),
            "'seep kernel' traces what the kernel allocates");
    return NULL;
}

// Its program would end.
static struct seep_error *check_emulator(pid_t pid) {
    char path[64], exe[4096];
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)seep_live_thread(pid));
    ssize_t nr = readlink(path, exe, sizeof(exe) - 1);
    exe[nr > 0 ? nr : 0] = 0;
    const char *emulator = seep_emulator_name(exe);
    if (!emulator)
        return NULL;
    return seep_error_hint(
        seep_error_create(SEEP_E_UNSUPPORTED, "process %d: " SEEP_EMULATOR_FORMAT, (int)pid, emulator),
        "trace the program without the emulator");
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
static void choose_source(struct seep_attached *attached) {
    bool has_functions = false, has_otel = false;
    for (size_t i = 0; i < attached->nr_objects; i++) {
        has_functions |= attached->objects[i]->allocator.places[SEEP_PROBE_ALLOC].nr != 0;
        has_otel |= attached->objects[i]->allocator.places[SEEP_PROBE_OTEL_ALLOC].nr != 0;
    }
    if (attached->options.source == SEEP_SOURCE_AUTO)
        attached->options.source = has_otel && !has_functions ? SEEP_SOURCE_OTEL : SEEP_SOURCE_FUNCTIONS;
    for (size_t i = 0; i < attached->nr_objects; i++)
        seep_attach_keep_source(attached, attached->objects[i]);
}

// The user wanted to stop while files were read: what would follow takes as long again, and would trace
// nothing.
static struct seep_error *check_stop(const struct seep_attached *attached) {
    if (!attached->options.stop || !*attached->options.stop)
        return NULL;
    return seep_error_create(SEEP_E_UNSUPPORTED, "interrupted before the probes stood: nothing was traced");
}

// What one process does not have is no reason not to trace the others.
static struct seep_error *unless_gone(struct seep_error *err) {
    if (!err || (err->code != SEEP_E_NOT_FOUND && err->code != SEEP_E_PERMISSION))
        return err;
    seep_error_destroy(err);
    return NULL;
}

// What a server started before, its workers, say, does the work and is not traced.
static struct seep_error *note_late(struct seep_attached *attached, struct seep_traced_process *process,
                                    pid_t pid) {
    struct seep_pids family = {NULL};
    struct seep_error *err =
        attached->options.ignore_children ? NULL : unless_gone(seep_pids_add_family(&family, pid));
    size_t nr = family.nr_items ? family.nr_items - 1 : 0; // without itself
    char started[160] = "";
    if (nr)
        snprintf(started, sizeof(started),
                 "; %zu process%s that it had started %s not traced (pid %d%s): --cgroup PATH instead of the "
                 "process traces all",
                 nr, seep_plural_es(nr), nr == 1 ? "is" : "are", (int)family.items[1], nr > 1 ? ", ..." : "");
    seep_pids_deinit(&family);
    return err ? err
               : seep_traced_process_note(process, SEEP_NOTE_ATTACHED_LATE,
                                          "attached while it ran: blocks from before are not known%s",
                                          started);
}

static struct seep_error *start_process(struct seep_attached *attached) {
    pid_t pid = attached->options.pid;
    struct seep_traced_process *process = NULL;
    struct seep_error *err = check_kind(pid);
    if (!err)
        err = open_pidfd(attached, pid);
    if (!err)
        err = check_emulator(pid);
    if (!err)
        err = check_main_thread(pid);
    if (!err)
        err = scan_objects(attached, pid);
    if (!err)
        err = check_stop(attached);
    if (!err)
        choose_source(attached);
    if (!err)
        err = check_allocator(attached);
    if (!err)
        err = seep_attach_load(attached);
    if (!err)
        err = seep_attach_add_process(attached, pid, &process);
    if (!err)
        err = seep_attach_update_process(attached, process);
    if (!err)
        err = note_late(attached, process, pid);
    return err;
}

static struct seep_error *for_members(struct seep_attached *attached, const struct seep_pids *pids,
                                      struct seep_error *(*visit)(struct seep_attached *, pid_t)) {
    struct seep_error *err = NULL;
    for (size_t i = 0; i < pids->nr_items && !err; i++)
        err = unless_gone(visit(attached, pids->items[i]));
    return err;
}

// One that was met by an event already is not met again.
static struct seep_error *add_member(struct seep_attached *attached, pid_t pid) {
    return seep_attach_process_of(attached, (uint32_t)pid)
               ? NULL
               : seep_attach_took_new(attached, pid, NULL, &(struct seep_attach_birth){.at_ns = 0});
}

// Those that come between the two looks are met by their first event.
static struct seep_error *start_scope(struct seep_attached *attached) {
    struct seep_pids pids = {NULL};
    struct seep_error *err = attached->options.cgroup ? seep_attach_open_cgroup(attached) : NULL;
    if (!err)
        err = seep_attach_members(attached, &pids);
    if (!err)
        err = for_members(attached, &pids, scan_objects);
    if (!err)
        err = check_stop(attached);
    if (!err && !pids.nr_items)
        err =
            seep_error_hint(seep_error_create(SEEP_E_NOT_FOUND, "no process in %s",
                                              attached->options.cgroup ? attached->options.cgroup : "/proc"),
                            "start one first, or name the group above it: what allocates is looked for in "
                            "those that are there");
    if (!err)
        err = check_allocator(attached);
    if (!err)
        err = seep_attach_load(attached);
    seep_pids_deinit(&pids);
    if (!err)
        err = seep_attach_members(attached, &pids);
    if (!err)
        err = for_members(attached, &pids, add_member);
    seep_pids_deinit(&pids);
    if (!err && !attached->nr_processes)
        err = seep_error_hint(seep_error_create(SEEP_E_NOT_FOUND, "no process that could be traced"),
                              "all have ended meanwhile, or their files may not be read (CAP_SYS_PTRACE)");
    return err;
}

static struct seep_error *mapped_code(void *context) {
    struct seep_attached *attached = context;
    return seep_attach_update_process(attached, attached->processes[0]);
}

static struct seep_error *start_program(struct seep_attached *attached, int *ret_status) {
    struct seep_traced_process *process = NULL;
    if (!attached->options.ignore_children && seep_private_is_possible())
        attached->scope = SEEP_BPF_SCOPE_FAMILY;
    struct seep_held_program_visitor visitor = {
        mapped_code, attached->scope == SEEP_BPF_SCOPE_FAMILY ? seep_attach_opens : NULL};
    struct seep_error *err = seep_attach_load(attached);
    if (!err)
        err = seep_held_program_start(attached->options.argv, &attached->options.ignored, &visitor, attached,
                                      &attached->held, ret_status);
    if (err)
        return err;
    if (attached->options.about_to_run)
        attached->options.about_to_run(attached->options.about_to_run_context);
    attached->options.pid = attached->held.pid;
    err = open_pidfd(attached, attached->held.pid);
    if (attached->scope == SEEP_BPF_SCOPE_FAMILY)
        attached->gate = seep_exec_gate_create(attached->held.pid);
    if (!err)
        err = seep_attach_add_process(attached, attached->held.pid, &process);
    if (!err)
        err = seep_attach_note_emulator(process);
    if (!err)
        err = seep_held_program_load(&attached->held, &visitor, attached);
    if (!err && attached->held.released) {
        process->begun_ns = attached->held.released_ns - attached->start_ns;
        err = seep_attach_keep_code(process);
    }
    if (!err)
        err = check_allocator(attached);
    return err;
}

// A program that is started sends the memory of its stacks as long as its files are not read: a JVM about
// 10 MiB, of which half of the ring is free.
static uint64_t default_ring_bytes(const struct seep_attached *attached) {
    if (seep_attached_is_open(attached))
        return SEEP_ATTACH_RING_BYTES_MANY;
    uint64_t bytes = SEEP_ATTACH_RING_BYTES;
    if (!attached->options.argv)
        return bytes;
    struct seep_memory_limit limit;
    seep_memory_limit_find(getpid(), "", &limit);
    uint64_t used = seep_memory_limit_used(&limit);
    uint64_t share = limit.bytes > used ? (limit.bytes - used) / SEEP_ATTACH_RING_SHARE : 0;
    while (bytes < SEEP_ATTACH_RING_BYTES_MANY && 2 * bytes <= share)
        bytes *= 2;
    return bytes;
}

struct seep_error *seep_attached_create(const struct seep_attach_options *options,
                                        struct seep_attached **ret_attached, int *ret_status) {
    struct seep_attached *attached = calloc(1, sizeof(*attached));
    if (!attached)
        return seep_error_no_memory();
    attached->options = *options;
    attached->pidfd = attached->cgroup = -1;
    attached->generation = 1; // 0 is none: a process need not lose code before its stacks are walked on
    attached->scope = options->cgroup ? SEEP_BPF_SCOPE_CGROUP
                      : options->all  ? SEEP_BPF_SCOPE_ALL
                                      : SEEP_BPF_SCOPE_PROBED;
    if ((options->argv || attached->scope != SEEP_BPF_SCOPE_PROBED) && !options->source)
        attached->options.source = SEEP_SOURCE_FUNCTIONS; // what comes later is not known yet
    attached->start_ns = seep_monotonic_ns();
    attached->taken_us = attached->start_ns / 1000;
    if (!attached->options.ring_bytes)
        attached->options.ring_bytes = default_ring_bytes(attached);
    struct seep_error *err = seep_attach_choose_probes(attached);
    if (!err)
        err = options->argv                              ? start_program(attached, ret_status)
              : attached->scope != SEEP_BPF_SCOPE_PROBED ? start_scope(attached)
                                                         : start_process(attached);
    if (!err && !seep_attached_is_open(attached))
        err = seep_attach_check_probed(attached);
    if (err) {
        seep_attached_destroy(attached);
        return err;
    }
    *ret_attached = attached;
    return NULL;
}

void seep_attached_destroy(struct seep_attached *attached) {
    if (!attached)
        return;
    if (attached->options.argv)
        seep_held_program_abandon(&attached->held);
    seep_exec_gate_destroy(attached->gate);
    for (size_t i = 0; i < attached->nr_attachments; i++)
        seep_attach_attachment_deinit(&attached->attachments[i]);
    free(attached->attachments);
    seep_attach_close_landings(attached);
    ring_buffer__free(attached->ring);
    seep_bpf_tables_deinit(&attached->tables);
    seep_heap_bpf__destroy(attached->bpf);
    seep_object_reader_deinit(&attached->reader);
    for (size_t i = 0; i < attached->nr_objects; i++)
        seep_attach_object_destroy(attached->objects[i]);
    free(attached->objects);
    for (size_t i = 0; i < attached->nr_processes; i++)
        seep_traced_process_destroy(attached->processes[i]);
    free(attached->processes);
    seep_map_deinit(&attached->process_ids);
    seep_map_deinit(&attached->lenders);
    seep_map_deinit(&attached->steps);
    seep_map_deinit(&attached->owner_steps);
    seep_map_deinit(&attached->owner_files);
    for (size_t i = 0; i < attached->nr_private_paths; i++)
        free(attached->private_paths[i]);
    free(attached->private_paths);
    if (attached->cgroup >= 0)
        close(attached->cgroup);
    if (attached->pidfd >= 0)
        close(attached->pidfd);
    seep_error_destroy(attached->failed);
    seep_error_destroy(attached->refused);
    free(attached);
}

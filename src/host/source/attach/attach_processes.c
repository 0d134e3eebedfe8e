// SPDX-License-Identifier: BSD-2-Clause
//
// How a traced process comes to be, by fork, by exec or by coming into the scope, and how it ends. See
// attach_parts.h.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/live_thread.h"
#include "process/process_map.h"
#include "source/attach/attach_parts.h"
#include "source/attach/emulator.h"
#include "source/attach/traced_process.h"

struct seep_traced_process *seep_attach_process_of(const struct seep_attached *attached, uint32_t pid) {
    const uint64_t *process = seep_map_find(&attached->process_ids, pid);
    return process ? (struct seep_traced_process *)(uintptr_t)*process : NULL;
}

struct seep_error *seep_attach_add_process(struct seep_attached *attached, pid_t pid,
                                           struct seep_traced_process **ret) {
    struct seep_traced_process *process;
    uint64_t *id = seep_map_at(&attached->process_ids, (uint32_t)pid, NULL);
    if (!id || !seep_grow(&attached->processes, &attached->processes_capacity, attached->nr_processes + 1,
                          sizeof(struct seep_traced_process *)))
        return seep_error_no_memory();
    struct seep_error *err = seep_traced_process_create(pid, &process);
    if (err)
        return err;
    process->heap.is_sampled = attached->options.source == SEEP_SOURCE_OTEL;
    attached->processes[attached->nr_processes++] = process;
    *id = (uintptr_t)process;
    *ret = process;
    return NULL;
}

// Takes it out of the table. The last one stays, or there would be nothing to report of.
static void end_process(struct seep_attached *attached, struct seep_traced_process *process, int64_t at_ns) {
    seep_attach_forget_landings(attached, process->heap.pid);
    process->ended = true;
    process->duration_ns = at_ns;
    uint64_t *id = seep_map_find(&attached->process_ids, (uint32_t)process->heap.pid);
    if (id && *id == (uintptr_t)process)
        *id = 0;
    if (!seep_attached_is_open(attached) || attached->nr_processes < 2)
        return;
    size_t i = 0;
    while (attached->processes[i] != process)
        i++;
    memmove(attached->processes + i, attached->processes + i + 1,
            (--attached->nr_processes - i) * sizeof(struct seep_traced_process *));
    seep_traced_process_destroy(process);
    attached->nr_forgotten++;
}

// Where its code is known by now its stacks have names, whether or not it still lives.
static struct seep_error *look_at(struct seep_attached *attached, struct seep_traced_process *process,
                                  bool *ret_late) {
    size_t nr_before = attached->nr_attachments;
    struct seep_error *err = seep_attach_update_process(attached, process);
    *ret_late = attached->scope == SEEP_BPF_SCOPE_PROBED || attached->nr_attachments > nr_before;
    return err;
}

static struct seep_error *look_at_new(struct seep_attached *attached, struct seep_traced_process *process,
                                      const char *program, bool *ret_late) {
    struct seep_error *err = look_at(attached, process, ret_late);
    bool gone = err ? err->code == SEEP_E_NOT_FOUND : !process->heap.nr_areas;
    if (!gone || !program)
        return err;
    seep_error_destroy(err);
    return seep_attach_learn(attached, program);
}

// libseep.so counts for it, and better.
static struct seep_error *ignore(struct seep_attached *attached, pid_t pid, bool *ret_ignored) {
    *ret_ignored = seep_attached_is_open(attached) && seep_process_has_library(pid);
    if (!*ret_ignored)
        return NULL;
    attached->nr_ignored++;
    return seep_bpf_tables_ignore_process(&attached->tables, (uint32_t)pid);
}

// One that has ended already has no other name.
static struct seep_error *begin(struct seep_attached *attached, pid_t pid, const char *program,
                                const struct seep_attach_birth *birth, struct seep_traced_process **ret) {
    struct seep_error *err = seep_attach_add_process(attached, pid, ret);
    if (err || !program)
        return err;
    (*ret)->is_loading = true;
    (*ret)->begun_as = birth->exec ? seep_attach_program_of(*ret, birth->exec)
                                   : seep_arena_strdup(&(*ret)->heap.arena, program);
    if (!(*ret)->begun_as)
        return seep_error_no_memory();
    if (!*(*ret)->exe)
        (*ret)->exe = (*ret)->begun_as;
    return NULL;
}

struct seep_error *seep_attach_note_emulator(struct seep_traced_process *process) {
    const char *emulator = seep_emulator_name(process->begun_as ? process->begun_as : process->exe);
    return emulator ? seep_traced_process_note(process, SEEP_NOTE_NOT_COVERED,
                                               SEEP_EMULATOR_FORMAT ": trace the program without %s",
                                               emulator, emulator)
                    : NULL;
}

// `birth`: when it was met or began by exec. The parent of one that has ended already is known by it alone.
static struct seep_error *born(struct seep_traced_process *process, const struct seep_attach_birth *birth) {
    process->begun_ns = SEEP_MAX(birth->at_ns, (int64_t)0);
    process->stack_rt = birth->stack_rt;
    if (!process->ppid)
        process->ppid = birth->parent;
    struct seep_error *err = seep_attach_note_emulator(process);
    if (err)
        return err;
    return birth->nr_args_bytes ? seep_traced_process_tell_args(process, birth->args, birth->nr_args_bytes)
                                : NULL;
}

struct seep_error *seep_attach_took_new(struct seep_attached *attached, pid_t pid, const char *program,
                                        const struct seep_attach_birth *birth) {
    struct seep_traced_process *process;
    bool late, ignored;
    struct seep_error *err = ignore(attached, pid, &ignored);
    if (err || ignored)
        return err;
    err = begin(attached, pid, program, birth, &process);
    if (!err)
        err = program ? born(process, birth) : seep_attach_note_emulator(process);
    if (!err)
        err = look_at_new(attached, process, program, &late);
    if (err)
        return err;
    if (!program)
        return seep_traced_process_note(process, SEEP_NOTE_ATTACHED_LATE,
                                        "met while it ran: blocks from before are not known");
    return late ? seep_traced_process_note(process, SEEP_NOTE_LATE_PROBES,
                                           "new to us: what it did in its first milliseconds is not known")
                : NULL;
}

struct seep_error *seep_attach_took_exec(struct seep_attached *attached, struct seep_traced_process *process,
                                         const char *program, const struct seep_attach_birth *birth) {
    pid_t pid = process->heap.pid;
    bool late = false;
    struct seep_error *err =
        seep_traced_process_note(process, SEEP_NOTE_EXEC_FOLLOWS,
                                 "the process went on as another program (exec), which follows by itself");
    if (err)
        return err;
    process->execed = true;
    // It was another program already when /proc was asked who it is.
    if (process->begun_as && birth->at_ns + attached->start_ns <= process->read_ns) {
        process->exe = process->begun_as;
        process->nr_args = process->args_are_told ? process->nr_args : 0;
    }
    end_process(attached, process, birth->at_ns);
    attached->generation++; // its addresses are other functions now
    err = begin(attached, pid, program, birth, &process);
    if (!err)
        err = born(process, birth);
    if (!err)
        err = look_at_new(attached, process, program, &late);
    if (err || !late)
        return err;
    if (!process->heap.nr_areas)
        return seep_traced_process_note(process, SEEP_NOTE_ENDED_EARLY,
                                        "it had ended before its probes were in place");
    return seep_traced_process_note(process, SEEP_NOTE_LATE_PROBES,
                                    "began by exec: what it did in its first milliseconds is not known");
}

// Whether it still is, and not only as a name.
static bool lives(pid_t pid) {
    char path[64], exe;
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)seep_live_thread(pid));
    return readlink(path, &exe, sizeof(exe)) >= 0;
}

// What it was when it was forked; by now it may be another program already.
static struct seep_error *name_like(struct seep_traced_process *child,
                                    const struct seep_traced_process *parent) {
    struct seep_arena *arena = &child->heap.arena;
    child->ppid = (uint32_t)parent->heap.pid;
    child->read_ns = 0;
    child->exe = seep_arena_strdup(arena, parent->exe);
    const char **args = seep_arena_alloc(arena, parent->nr_args, sizeof(*args));
    if (!child->exe || !args)
        return seep_error_no_memory();
    for (uint32_t i = 0; i < parent->nr_args; i++)
        if (!(args[i] = seep_arena_strdup(arena, parent->args[i])))
            return seep_error_no_memory();
    child->args = args;
    child->nr_args = parent->nr_args;
    return NULL;
}

// A child begins with its parent's blocks. Where probes are of one process it runs meanwhile: what it does
// until its own are in place is not seen, and one that has ended by then is only counted.
struct seep_error *seep_attach_took_fork(struct seep_attached *attached, struct seep_traced_process *parent,
                                         pid_t pid, int64_t at_ns) {
    struct seep_heap heap;
    struct seep_traced_process *child;
    bool late = false;
    if (attached->options.ignore_children)
        return NULL;
    if (attached->scope == SEEP_BPF_SCOPE_PROBED && !lives(pid)) {
        parent->heap.lost[SEEP_LOST_FORK]++;
        return NULL;
    }
    struct seep_error *err = seep_heap_fork(&parent->heap, pid, &heap);
    if (err)
        return err;
    err = seep_attach_add_process(attached, pid, &child);
    if (err) {
        seep_heap_deinit(&heap);
        return err;
    }
    seep_heap_deinit(&child->heap);
    child->heap = heap;
    child->forked_from = (uint32_t)parent->heap.pid;
    child->begun_ns = SEEP_MAX(at_ns, (int64_t)0);
    child->stack_rt = parent->stack_rt;
    err = name_like(child, parent);
    if (!err)
        err = look_at(attached, child, &late);
    if (err || !late)
        return err;
    return seep_traced_process_note(
        child, SEEP_NOTE_LATE_PROBES,
        "a forked child: what it did in its first milliseconds is not known; with "
        "--cgroup PATH instead of the process, children are seen from their start");
}

// The probes in children that have ended would only take up descriptors.
static void detach(struct seep_attached *attached, pid_t pid) {
    for (size_t i = 0; i < attached->nr_attachments;) {
        if (attached->attachments[i].pid != pid) {
            i++;
            continue;
        }
        seep_attach_attachment_deinit(&attached->attachments[i]);
        attached->attachments[i] = attached->attachments[--attached->nr_attachments];
    }
}

static void forget_process(struct seep_attached *attached, struct seep_traced_process *process,
                           int64_t at_ns) {
    seep_bpf_tables_forget_process(&attached->tables, (uint32_t)process->heap.pid);
    if (attached->scope == SEEP_BPF_SCOPE_PROBED)
        detach(attached, process->heap.pid);
    end_process(attached, process, at_ns);
}

void seep_attach_took_exit(struct seep_attached *attached, struct seep_traced_process *process, int64_t at_ns,
                           int status) {
    process->has_status = true;
    process->wait_status = status;
    process->duration_ns = at_ns;
    // That the one that was named has ended is known by its descriptor.
    if (process->heap.pid != attached->options.pid)
        forget_process(attached, process, at_ns);
}

static void close_process(struct seep_attached *attached, struct seep_traced_process *process) {
    forget_process(attached, process, attached->now_ns);
}

void seep_attach_forget_ended(struct seep_attached *attached) {
    for (size_t i = attached->nr_processes; i-- > 0;) {
        struct seep_traced_process *process = attached->processes[i];
        if (!process->ended && process->heap.pid != attached->options.pid &&
            kill(process->heap.pid, 0) != 0 && errno == ESRCH)
            close_process(attached, process);
    }
}

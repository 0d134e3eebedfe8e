// SPDX-License-Identifier: BSD-2-Clause
//
// Brings the parts of a trace together, see heap_trace.h: which objects a process has mapped, their unwind
// tables and allocator functions, the probes, and the events that come of them.
//
// Frees are probed before allocations, so that no block is seen whose free could not be. The programs are
// loaded when the first process's objects are known, because maps cannot grow.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/allocator_file.h"
#include "capture/bpf_program.h"
#include "capture/bpf_tables.h"
#include "capture/heap.skel.h"
#include "capture/heap_trace.h"
#include "capture/held_program.h"
#include "capture/process_map.h"
#include "capture/traced_process.h"
#include "image/bpf_events.h"

// Room for what is loaded later, beside what the first process has: 8 MiB of rows, code of 256 MiB.
#define SPARE_ROWS  (UINT64_C(1) << 20)
#define SPARE_PAGES (UINT64_C(1) << 18)
#define NR_MAPPINGS (UINT64_C(1) << 16)
#define SAMPLED_MAX (1u << 20)
#define POLL_MS     10

// A file that some process has mapped as code.
struct object {
    uint64_t device;
    uint64_t inode;
    char *path;
    int fd;                         // kept where there is something to probe; else -1
    struct seep_elf_file elf;       // its segments; reads nothing any more
    struct seep_unwind_table table; // until it is in the kernel's
    struct seep_bpf_table_place place;
    uint64_t base; // of the table
    struct seep_allocator_file allocator;
    uint8_t build_id[44];
    uint32_t build_id_bytes;
    bool unreadable;
};

// Probes of one object in one process.
struct attachment {
    size_t object;
    pid_t pid;
    int links[SEEP_PROBE_NR + 1]; // descriptors, or -1; the last: returns
    struct bpf_link **old_links;  // one for each place, on kernels without uprobe.multi
    size_t nr_old_links;
};

struct seep_heap_trace {
    struct seep_heap_trace_options options;
    struct seep_bpf_features features;
    struct seep_heap *bpf;
    struct ring_buffer *ring;
    struct seep_bpf_tables tables;
    struct object **objects;
    size_t nr_objects;
    size_t objects_capacity;
    struct attachment *attachments;
    size_t nr_attachments;
    size_t attachments_capacity;
    struct seep_traced_process **processes;
    size_t nr_processes;
    size_t processes_capacity;
    int pidfd;
    struct seep_held_program held; // with options.argv
    int64_t start_ns;              // CLOCK_MONOTONIC
    int64_t now_ns;                // since then, when the latest events were taken
    uint32_t generation;
    uint64_t nr_without_table; // objects for which the tables had no room
    struct seep_error *failed; // what stopped taking events
};

// ---- objects ----

static void object_destroy(struct object *object) {
    if (!object)
        return;
    if (object->fd >= 0)
        close(object->fd);
    seep_elf_file_deinit(&object->elf);
    seep_unwind_table_deinit(&object->table);
    seep_allocator_file_deinit(&object->allocator);
    free(object->path);
    free(object);
}

static bool has_places(const struct seep_allocator_file *file) {
    for (size_t i = 0; i < SEEP_PROBE_NR; i++)
        if (file->places[i].nr)
            return true;
    return false;
}

// -O: its name, with or without what follows ".so", or the end of its path.
static bool is_wanted(const struct seep_heap_trace *trace, const char *path) {
    const char *wanted = trace->options.object;
    if (!wanted)
        return true;
    size_t nr = strlen(wanted), nr_path = strlen(path);
    if (strchr(wanted, '/'))
        return nr_path >= nr && strcmp(path + nr_path - nr, wanted) == 0;
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    return strncmp(name, wanted, nr) == 0 && (name[nr] == 0 || name[nr] == '.' || name[nr] == '-');
}

// A file that cannot be read has no rows and no probes, and the frames in it no names: no more.
static struct seep_error *read_object(const struct seep_heap_trace *trace, pid_t pid,
                                      const struct seep_code_area *area, struct object *object) {
    object->fd = seep_code_area_open(pid, area);
    struct seep_error *err =
        object->fd < 0 ? NULL : seep_elf_file_init(object->fd, object->path, &object->elf);
    if (err && err->code != SEEP_E_FORMAT)
        return err;
    object->unreadable = object->fd < 0 || err;
    seep_error_destroy(err);
    if (object->unreadable)
        return NULL;
    object->build_id_bytes = seep_elf_build_id(&object->elf, object->build_id, sizeof(object->build_id));
    err = seep_unwind_table_init(&object->elf, &object->table);
    object->base = object->table.base;
    if (!err)
        err = seep_allocator_file_init(&object->elf, trace->options.prefix, &object->allocator);
    if (err)
        return err;
    // The loader's news are wanted from any object.
    if (!is_wanted(trace, object->path))
        object->allocator.places[SEEP_PROBE_ALLOC].nr = object->allocator.places[SEEP_PROBE_FREE].nr = 0;
    if (!has_places(&object->allocator)) {
        close(object->fd);
        object->fd = -1;
    }
    return NULL;
}

static void place_table(struct seep_heap_trace *trace, struct object *object) {
    trace->nr_without_table += !seep_bpf_tables_add(&trace->tables, &object->table, &object->place);
    seep_unwind_table_deinit(&object->table);
}

static struct seep_error *find_object(struct seep_heap_trace *trace, pid_t pid,
                                      const struct seep_code_area *area, size_t *ret_index) {
    for (size_t i = 0; i < trace->nr_objects; i++) {
        const struct object *known = trace->objects[i];
        if (known->device == area->device && known->inode == area->inode &&
            (area->inode || strcmp(known->path, area->path) == 0)) {
            *ret_index = i;
            return NULL;
        }
    }
    struct object *object = calloc(1, sizeof(*object));
    if (!object || !(object->path = strdup(area->path)) ||
        !seep_grow(&trace->objects, &trace->objects_capacity, trace->nr_objects + 1,
                   sizeof(struct object *))) {
        if (object)
            free(object->path);
        free(object);
        return seep_error_no_memory();
    }
    object->device = area->device;
    object->inode = area->inode;
    object->fd = -1;
    struct seep_error *err = read_object(trace, pid, area, object);
    if (err) {
        object_destroy(object);
        return err;
    }
    if (trace->bpf)
        place_table(trace, object);
    *ret_index = trace->nr_objects;
    trace->objects[trace->nr_objects++] = object;
    return NULL;
}

// ---- probes ----

static struct bpf_program *program_of(const struct seep_heap_trace *trace, enum seep_probe_kind kind,
                                      bool returns) {
    switch (kind) {
    case SEEP_PROBE_FREE:
        return trace->bpf->progs.seep_free;
    case SEEP_PROBE_MODULES:
        return trace->bpf->progs.seep_modules;
    default:
        if (trace->options.probes == SEEP_PROBES_BEST)
            return trace->bpf->progs.seep_session;
        return returns ? trace->bpf->progs.seep_return : trace->bpf->progs.seep_entry;
    }
}

// Kernels before 6.6: one link for each place.
static struct seep_error *attach_old(struct seep_heap_trace *trace, struct attachment *attachment,
                                     enum seep_probe_kind kind, const struct seep_bpf_places *places,
                                     bool returns) {
    size_t capacity = attachment->nr_old_links;
    if (!seep_grow(&attachment->old_links, &capacity, attachment->nr_old_links + places->nr,
                   sizeof(*attachment->old_links)))
        return seep_error_no_memory();
    for (uint32_t i = 0; i < places->nr; i++) {
        LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = places->cookies[i], .retprobe = returns);
        struct bpf_link *link = bpf_program__attach_uprobe_opts(program_of(trace, kind, returns), places->pid,
                                                                places->path, places->offsets[i], &options);
        if (!link)
            return seep_error_system(errno, "cannot put probes on %s",
                                     trace->objects[attachment->object]->path);
        attachment->old_links[attachment->nr_old_links++] = link;
    }
    return NULL;
}

static struct seep_error *attach_kind(struct seep_heap_trace *trace, struct attachment *attachment,
                                      enum seep_probe_kind kind) {
    const struct object *object = trace->objects[attachment->object];
    const struct seep_probe_places *found = &object->allocator.places[kind];
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", object->fd);
    struct seep_bpf_places places = {path, found->offsets, found->cookies, (uint32_t)found->nr,
                                     attachment->pid};
    bool session = kind == SEEP_PROBE_ALLOC && trace->options.probes == SEEP_PROBES_BEST;
    if (!found->nr)
        return NULL;
    struct seep_error *err = NULL;
    if (trace->options.probes == SEEP_PROBES_PERF) {
        err = attach_old(trace, attachment, kind, &places, false);
        return !err && kind == SEEP_PROBE_ALLOC ? attach_old(trace, attachment, kind, &places, true) : err;
    }
    err = seep_bpf_attach_multi(bpf_program__fd(program_of(trace, kind, false)),
                                session ? SEEP_BPF_ATTACH_SESSION : SEEP_BPF_ATTACH_MULTI, &places, false,
                                &attachment->links[kind]);
    // Without sessions the return is a probe of its own.
    if (!err && kind == SEEP_PROBE_ALLOC && !session)
        err = seep_bpf_attach_multi(bpf_program__fd(program_of(trace, kind, true)), SEEP_BPF_ATTACH_MULTI,
                                    &places, true, &attachment->links[SEEP_PROBE_NR]);
    return err ? seep_error_prefix(err, "%s", object->path) : NULL;
}

static void attachment_deinit(struct attachment *attachment) {
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(attachment->links); i++)
        if (attachment->links[i] >= 0)
            close(attachment->links[i]);
    for (size_t i = 0; i < attachment->nr_old_links; i++)
        bpf_link__destroy(attachment->old_links[i]);
    free(attachment->old_links);
}

static struct seep_error *attach(struct seep_heap_trace *trace, size_t object, pid_t pid) {
    for (size_t i = 0; i < trace->nr_attachments; i++)
        if (trace->attachments[i].object == object && trace->attachments[i].pid == pid)
            return NULL;
    if (trace->objects[object]->fd < 0)
        return NULL;
    if (!seep_grow(&trace->attachments, &trace->attachments_capacity, trace->nr_attachments + 1,
                   sizeof(*trace->attachments)))
        return seep_error_no_memory();
    struct attachment *attachment = &trace->attachments[trace->nr_attachments++];
    *attachment = (struct attachment){.object = object, .pid = pid, .links = {-1, -1, -1, -1}};
    static const enum seep_probe_kind order[] = {SEEP_PROBE_MODULES, SEEP_PROBE_FREE, SEEP_PROBE_ALLOC};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(order); i++) {
        struct seep_error *err = attach_kind(trace, attachment, order[i]);
        if (err)
            return err;
    }
    return NULL;
}

// ---- processes ----

static struct seep_traced_process *process_of(const struct seep_heap_trace *trace, uint32_t pid) {
    for (size_t i = trace->nr_processes; i-- > 0;)
        if ((uint32_t)trace->processes[i]->heap.pid == pid)
            return trace->processes[i];
    return NULL;
}

struct layout {
    struct seep_traced_area *areas;
    struct seep_bpf_mapping *mappings;
    size_t nr_areas;
    size_t nr_mappings;
};

// Whether in the process there is a breakpoint where the file has none: another tracer's.
static bool has_breakpoint(const struct object *object, pid_t pid, const struct seep_code_area *area) {
    char name[64];
    snprintf(name, sizeof(name), "/proc/%d/mem", (int)pid);
    int memory = open(name, O_RDONLY | O_CLOEXEC);
    bool found = false;
    for (size_t kind = 0; kind < SEEP_PROBE_NR && memory >= 0; kind++) {
        const struct seep_probe_places *places = &object->allocator.places[kind];
        for (size_t i = 0; i < places->nr; i++) {
            uint64_t at = places->offsets[i] - area->file_off;
            uint8_t mapped, in_file;
            found |= places->offsets[i] >= area->file_off && at < area->end - area->start &&
                     pread(memory, &mapped, 1, (off_t)(area->start + at)) == 1 && mapped == 0xcc &&
                     pread(object->fd, &in_file, 1, (off_t)places->offsets[i]) == 1 && in_file != 0xcc;
        }
    }
    if (memory >= 0)
        close(memory);
    return found;
}

// Before our own are there. A child has copies of its parent's, which the kernel takes away in time.
static struct seep_error *warn_of_breakpoints(const struct object *object,
                                              struct seep_traced_process *process,
                                              const struct seep_code_area *area) {
    if (object->fd < 0 || process->forked_from || process->heap.nr_areas ||
        !has_breakpoint(object, process->heap.pid, area))
        return NULL;
    return seep_traced_process_note(
        process,
        "another tracer has breakpoints in the allocator functions of %s: both see "
        "the calls, and each call costs more",
        object->path);
}

static struct seep_error *add_area(struct seep_heap_trace *trace, struct seep_traced_process *process,
                                   const struct seep_code_area *area, struct layout *layout) {
    size_t index;
    struct seep_error *err = find_object(trace, process->heap.pid, area, &index);
    uint64_t address;
    if (err || !*area->path)
        return err;
    const struct object *object = trace->objects[index];
    if (object->unreadable || !seep_elf_address(&object->elf, area->file_off, &address))
        address = area->file_off;
    struct seep_traced_module module = {
        .path = area->path,
        .bias_rt = area->start - address,
        .start_rt = area->start,
        .end_rt = area->end,
        .first_seen_ns = trace->now_ns,
        .unloaded_ns = -1,
        .build_id_bytes = object->build_id_bytes,
        .operators = object->allocator.throws_uncovered ? NULL : object->allocator.operators,
        .nr_operators = object->allocator.throws_uncovered ? 0 : object->allocator.nr_operators,
    };
    memcpy(module.build_id, object->build_id, sizeof(module.build_id));
    struct seep_traced_area *traced = &layout->areas[layout->nr_areas];
    err = seep_traced_add_module(&process->heap, &module, &traced->module);
    if (err)
        return err;
    traced->start = area->start;
    traced->end = area->end;
    layout->nr_areas++;
    layout->mappings[layout->nr_mappings++] = (struct seep_bpf_mapping){
        .start = area->start,
        .end = area->end,
        .base = module.bias_rt + object->base,
        .first_page = object->place.first_page,
        .nr_pages = object->place.nr_pages,
    };
    err = warn_of_breakpoints(object, process, area);
    return err ? err : attach(trace, index, process->heap.pid);
}

// Some code that was there is gone, or is something else now.
static bool lost_code(const struct seep_traced_heap *heap, const struct layout *layout) {
    for (size_t i = 0; i < heap->nr_areas; i++) {
        bool kept = false;
        for (size_t j = 0; j < layout->nr_areas; j++)
            kept |= heap->areas[i].start == layout->areas[j].start &&
                    heap->areas[i].module == layout->areas[j].module;
        if (!kept)
            return true;
    }
    return false;
}

// Looks at what the process has mapped, and makes tables, probes and modules agree with it.
static struct seep_error *update_process(struct seep_heap_trace *trace, struct seep_traced_process *process) {
    struct seep_process_map map;
    struct seep_error *err = seep_process_map_init(process->heap.pid, &map);
    if (err)
        return err;
    if (!map.nr_areas) // it has ended: what is known of it stays
        return NULL;
    struct layout layout = {.areas = calloc(map.nr_areas + 1, sizeof(*layout.areas)),
                            .mappings = calloc(map.nr_areas + 1, sizeof(*layout.mappings))};
    if (!layout.areas || !layout.mappings)
        err = seep_error_no_memory();
    for (size_t i = 0; i < map.nr_areas && !err; i++)
        err = add_area(trace, process, &map.areas[i], &layout);
    trace->generation += !err && lost_code(&process->heap, &layout);
    if (!err)
        err = seep_bpf_tables_set_process(&trace->tables, (uint32_t)process->heap.pid, layout.mappings,
                                          layout.nr_mappings, trace->generation);
    if (!err)
        err = seep_traced_set_areas(&process->heap, layout.areas, layout.nr_areas, trace->now_ns);
    free(layout.areas);
    free(layout.mappings);
    seep_process_map_deinit(&map);
    return err;
}

static struct seep_error *add_process(struct seep_heap_trace *trace, pid_t pid,
                                      struct seep_traced_process **ret) {
    struct seep_traced_process *process;
    if (!seep_grow(&trace->processes, &trace->processes_capacity, trace->nr_processes + 1,
                   sizeof(struct seep_traced_process *)))
        return seep_error_no_memory();
    struct seep_error *err = seep_traced_process_create(pid, &process);
    if (err)
        return err;
    trace->processes[trace->nr_processes++] = process;
    *ret = process;
    return NULL;
}

// ---- events ----

static struct seep_error *took_stack(struct seep_traced_process *process, const void *data, size_t nr_bytes) {
    const struct seep_bpf_stack *stack = data;
    if (nr_bytes < sizeof(*stack) || stack->nr_frames > (nr_bytes - sizeof(*stack)) / sizeof(uint64_t))
        return NULL;
    const uint64_t *addresses = (const uint64_t *)(stack + 1);
    return seep_traced_stack(&process->heap, stack->event.address, addresses, stack->nr_frames, stack->end);
}

static struct seep_error *took_exec(struct seep_heap_trace *trace, struct seep_traced_process *process) {
    process->ended = true;
    process->duration_ns = trace->now_ns;
    struct seep_error *err = seep_traced_process_note(
        process, "the process went on as another program (exec), which follows by itself");
    if (!err)
        err = add_process(trace, process->heap.pid, &process);
    if (!err)
        err = update_process(trace, process);
    if (err)
        return err;
    if (!process->heap.nr_areas)
        return seep_traced_process_note(process, "not traced: it had ended before its probes were in place");
    return seep_traced_process_note(process,
                                    "began by exec: what it did in its first milliseconds is not known");
}

// A child begins with its parent's blocks. It runs meanwhile: what it does until its probes are in place is
// not seen, and one that has ended by then is only counted.
static struct seep_error *took_fork(struct seep_heap_trace *trace, struct seep_traced_process *parent,
                                    pid_t pid) {
    struct seep_traced_heap heap;
    struct seep_traced_process *child;
    if (trace->options.ignore_children)
        return NULL;
    char path[64], exe; // which one that has ended has not
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    if (readlink(path, &exe, sizeof(exe)) < 0 || trace->nr_processes >= SEEP_BPF_PROCESSES_MAX) {
        parent->heap.lost[SEEP_LOST_FORK]++;
        return NULL;
    }
    struct seep_error *err = seep_traced_heap_fork(&parent->heap, pid, &heap);
    if (err)
        return err;
    err = add_process(trace, pid, &child);
    if (err) {
        seep_traced_heap_deinit(&heap);
        return err;
    }
    seep_traced_heap_deinit(&child->heap);
    child->heap = heap;
    child->forked_from = (uint32_t)parent->heap.pid;
    err = seep_traced_process_identify(child);
    if (!err)
        err = update_process(trace, child);
    if (!err)
        err = seep_traced_process_note(child,
                                       "a forked child: what it did in its first milliseconds is not known");
    return err;
}

static struct seep_error *took(struct seep_heap_trace *trace, const struct seep_bpf_event *event,
                               size_t nr_bytes) {
    struct seep_traced_process *process = process_of(trace, event->pid);
    if (!process)
        return NULL;
    struct seep_traced_call call = {
        .tid = event->tid, .via = event->via, .address = event->address, .now_ns = trace->now_ns};
    if (nr_bytes >= sizeof(struct seep_bpf_alloc)) {
        const struct seep_bpf_alloc *alloc = (const void *)event;
        call.size = alloc->size;
        call.stack = alloc->stack;
    }
    struct seep_error *err = NULL;
    switch (event->kind) {
    case SEEP_BPF_ALLOC:
        return seep_traced_alloc(&process->heap, &call);
    case SEEP_BPF_FREE:
        return seep_traced_free(&process->heap, &call);
    case SEEP_BPF_RESIZE:
        return seep_traced_resize(&process->heap, &call);
    case SEEP_BPF_RESIZED:
        return seep_traced_resized(&process->heap, &call);
    case SEEP_BPF_FAILED:
        process->heap.failed++;
        return NULL;
    case SEEP_BPF_STACK:
        return took_stack(process, event, nr_bytes);
    case SEEP_BPF_MODULES:
        err = update_process(trace, process);
        break;
    case SEEP_BPF_EXEC:
        err = took_exec(trace, process);
        break;
    case SEEP_BPF_FORK:
        err = took_fork(trace, process, (pid_t)event->address);
        break;
    default:
        return NULL;
    }
    // It may be gone by now.
    if (err && err->code == SEEP_E_NOT_FOUND) {
        seep_error_destroy(err);
        err = NULL;
    }
    return err;
}

static int take(void *context, void *data, size_t nr_bytes) {
    struct seep_heap_trace *trace = context;
    if (nr_bytes < sizeof(struct seep_bpf_event) || trace->failed)
        return 0;
    trace->failed = took(trace, data, nr_bytes);
    return trace->failed ? -ECANCELED : 0;
}

static struct seep_error *drain(struct seep_heap_trace *trace) {
    trace->now_ns = seep_monotonic_ns() - trace->start_ns;
    ring_buffer__consume(trace->ring);
    struct seep_error *err = trace->failed;
    trace->failed = NULL;
    return err;
}

static bool has_ended(int pidfd) {
    struct pollfd ended = {.fd = pidfd, .events = POLLIN};
    return poll(&ended, 1, 0) == 1;
}

bool seep_heap_trace_ended(const struct seep_heap_trace *trace) {
    for (size_t i = 0; i < trace->nr_processes; i++)
        if (trace->processes[i]->heap.pid == trace->options.pid && !trace->processes[i]->ended)
            return false;
    return true;
}

// The exit status of a program that is our child.
static void reap(struct seep_heap_trace *trace) {
    struct seep_traced_process *last = process_of(trace, (uint32_t)trace->options.pid);
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
        struct seep_error *err = drain(trace);
        if (err)
            return err;
        if (ended) {
            reap(trace);
            for (size_t i = 0; i < trace->nr_processes; i++) {
                if (!trace->processes[i]->ended)
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

// The probes in children that have ended would only take up descriptors.
static void forget_ended(struct seep_heap_trace *trace) {
    for (size_t i = 1; i < trace->nr_processes; i++) {
        struct seep_traced_process *process = trace->processes[i];
        if (process->ended || process->heap.pid == trace->options.pid || kill(process->heap.pid, 0) == 0)
            continue;
        process->ended = true;
        process->duration_ns = trace->now_ns;
        seep_bpf_tables_forget_process(&trace->tables, (uint32_t)process->heap.pid);
        for (size_t j = 0; j < trace->nr_attachments;) {
            if (trace->attachments[j].pid != process->heap.pid) {
                j++;
                continue;
            }
            attachment_deinit(&trace->attachments[j]);
            trace->attachments[j] = trace->attachments[--trace->nr_attachments];
        }
    }
}

struct seep_error *seep_heap_trace_settle(struct seep_heap_trace *trace) {
    struct seep_error *err = drain(trace);
    forget_ended(trace);
    const uint64_t *lost = trace->bpf->bss->seep_lost;
    uint64_t *into = trace->processes[0]->heap.lost;
    into[SEEP_LOST_RING] = lost[SEEP_BPF_LOST_ALLOC] + lost[SEEP_BPF_LOST_FREE] + lost[SEEP_BPF_LOST_OTHER];
    into[SEEP_LOST_NO_THREAD] = lost[SEEP_BPF_LOST_THREAD];
    into[SEEP_LOST_ODD_FULL] = lost[SEEP_BPF_LOST_SAMPLED];
    for (size_t i = 0; i < trace->nr_processes; i++)
        if (!trace->processes[i]->ended)
            trace->processes[i]->duration_ns = trace->now_ns;
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
        err = find_object(trace, pid, &map.areas[i], &index);
    seep_process_map_deinit(&map);
    return err;
}

static struct seep_error *check_allocator(const struct seep_heap_trace *trace) {
    for (size_t i = 0; i < trace->nr_objects; i++) {
        const struct seep_probe_places *places = trace->objects[i]->allocator.places;
        // A program may go on as another one, whose loader will tell: `ld.so PROG`, `sh -c PROG`.
        if (places[SEEP_PROBE_ALLOC].nr || (trace->options.argv && places[SEEP_PROBE_MODULES].nr))
            return NULL;
    }
    struct seep_error *err =
        seep_error_create(SEEP_E_NOT_FOUND, "process %d: no function named %smalloc in its code",
                          (int)trace->options.pid, trace->options.prefix ? trace->options.prefix : "");
    if (trace->options.object)
        return seep_error_hint(err, "-O %s: is that the object with the allocator?", trace->options.object);
    return seep_error_hint(err, "a stripped static program has no names to find it by; an allocator with "
                                "names of its own: --symbols-prefix");
}

static void choose_programs(struct seep_heap_trace *trace) {
    struct seep_heap *bpf = trace->bpf;
    bool session = trace->options.probes == SEEP_PROBES_BEST,
         multi = trace->options.probes != SEEP_PROBES_PERF;
    enum bpf_attach_type type = (enum bpf_attach_type)(multi ? SEEP_BPF_ATTACH_MULTI : 0);
    bpf_program__set_autoload(bpf->progs.seep_session, session);
    bpf_program__set_autoload(bpf->progs.seep_entry, !session);
    bpf_program__set_autoload(bpf->progs.seep_return, !session);
    bpf_program__set_expected_attach_type(bpf->progs.seep_session,
                                          (enum bpf_attach_type)SEEP_BPF_ATTACH_SESSION);
    bpf_program__set_expected_attach_type(bpf->progs.seep_entry, type);
    bpf_program__set_expected_attach_type(bpf->progs.seep_return, type);
    bpf_program__set_expected_attach_type(bpf->progs.seep_free, type);
    bpf_program__set_expected_attach_type(bpf->progs.seep_modules, type);
    bpf->rodata->seep_unwind_cfi = trace->features.can[SEEP_BPF_CAN_LOOP];
    bpf->rodata->seep_sample = (uint32_t)SEEP_MAX(trace->options.sample, UINT64_C(1));
}

static struct seep_error *load(struct seep_heap_trace *trace) {
    // Of a program that is yet to start nothing is known: one of clang's size fits.
    uint64_t spare = trace->options.argv ? 4 : 1;
    uint64_t capacities[3] = {SPARE_ROWS * spare, SPARE_PAGES * spare, NR_MAPPINGS};
    for (size_t i = 0; i < trace->nr_objects; i++) {
        capacities[0] += trace->objects[i]->table.nr_rows;
        capacities[1] += trace->objects[i]->table.nr_pages + UINT64_C(1);
    }
    libbpf_set_print(NULL);
    trace->bpf = seep_heap__open();
    if (!trace->bpf)
        return seep_error_system(errno, "cannot open the BPF programs");
    struct seep_heap *bpf = trace->bpf;
    choose_programs(trace);
    bpf_map__set_max_entries(bpf->maps.seep_events, (uint32_t)trace->options.ring_bytes);
    bpf_map__set_max_entries(bpf->maps.seep_rows, (uint32_t)capacities[0]);
    bpf_map__set_max_entries(bpf->maps.seep_index, (uint32_t)capacities[1]);
    bpf_map__set_max_entries(bpf->maps.seep_mappings, (uint32_t)capacities[2]);
    bpf_map__set_max_entries(bpf->maps.seep_sampled, trace->options.sample > 1 ? SAMPLED_MAX : 1);
    int status = seep_heap__load(bpf);
    if (status)
        return seep_error_hint(seep_error_system(-status, "the kernel refuses the BPF programs"),
                               "'seep info' says what this kernel can do");
    trace->ring = ring_buffer__new(bpf_map__fd(bpf->maps.seep_events), take, trace, NULL);
    if (!trace->ring)
        return seep_error_system(errno, "cannot map the ring buffer");
    struct seep_error *err =
        seep_bpf_tables_init(bpf_map__fd(bpf->maps.seep_rows), bpf_map__fd(bpf->maps.seep_index),
                             bpf_map__fd(bpf->maps.seep_mappings), bpf_map__fd(bpf->maps.seep_processes),
                             capacities, &trace->tables);
    for (size_t i = 0; i < trace->nr_objects && !err; i++)
        place_table(trace, trace->objects[i]);
    if (err)
        return err;
    bpf->links.seep_exec = bpf_program__attach(bpf->progs.seep_exec);
    bpf->links.seep_fork = bpf_program__attach(bpf->progs.seep_fork);
    return bpf->links.seep_exec && bpf->links.seep_fork
               ? NULL
               : seep_error_system(errno, "cannot follow the events of processes");
}

static struct seep_error *add_notes(const struct seep_heap_trace *trace,
                                    struct seep_traced_process *process) {
    struct seep_error *err = NULL;
    if (trace->options.sample > 1)
        err = seep_traced_process_note(process, "only every %lluth allocation was recorded: multiply",
                                       (unsigned long long)trace->options.sample);
    if (!err && trace->nr_without_table)
        err = seep_traced_process_note(process, "%llu objects found no room in the unwinder's tables",
                                       (unsigned long long)trace->nr_without_table);
    for (size_t i = 0; i < trace->nr_objects && !err; i++)
        if (trace->objects[i]->allocator.throws_uncovered)
            err = seep_traced_process_note(
                process,
                "operator new of %s does not call malloc and is not covered: a probe on a "
                "function that throws could end the program",
                trace->objects[i]->path);
    if (!err && !trace->features.can[SEEP_BPF_CAN_LOOP])
        err = seep_traced_process_note(process, "this kernel has no bpf_loop: %s",
                                       seep_bpf_feature_cost(SEEP_BPF_CAN_LOOP));
    return err;
}

static struct seep_error *choose_probes(struct seep_heap_trace *trace) {
    seep_bpf_features_probe(&trace->features);
    struct seep_error *err = seep_bpf_features_check(&trace->features);
    if (err)
        return err;
    if (trace->options.probes == SEEP_PROBES_BEST && !trace->features.can[SEEP_BPF_CAN_SESSION])
        trace->options.probes = SEEP_PROBES_MULTI;
    if (trace->options.probes == SEEP_PROBES_MULTI && !trace->features.can[SEEP_BPF_CAN_MULTI])
        trace->options.probes = SEEP_PROBES_PERF;
    return NULL;
}

static struct seep_error *open_pidfd(struct seep_heap_trace *trace, pid_t pid) {
    trace->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (trace->pidfd >= 0)
        return NULL;
    return seep_error_hint(seep_error_system(errno, "process %d", (int)pid), "name a running process");
}

static struct seep_error *start_process(struct seep_heap_trace *trace) {
    pid_t pid = trace->options.pid;
    struct seep_traced_process *process = NULL;
    struct seep_error *err = open_pidfd(trace, pid);
    if (!err)
        err = scan_objects(trace, pid);
    if (!err)
        err = check_allocator(trace);
    if (!err)
        err = load(trace);
    if (!err)
        err = add_process(trace, pid, &process);
    if (!err)
        err = update_process(trace, process);
    if (!err)
        err = seep_traced_process_note(process, "attached while it ran: blocks from before are not known");
    return err ? err : add_notes(trace, process);
}

static struct seep_error *mapped_code(void *context) {
    struct seep_heap_trace *trace = context;
    return update_process(trace, trace->processes[0]);
}

static struct seep_error *start_program(struct seep_heap_trace *trace, int *ret_status) {
    struct seep_traced_process *process = NULL;
    struct seep_error *err = load(trace);
    if (!err)
        err = seep_held_program_start(trace->options.argv, &trace->held, ret_status);
    if (err)
        return err;
    trace->options.pid = trace->held.pid;
    err = open_pidfd(trace, trace->held.pid);
    if (!err)
        err = add_process(trace, trace->held.pid, &process);
    if (!err)
        err = seep_held_program_load(&trace->held, mapped_code, trace);
    if (!err)
        err = check_allocator(trace);
    return err ? err : add_notes(trace, process);
}

struct seep_error *seep_heap_trace_create(const struct seep_heap_trace_options *options,
                                          struct seep_heap_trace **ret_trace, int *ret_status) {
    struct seep_heap_trace *trace = calloc(1, sizeof(*trace));
    if (!trace)
        return seep_error_no_memory();
    trace->options = *options;
    trace->pidfd = -1;
    trace->start_ns = seep_monotonic_ns();
    if (!trace->options.ring_bytes)
        trace->options.ring_bytes = SEEP_TRACE_RING_BYTES;
    struct seep_error *err = choose_probes(trace);
    if (!err)
        err = options->argv ? start_program(trace, ret_status) : start_process(trace);
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
        attachment_deinit(&trace->attachments[i]);
    free(trace->attachments);
    ring_buffer__free(trace->ring);
    seep_bpf_tables_deinit(&trace->tables);
    seep_heap__destroy(trace->bpf);
    for (size_t i = 0; i < trace->nr_objects; i++)
        object_destroy(trace->objects[i]);
    free(trace->objects);
    for (size_t i = 0; i < trace->nr_processes; i++)
        seep_traced_process_destroy(trace->processes[i]);
    free(trace->processes);
    if (trace->pidfd >= 0)
        close(trace->pidfd);
    seep_error_destroy(trace->failed);
    free(trace);
}

bool seep_process_has_library(pid_t pid) {
    struct seep_process_map map;
    struct seep_error *err = seep_process_map_init(pid, &map);
    bool found = false;
    if (err) {
        seep_error_destroy(err);
        return false;
    }
    for (size_t i = 0; i < map.nr_areas; i++) {
        const char *name = strrchr(map.areas[i].path, '/');
        found |= name && strcmp(name, "/libseep.so") == 0;
    }
    seep_process_map_deinit(&map);
    return found;
}

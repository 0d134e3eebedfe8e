// SPDX-License-Identifier: BSD-2-Clause
//
// Takes the events of the ring, in the order of the operations. See attach_parts.h.
#include <bpf/libbpf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "source/attach/attach_parts.h"
#include "image/bpf_events.h"

static struct seep_error *took_stack(const struct seep_attached *attached,
                                     struct seep_traced_process *process, const void *data, size_t nr_bytes) {
    const struct seep_bpf_stack *stack = data;
    if (nr_bytes < sizeof(*stack) || stack->nr_frames > (nr_bytes - sizeof(*stack)) / sizeof(uint64_t))
        return NULL;
    const uint64_t *addresses = (const uint64_t *)(stack + 1);
    uint64_t frames[SEEP_BPF_FRAMES_MAX], id = stack->event.address;
    uint32_t nr = stack->nr_frames, end = stack->end;
    if (end == 1 + SEEP_CUT_UNREAD && process->rest && nr < SEEP_BPF_FRAMES_MAX) {
        memcpy(frames, addresses, nr * sizeof(*frames));
        addresses = frames;
        nr = seep_attach_walk_rest(attached, process, id, frames, nr, &end);
    }
    return seep_heap_stack(&process->heap, id, addresses, nr, end);
}

#define LATER_US   (60 * INT64_C(1000000)) // how long after the beginning of a drain an event of it may be
#define EARLIER_US LATER_US // and how long before those that were taken before it: another processor wrote it

// The time of an event (CLOCK_MONOTONIC), of which the event has only the lower 32 bits. An event is at most
// 70 minutes later than the event that was taken before it, also if the tool was stopped meanwhile.
static int64_t call_us(const struct seep_attached *attached, const struct seep_bpf_event *event) {
    int64_t now_us = (attached->start_ns + attached->now_ns) / 1000,
            least_us = attached->taken_us - EARLIER_US;
    int64_t us = least_us + (uint32_t)(event->time_us - (uint32_t)least_us);
    return us > now_us + LATER_US ? us - (INT64_C(1) << 32) : us;
}

// Since the start.
static int64_t call_ns(const struct seep_attached *attached, const struct seep_bpf_event *event) {
    return call_us(attached, event) * 1000 - attached->start_ns;
}

// Whether the event is one of the heap; of which kind.
static bool is_call(uint8_t bpf_kind, enum seep_heap_event_kind *ret_kind) {
    static const uint8_t kinds[] = {
        [SEEP_BPF_ALLOC] = 1 + SEEP_HEAP_ALLOC,   [SEEP_BPF_SAMPLE] = 1 + SEEP_HEAP_ALLOC,
        [SEEP_BPF_FREE] = 1 + SEEP_HEAP_FREE,     [SEEP_BPF_RESIZE] = 1 + SEEP_HEAP_RESIZE,
        [SEEP_BPF_FAILED] = 1 + SEEP_HEAP_FAILED, [SEEP_BPF_RESIZED] = 1 + SEEP_HEAP_RESIZED,
        [SEEP_BPF_MAP] = 1 + SEEP_HEAP_MAP,       [SEEP_BPF_UNMAP] = 1 + SEEP_HEAP_UNMAP,
        [SEEP_BPF_FAULT] = 1 + SEEP_HEAP_FAULT,
    };
    if (bpf_kind >= SEEP_ARRAY_SIZE(kinds) || !kinds[bpf_kind])
        return false;
    *ret_kind = (enum seep_heap_event_kind)(kinds[bpf_kind] - 1);
    return true;
}

static struct seep_error *took_call(struct seep_attached *attached, struct seep_traced_process *process,
                                    enum seep_heap_event_kind kind, const struct seep_bpf_event *event,
                                    size_t nr_bytes) {
    struct seep_heap_event call = {.kind = kind,
                                   .tid = event->tid,
                                   .via = event->via,
                                   .detail = event->detail,
                                   .address = event->address,
                                   .now_ns = attached->now_ns};
    if (nr_bytes >= sizeof(struct seep_bpf_alloc)) {
        const struct seep_bpf_alloc *alloc = (const void *)event;
        call.size = alloc->size;
        call.stack = alloc->stack;
    }
    if (event->kind == SEEP_BPF_SAMPLE && nr_bytes >= sizeof(struct seep_bpf_sample))
        call.weight = ((const struct seep_bpf_sample *)event)->weight;
    if (attached->options.watcher && kind <= SEEP_HEAP_FAILED) {
        call.call_ns = call_ns(attached, event);
        attached->options.watcher(attached->options.watcher_context, process, &call);
    }
    return seep_heap_apply(&process->heap, &call);
}

static size_t args_bytes(const struct seep_bpf_exec *exec) {
    return exec->nr_args_bytes <= SEEP_BPF_ARGS_BYTES ? (size_t)exec->nr_args_bytes : 0;
}

// The process for which the events of a child count that shares its memory. That ends when the child executes
// a program, or exits.
static struct seep_traced_process *lender_of(struct seep_attached *attached,
                                             const struct seep_bpf_event *event) {
    const uint64_t *lender = seep_map_find(&attached->lenders, event->pid);
    if (!lender)
        return NULL;
    uint32_t pid = (uint32_t)*lender;
    if (event->kind != SEEP_BPF_EXEC && event->kind != SEEP_BPF_EXIT)
        return seep_attach_process_of(attached, pid);
    seep_map_remove(&attached->lenders, event->pid);
    return NULL;
}

static struct seep_error *took_fork(struct seep_attached *attached, struct seep_traced_process *parent,
                                    const struct seep_bpf_event *event, int64_t at_ns) {
    seep_map_remove(&attached->lenders, event->address); // of an earlier process of this pid
    if (!(event->detail & SEEP_BPF_BORROWS))
        return seep_attach_took_fork(attached, parent, (pid_t)event->address, at_ns);
    uint64_t *lender = seep_map_at(&attached->lenders, event->address, NULL);
    if (!lender)
        return seep_error_no_memory();
    *lender = (uint32_t)parent->heap.pid;
    return NULL;
}

static struct seep_error *took(struct seep_attached *attached, const struct seep_bpf_event *event,
                               size_t nr_bytes) {
    struct seep_traced_process *process = seep_attach_process_of(attached, event->pid);
    if (!process)
        process = lender_of(attached, event);
    const struct seep_bpf_exec *exec =
        event->kind == SEEP_BPF_EXEC && nr_bytes >= sizeof(*exec) ? (const void *)event : NULL;
    const char *program = exec ? exec->path : NULL;
    const struct seep_attach_birth birth = {.at_ns = call_ns(attached, event),
                                            .parent = (uint32_t)event->address,
                                            .stack_rt = exec ? exec->stack_rt : 0,
                                            .args = exec ? exec->args : NULL,
                                            .nr_args_bytes = exec ? args_bytes(exec) : 0,
                                            .exec = exec};
    if (!process && (event->kind == SEEP_BPF_MET || program))
        return seep_attach_took_new(attached, (pid_t)event->pid, program, &birth);
    if (!process)
        return NULL;
    enum seep_heap_event_kind kind;
    if (is_call(event->kind, &kind))
        return took_call(attached, process, kind, event, nr_bytes);
    struct seep_error *err = NULL;
    uint32_t moved;
    bool is_loading = process->is_loading;
    switch (event->kind) {
    case SEEP_BPF_STACK:
        return took_stack(attached, process, event, nr_bytes);
    case SEEP_BPF_MODULES:
        process->is_loading = false;
        seep_attach_forget_code(process);
        // The present mappings are those of the latest such event. For earlier stacks the kernel sends the
        // code (SEEP_BPF_CODE).
        moved = seep_bpf_tables_moved(&attached->tables, (uint32_t)process->heap.pid);
        if (!moved || moved == event->address)
            err = seep_attach_update_process(attached, process);
        if (!err && is_loading)
            err = seep_attach_keep_code(process);
        break;
    case SEEP_BPF_EXEC:
        err = seep_attach_took_exec(attached, process, program ? program : "", &birth);
        break;
    case SEEP_BPF_LANDING:
        err = seep_attach_took_landing(attached, process, event->address);
        break;
    case SEEP_BPF_EXIT:
        seep_attach_took_exit(attached, process, birth.at_ns, (int)event->address);
        break;
    case SEEP_BPF_CODE:
        if (nr_bytes >= sizeof(struct seep_bpf_code))
            err = seep_attach_took_code(attached, process, (const void *)event);
        break;
    case SEEP_BPF_UNREAD:
        if (nr_bytes >= offsetof(struct seep_bpf_unread, names))
            err = seep_attach_took_unread(attached, process, (const void *)event, nr_bytes);
        break;
    case SEEP_BPF_REST:
        err = seep_attach_took_rest(process, (const void *)event, nr_bytes);
        break;
    case SEEP_BPF_FORK:
        err = took_fork(attached, process, event, birth.at_ns);
        break;
    default:
        return NULL;
    }
    return err;
}

// Whether enough was taken at once. Events may come faster than they are taken, so only events that were
// there at the beginning are taken, which are no more than the ring has room for. A later event follows them.
// Most events have no time, because that would cost each call. Calls are taken fast, so no clock is read for
// them.
static bool is_enough(const struct seep_attached *attached, const struct seep_bpf_event *event) {
    enum seep_heap_event_kind kind;
    return attached->nr_taken_bytes >= attached->options.ring_bytes ||
           (event->time_us && call_ns(attached, event) > attached->now_ns) ||
           (!is_call(event->kind, &kind) && seep_monotonic_ns() > attached->until_ns);
}

int seep_attach_take(void *context, void *data, size_t nr_bytes) {
    struct seep_attached *attached = context;
    attached->nr_taken_bytes += nr_bytes + BPF_RINGBUF_HDR_SZ;
    if (nr_bytes < sizeof(struct seep_bpf_event) || attached->failed)
        return 0;
    const struct seep_bpf_event *event = data;
    attached->failed = took(attached, event, nr_bytes);
    if (event->time_us)
        attached->taken_us = SEEP_MAX(attached->taken_us, call_us(attached, event));
    // What it is about may be gone by now.
    if (attached->failed && attached->failed->code == SEEP_E_NOT_FOUND) {
        seep_error_destroy(attached->failed);
        attached->failed = NULL;
    }
    return attached->failed || is_enough(attached, event) ? -ECANCELED : 0;
}

struct seep_error *seep_attach_drain(struct seep_attached *attached, int64_t until_ns) {
    attached->now_ns = seep_monotonic_ns() - attached->start_ns;
    attached->until_ns = until_ns;
    attached->nr_taken_bytes = 0;
    if (ring_buffer__consume(attached->ring) >= 0) // all: the next one comes later
        attached->taken_us = SEEP_MAX(attached->taken_us, (attached->start_ns + attached->now_ns) / 1000);
    struct seep_error *err = attached->failed;
    attached->failed = NULL;
    return err ? err : seep_attach_place_landings(attached);
}

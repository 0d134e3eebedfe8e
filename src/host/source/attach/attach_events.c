// SPDX-License-Identifier: BSD-2-Clause
//
// Takes the events of the ring, in the order of the operations. See attach_parts.h.
#include <bpf/libbpf.h>
#include <errno.h>

#include "base/clock.h"
#include "source/attach/attach_parts.h"
#include "source/attach/traced_process.h"
#include "image/bpf_events.h"

static struct seep_error *took_stack(struct seep_traced_process *process, const void *data, size_t nr_bytes) {
    const struct seep_bpf_stack *stack = data;
    if (nr_bytes < sizeof(*stack) || stack->nr_frames > (nr_bytes - sizeof(*stack)) / sizeof(uint64_t))
        return NULL;
    const uint64_t *addresses = (const uint64_t *)(stack + 1);
    return seep_traced_stack(&process->heap, stack->event.address, addresses, stack->nr_frames, stack->end);
}

// The whole of a time of which the event has the lower half: 35 minutes before or after now.
static int64_t call_ns(const struct seep_heap_trace *trace, const struct seep_bpf_event *event) {
    int64_t now_us = (trace->start_ns + trace->now_ns) / 1000;
    int64_t call_us = now_us + (int32_t)(event->time_us - (uint32_t)now_us);
    return call_us * 1000 - trace->start_ns;
}

static struct seep_error *took(struct seep_heap_trace *trace, const struct seep_bpf_event *event,
                               size_t nr_bytes) {
    struct seep_traced_process *process = seep_trace_process_of(trace, event->pid);
    const char *program = event->kind == SEEP_BPF_EXEC && nr_bytes >= sizeof(struct seep_bpf_exec)
                              ? ((const struct seep_bpf_exec *)event)->path
                              : NULL;
    if (!process && (event->kind == SEEP_BPF_MET || program))
        return seep_trace_took_new(
            trace, (pid_t)event->pid, program,
            &(struct seep_trace_birth){.at_ns = call_ns(trace, event), .parent = (uint32_t)event->address});
    if (!process)
        return NULL;
    struct seep_traced_call call = {.tid = event->tid,
                                    .via = event->via,
                                    .detail = event->detail,
                                    .address = event->address,
                                    .now_ns = trace->now_ns};
    if (nr_bytes >= sizeof(struct seep_bpf_alloc)) {
        const struct seep_bpf_alloc *alloc = (const void *)event;
        call.size = alloc->size;
        call.stack = alloc->stack;
    }
    if (event->kind == SEEP_BPF_SAMPLE && nr_bytes >= sizeof(struct seep_bpf_sample))
        call.weight = ((const struct seep_bpf_sample *)event)->weight;
    call.call_ns = trace->options.watcher ? call_ns(trace, event) : 0;
    if (trace->options.watcher && (event->kind <= SEEP_BPF_FAILED || event->kind == SEEP_BPF_SAMPLE))
        trace->options.watcher(trace->options.watcher_context, process, event->kind, &call);
    struct seep_error *err = NULL;
    const struct seep_trace_birth birth = {.at_ns = call_ns(trace, event),
                                           .parent = (uint32_t)event->address};
    switch (event->kind) {
    case SEEP_BPF_ALLOC:
    case SEEP_BPF_SAMPLE:
        return seep_traced_alloc(&process->heap, &call);
    case SEEP_BPF_FREE:
        return seep_traced_free(&process->heap, &call);
    case SEEP_BPF_RESIZE:
        return seep_traced_resize(&process->heap, &call);
    case SEEP_BPF_RESIZED:
        return seep_traced_resized(&process->heap, &call);
    case SEEP_BPF_MAP:
        return seep_traced_map(&process->heap, &call);
    case SEEP_BPF_UNMAP:
        return seep_traced_unmap(&process->heap, &call);
    case SEEP_BPF_FAULT:
        return seep_traced_fault(&process->heap, &call);
    case SEEP_BPF_FAILED:
        process->heap.failed++;
        return NULL;
    case SEEP_BPF_STACK:
        return took_stack(process, event, nr_bytes);
    case SEEP_BPF_MODULES:
        process->is_loading = false;
        err = seep_trace_update_process(trace, process);
        break;
    case SEEP_BPF_EXEC:
        err = seep_trace_took_exec(trace, process, program ? program : "", &birth);
        break;
    case SEEP_BPF_LANDING:
        err = seep_trace_took_landing(trace, process, event->address);
        break;
    case SEEP_BPF_EXIT:
        seep_trace_took_exit(trace, process, birth.at_ns, (int)event->address);
        break;
    case SEEP_BPF_CODE:
        if (nr_bytes >= sizeof(struct seep_bpf_code))
            err = seep_trace_took_code(trace, process, (const void *)event);
        break;
    case SEEP_BPF_FORK:
        err = seep_trace_took_fork(trace, process, (pid_t)event->address, birth.at_ns);
        break;
    default:
        return NULL;
    }
    return err;
}

int seep_trace_take(void *context, void *data, size_t nr_bytes) {
    struct seep_heap_trace *trace = context;
    if (nr_bytes < sizeof(struct seep_bpf_event) || trace->failed)
        return 0;
    trace->failed = took(trace, data, nr_bytes);
    // What it is about may be gone by now.
    if (trace->failed && trace->failed->code == SEEP_E_NOT_FOUND) {
        seep_error_destroy(trace->failed);
        trace->failed = NULL;
    }
    return trace->failed ? -ECANCELED : 0;
}

struct seep_error *seep_trace_drain(struct seep_heap_trace *trace) {
    trace->now_ns = seep_monotonic_ns() - trace->start_ns;
    ring_buffer__consume(trace->ring);
    struct seep_error *err = trace->failed;
    trace->failed = NULL;
    return err ? err : seep_trace_place_landings(trace);
}

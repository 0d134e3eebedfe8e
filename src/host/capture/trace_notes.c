// SPDX-License-Identifier: BSD-2-Clause
//
// What a reader of the report must know of a trace as a whole, see heap_trace.h.
#include <stdarg.h>
#include <stdio.h>

#include "capture/heap.skel.h"
#include "capture/trace_parts.h"

struct notes {
    seep_heap_trace_note_function *visit;
    void *context;
    struct seep_error *err;
};

__attribute__((format(printf, 2, 3))) static void note(struct notes *notes, const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (!notes->err)
        notes->err = notes->visit(notes->context, text);
}

static const char *plural(uint64_t number) {
    return number == 1 ? "" : "es";
}

struct seep_error *seep_heap_trace_notes(const struct seep_heap_trace *trace,
                                         seep_heap_trace_note_function *visit, void *context) {
    struct notes notes = {visit, context, NULL};
    if (trace->options.sample > 1)
        note(&notes, "about one allocation in %llu was recorded, by chance: multiply",
             (unsigned long long)trace->options.sample);
    if (trace->nr_without_table)
        note(&notes, "%llu objects found no room in the unwinder's tables",
             (unsigned long long)trace->nr_without_table);
    uint64_t nr_unseen = trace->bpf ? trace->bpf->bss->seep_lost[SEEP_BPF_LOST_LANDING] : 0;
    if (nr_unseen)
        note(&notes,
             "%llu calls of operator new were not seen: the first from each place that calls it, before a "
             "probe "
             "stood where it returns",
             (unsigned long long)nr_unseen);
    for (size_t i = 0; i < trace->nr_objects && trace->options.probes == SEEP_PROBES_PERF; i++)
        if (trace->objects[i]->allocator.throws_itself)
            note(&notes,
                 "operator new of %s does not call malloc and is not covered: a probe on a function that "
                 "throws could end the program",
                 trace->objects[i]->path);
    for (size_t i = 0; i < trace->nr_objects; i++)
        if (trace->objects[i]->allocator.otel_refused)
            note(&notes, "%s of %s is not covered: seep does not understand it",
                 trace->objects[i]->allocator.otel_refused, trace->objects[i]->path);
    uint64_t nr_unread = trace->bpf ? trace->bpf->bss->seep_lost[SEEP_BPF_LOST_OPERAND] : 0;
    if (nr_unread)
        note(&notes, "%llu samples were not seen: their arguments could not be read",
             (unsigned long long)nr_unread);
    if (trace->options.source == SEEP_SOURCE_OTEL)
        note(&notes,
             "all figures are estimates by the samples that the program tells through its otel_memory "
             "probes");
    uint64_t nr_unreadable = 0;
    for (size_t i = 0; i < trace->nr_objects; i++)
        nr_unreadable += trace->objects[i]->inode && trace->objects[i]->unreadable;
    if (nr_unreadable)
        note(
            &notes,
            "%llu mapped file%s could not be read, so stacks end there: files of another user's process need "
            "CAP_SYS_PTRACE",
            (unsigned long long)nr_unreadable, nr_unreadable == 1 ? "" : "s");
    if (!trace->features.can[SEEP_BPF_CAN_LOOP])
        note(&notes, "this kernel has no bpf_loop: %s", seep_bpf_feature_cost(SEEP_BPF_CAN_LOOP));
    if (trace->nr_forgotten)
        note(&notes, "%llu process%s ended meanwhile, and what they had went with them",
             (unsigned long long)trace->nr_forgotten, plural(trace->nr_forgotten));
    if (trace->nr_ignored)
        note(&notes,
             "%llu process%s left alone, because libseep.so is in them and knows better: seep report PID",
             (unsigned long long)trace->nr_ignored, plural(trace->nr_ignored));
    return notes.err;
}

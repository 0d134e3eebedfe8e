// SPDX-License-Identifier: BSD-2-Clause
// Attaching in a build without libbpf, where it says so.
#include "source/attach/bpf_program.h"
#include "source/attach/attach_heap.h"

bool seep_bpf_is_built(void) {
    return false;
}

void seep_bpf_features_probe(struct seep_bpf_features *ret_features) {
    *ret_features = (struct seep_bpf_features){.load_errno = 0};
}

static struct seep_error *not_built(void) {
    return seep_error_hint(
        seep_error_create(SEEP_E_UNSUPPORTED, "this seep was built without BPF"),
        "build it with libbpf, clang, llvm-strip and bpftool; 'seep run' needs none of it");
}

struct seep_error *seep_bpf_features_check(const struct seep_bpf_features *features) {
    (void)features;
    return not_built();
}

struct seep_error *seep_heap_trace_create(const struct seep_heap_trace_options *options,
                                          struct seep_heap_trace **ret_trace, int *ret_status) {
    (void)ret_status;
    (void)options;
    (void)ret_trace;
    return not_built();
}

void seep_heap_trace_destroy(struct seep_heap_trace *trace) {
    (void)trace;
}

struct seep_error *seep_heap_trace_run(struct seep_heap_trace *trace, int64_t end_ns,
                                       const volatile sig_atomic_t *stop) {
    (void)trace;
    (void)end_ns;
    (void)stop;
    return not_built();
}

struct seep_error *seep_heap_trace_settle(struct seep_heap_trace *trace) {
    (void)trace;
    return not_built();
}

bool seep_heap_trace_is_open(const struct seep_heap_trace *trace) {
    (void)trace;
    return false;
}

bool seep_heap_trace_ended(const struct seep_heap_trace *trace) {
    (void)trace;
    return true;
}

size_t seep_heap_trace_processes(const struct seep_heap_trace *trace,
                                 struct seep_traced_process *const **ret_processes) {
    (void)trace;
    *ret_processes = NULL;
    return 0;
}

struct seep_error *seep_heap_trace_notes(const struct seep_heap_trace *trace, struct seep_profile *profile) {
    (void)trace;
    (void)profile;
    return NULL;
}

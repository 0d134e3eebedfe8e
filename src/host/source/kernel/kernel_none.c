// SPDX-License-Identifier: BSD-2-Clause
// Tracing the kernel in a build without libbpf, where it cannot be done and says so.
#include "source/attach/bpf_program.h"
#include "source/kernel/kernel_heap.h"

struct seep_error *seep_kernel_trace_create(const struct seep_kernel_trace_options *options,
                                            struct seep_kernel_trace **ret_trace) {
    (void)options;
    (void)ret_trace;
    return seep_bpf_features_check(NULL);
}

void seep_kernel_trace_destroy(struct seep_kernel_trace *trace) {
    (void)trace;
}

struct seep_error *seep_kernel_trace_read(struct seep_kernel_trace *trace, int64_t older_ns,
                                          struct seep_kernel_heap *ret_heap) {
    (void)trace;
    (void)older_ns;
    (void)ret_heap;
    return seep_bpf_features_check(NULL);
}

void seep_kernel_heap_deinit(struct seep_kernel_heap *heap) {
    (void)heap;
}

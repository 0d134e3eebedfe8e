// SPDX-License-Identifier: BSD-2-Clause
// Tracing the kernel in a build without libbpf, where it cannot be done and says so.
#include "source/attach/bpf_program.h"
#include "source/kernel/kernel_heap.h"

struct seep_error *seep_kernel_probes_create(const struct seep_kernel_probes_options *options,
                                             struct seep_kernel_probes **ret_probes) {
    (void)options;
    (void)ret_probes;
    return seep_bpf_features_check(NULL);
}

void seep_kernel_probes_destroy(struct seep_kernel_probes *probes) {
    (void)probes;
}

struct seep_error *seep_kernel_probes_read(struct seep_kernel_probes *probes, int64_t older_ns,
                                           struct seep_kernel_heap *ret_heap) {
    (void)probes;
    (void)older_ns;
    (void)ret_heap;
    return seep_bpf_features_check(NULL);
}

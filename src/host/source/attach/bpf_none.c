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

struct seep_error *seep_attached_create(const struct seep_attach_options *options,
                                        struct seep_attached **ret_attached, int *ret_status) {
    (void)ret_status;
    (void)options;
    (void)ret_attached;
    return not_built();
}

void seep_attached_destroy(struct seep_attached *attached) {
    (void)attached;
}

struct seep_error *seep_attached_run(struct seep_attached *attached, int64_t end_ns,
                                     const volatile sig_atomic_t *stop) {
    (void)attached;
    (void)end_ns;
    (void)stop;
    return not_built();
}

struct seep_error *seep_attached_settle(struct seep_attached *attached) {
    (void)attached;
    return not_built();
}

bool seep_attached_is_open(const struct seep_attached *attached) {
    (void)attached;
    return false;
}

bool seep_attached_ended(const struct seep_attached *attached) {
    (void)attached;
    return true;
}

size_t seep_attached_processes(const struct seep_attached *attached,
                               struct seep_traced_process *const **ret_processes) {
    (void)attached;
    *ret_processes = NULL;
    return 0;
}

struct seep_error *seep_attached_notes(const struct seep_attached *attached, struct seep_profile *profile) {
    (void)attached;
    (void)profile;
    return NULL;
}

// SPDX-License-Identifier: BSD-2-Clause
//
// The memory of the kernel's tracer of any bytes, read as `seep kernel` does, by blocks and by counts, as far as the
// profiles and a saved trace. Besides not crashing: each block is counted once.
#include <stdlib.h>
#include <string.h>

#include "file/session_file.h"
#include "source/kernel/kernel_memory.h"
#include "source/kernel/profile_kernel.h"
#include "fuzz.h"

static const char functions[] = "ffffffff81000000 T first\nffffffff81001000 T bpf_prog_1\n"
                                "ffffffff81002000 T last\nffffffffc0000000 t inside\t[module]\n";

struct memory {
    struct seep_kernel_memory read;
    struct seep_kernel_bucket *buckets;
    struct seep_kernel_block *blocks;
    struct seep_kernel_site *sites;
    uint32_t nr_sites;
    struct seep_kernel_process *processes;
    uint32_t nr_processes;
};

static void *take(const uint8_t **data, size_t *size, size_t nr, size_t nr_bytes) {
    void *memory = calloc(nr + 1, nr_bytes);
    MUST(memory);
    size_t taken = SEEP_MIN(nr * nr_bytes, *size);
    if (taken)
        memcpy(memory, *data, taken);
    *data += taken;
    *size -= taken;
    return memory;
}

static void make_profiles(const struct seep_kernel_heap *heap, const struct seep_kallsyms *symbols) {
    const struct seep_kernel_tracing moment = {.start_ns = 1, .duration_ns = 2, .sample = 1};
    struct seep_session *session;
    struct seep_error *error = seep_session_from_kernel(heap, symbols, &moment, &session);
    MUST(!error && session->nr_profiles == 2);
    size_t nr_blocks = 0;
    for (size_t i = 0; i < session->nr_profiles; i++) {
        const struct seep_profile *profile = session->profiles[i];
        nr_blocks += profile->nr_blocks;
        for (uint32_t k = 1; k < profile->nr_nodes; k++)
            MUST(profile->nodes[k].parent < k && profile->nodes[k].module < profile->nr_modules);
        for (uint32_t k = 1; k < profile->nr_sites; k++)
            MUST(profile->sites[k].node < profile->nr_nodes);
    }
    MUST(nr_blocks == heap->nr_blocks);
    error = seep_session_save(session, "/dev/null");
    MUST(!error);
    seep_session_destroy(session);
}

static void read_memory(const struct memory *memory, bool combined, int64_t older_ns,
                        const uint64_t *counters) {
    struct seep_kallsyms *symbols;
    struct seep_kernel_heap heap = {NULL};
    struct seep_error *error = seep_kallsyms_parse(functions, sizeof(functions) - 1, &symbols);
    MUST(!error);
    memcpy(heap.counters, counters, sizeof(heap.counters));
    error = combined ? seep_kernel_memory_combined(&memory->read, &heap)
                     : seep_kernel_memory_blocks(&memory->read, older_ns, &heap);
    MUST(!error);
    size_t nr = 0;
    for (size_t i = 0; i < heap.nr_sites; i++)
        nr += heap.sites[i].live_blocks;
    MUST(combined || nr == heap.nr_blocks);
    make_profiles(&heap, symbols);
    seep_kernel_heap_deinit(&heap);
    seep_kallsyms_destroy(symbols);
}

// Three bytes say how many buckets and sites there are, and how many are said to be.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 4)
        return 0;
    uint32_t nr_buckets = data[0] % 16, nr_sites = data[1] % 8;
    uint32_t nr_processes = data[1] / 8 % 8;
    struct memory memory = {.nr_sites = data[2], .nr_processes = data[2] / 2};
    bool combined = data[3] & 1;
    int64_t older_ns = data[3] & 2 ? INT64_C(1) << 50 : 0;
    data += 4;
    size -= 4;
    memory.buckets = take(&data, &size, nr_buckets, sizeof(*memory.buckets));
    memory.blocks =
        take(&data, &size, (size_t)nr_buckets * SEEP_KERNEL_BUCKET_BLOCKS, sizeof(*memory.blocks));
    memory.sites = take(&data, &size, nr_sites, sizeof(*memory.sites));
    memory.processes = take(&data, &size, nr_processes, sizeof(*memory.processes));
    uint64_t *counters = take(&data, &size, SEEP_KERNEL_COUNTERS_NR, sizeof(*counters));
    memory.read = (struct seep_kernel_memory){.buckets = memory.buckets,
                                              .blocks = memory.blocks,
                                              .nr_buckets = nr_buckets,
                                              .sites = memory.sites,
                                              .nr_sites = &memory.nr_sites,
                                              .nr_sites_max = nr_sites,
                                              .processes = memory.processes,
                                              .nr_processes = &memory.nr_processes,
                                              .nr_processes_max = nr_processes};
    read_memory(&memory, combined, older_ns, counters);
    free(memory.buckets);
    free(memory.blocks);
    free(memory.sites);
    free(memory.processes);
    free(counters);
    return 0;
}

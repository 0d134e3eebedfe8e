// SPDX-License-Identifier: BSD-2-Clause
// scan/core_file.h for the agent, which opens no core files.
#include "scan/core_file.h"

const struct seep_core_segment *seep_core_find(const struct seep_core *core, uint64_t address) {
    (void)core, (void)address;
    return NULL;
}

const struct seep_core_mapping *seep_core_file_at(const struct seep_core *core, uint64_t address) {
    (void)core, (void)address;
    return NULL;
}

size_t seep_core_there(const struct seep_core *core, uint64_t address, size_t nr_bytes) {
    (void)core, (void)address, (void)nr_bytes;
    return 0;
}

bool seep_core_read(const struct seep_core *core, uint64_t address, void *ret_bytes, size_t nr_bytes) {
    (void)core, (void)address, (void)ret_bytes, (void)nr_bytes;
    return false;
}

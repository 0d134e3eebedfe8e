// SPDX-License-Identifier: BSD-2-Clause
//
// Where the files behind shared mappings have data. Each file is asked once: it may lie behind as many
// mappings as the kernel allows, and where its data ends the kernel finds page by page.
#ifndef SEEP_SCAN_SHARED_DATA_H
#define SEEP_SCAN_SHARED_DATA_H

#include "base/map.h"

struct seep_memory;
struct seep_memory_area;
struct seep_spans;

struct seep_shared_files {
    struct seep_map places; // from a hash of device and inode: one more than the place in items
    struct seep_shared_file *items;
    size_t nr_items;
    size_t capacity;
};
void seep_shared_files_deinit(struct seep_shared_files *files);

// *ret_data: where the file behind `area` has data, at least of what it has in [first, last), settled; valid
// until the next call; NULL: that is not to be had. false: out of memory.
SEEP_MUST_CHECK bool seep_shared_data(struct seep_memory *memory, const struct seep_memory_area *area,
                                      uint64_t first, uint64_t last, const struct seep_spans **ret_data);

#endif

// SPDX-License-Identifier: BSD-2-Clause
//
// The tables that the unwinder in the kernel reads, written through shared memory: rows and page index of
// objects, and which mapping of which process has which. Things are only added; a process's mappings are
// written anew elsewhere and then named by its entry, so that a walk never sees half of them.
#ifndef SEEP_SOURCE_ATTACH_BPF_TABLES_H
#define SEEP_SOURCE_ATTACH_BPF_TABLES_H

#include "base/error.h"
#include "source/attach/unwind_table.h"
#include "image/bpf_events.h"

struct seep_bpf_tables {
    uint64_t *rows; // mapped, as are the others
    uint64_t nr_rows;
    uint64_t rows_capacity;
    uint64_t *index;
    uint64_t nr_index;
    uint64_t index_capacity;
    struct seep_bpf_mapping *mappings;
    uint64_t next_mapping;
    uint64_t mappings_capacity;
    int processes_fd;
};

// The maps, which must be loaded and of these capacities. The descriptors are borrowed.
SEEP_MUST_CHECK struct seep_error *seep_bpf_tables_init(int rows_fd, int index_fd, int mappings_fd,
                                                        int processes_fd, const uint64_t capacities[3],
                                                        struct seep_bpf_tables *ret_tables);
void seep_bpf_tables_deinit(struct seep_bpf_tables *tables);

// Where the table of an object is now.
struct seep_bpf_table_place {
    uint32_t first_page;
    uint32_t nr_pages; // 0: it has none
};
// false: no more room; the object's code is then left by the frame pointer.
bool seep_bpf_tables_add(struct seep_bpf_tables *tables, const struct seep_unwind_table *table,
                         struct seep_bpf_table_place *ret_place);

// The generation of the loader's latest change of mappings that user space has not read yet; 0: none.
uint32_t seep_bpf_tables_moved(const struct seep_bpf_tables *tables, uint32_t pid);

// Sorted mappings, at most SEEP_BPF_MAPPINGS_MAX of them count.
SEEP_MUST_CHECK struct seep_error *seep_bpf_tables_set_process(struct seep_bpf_tables *tables, uint32_t pid,
                                                               const struct seep_bpf_mapping *mappings,
                                                               size_t nr, uint32_t generation,
                                                               uint32_t flags);
// Leaves it alone, whatever the scope.
SEEP_MUST_CHECK struct seep_error *seep_bpf_tables_ignore_process(struct seep_bpf_tables *tables,
                                                                  uint32_t pid);
// Removes a process, known or left alone. One that is not there is no error.
void seep_bpf_tables_forget_process(struct seep_bpf_tables *tables, uint32_t pid);

// The row of code in this mapping; 0: there is none.
uint64_t seep_bpf_tables_row(const struct seep_bpf_tables *tables, const struct seep_bpf_mapping *mapping,
                             uint64_t address);

#endif

// SPDX-License-Identifier: BSD-2-Clause
//
// The rows of one object for the unwinder in the kernel (image/bpf_events.h), from its .eh_frame and
// .debug_frame.
// Proof: tests/unit/test_unwind_table.c.
#ifndef SEEP_SOURCE_ATTACH_UNWIND_TABLE_H
#define SEEP_SOURCE_ATTACH_UNWIND_TABLE_H

#include "process/elf_file.h"

// Invariant: rows are sorted, the first is at address 0; index[i] is the number of rows below page i.
struct seep_unwind_table {
    uint64_t base;  // ELF virtual address of address 0
    uint64_t *rows; // malloc'ed, as is the index
    uint32_t nr_rows;
    uint32_t *index;
    uint32_t nr_pages;       // the index has one more
    uint64_t nr_unsupported; // rows that 8 bytes cannot hold
    uint64_t nr_bad;         // entries that could not be interpreted
    bool cut;                // the budget ended before the entries did
};

// An object without call-frame information gives a table without rows. A step of the file's budget is an
// entry or a row; where it ends the table has those before.
SEEP_MUST_CHECK struct seep_error *seep_unwind_table_init(const struct seep_elf_file *elf,
                                                          struct seep_unwind_table *ret_table);
// Makes the index of a table that has sorted rows. false: out of memory.
SEEP_MUST_CHECK bool seep_unwind_table_index(struct seep_unwind_table *table);
void seep_unwind_table_deinit(struct seep_unwind_table *table);

#endif

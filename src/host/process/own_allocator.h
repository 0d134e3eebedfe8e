// SPDX-License-Identifier: BSD-2-Clause
//
// Whether a program or library has an allocator inside that cannot be interposed: its functions are
// not exported as malloc, so a preloaded malloc is not called instead. Told by the names of its functions,
// and where those are stripped, by the messages that the allocator prints.
#ifndef SEEP_PROCESS_OWN_ALLOCATOR_H
#define SEEP_PROCESS_OWN_ALLOCATOR_H

#include "base/records.h"
#include "process/elf_file.h"
#include "process/past_malloc.h"

enum seep_own_kind {
    SEEP_OWN_NONE,
    SEEP_OWN_MALLOC,  // functions of the names malloc and free that are not exported
    SEEP_OWN_NAMED,   // functions of names of its own
    SEEP_OWN_MESSAGE, // a stripped file with messages of an allocator
    SEEP_OWN_GO,      // the heap of the Go runtime, which is no malloc at all
};

// All texts are static.
struct seep_own_allocator {
    enum seep_own_kind kind;
    const char *allocator; // "jemalloc"; NULL: not known which
    const char *prefix;    // of its names, for --symbols-prefix: "je_" for je_malloc
    unsigned calls;        // allocators whose functions beside malloc it calls, see beside_malloc.h
};

// Reads the symbol tables, and of files without one at most 8 MiB of constants. *ret_imports: the imports in
// the dynamic table, if that table was read.
SEEP_MUST_CHECK struct seep_error *seep_own_allocator_find(const struct seep_elf_file *elf,
                                                           struct seep_own_allocator *ret_own,
                                                           struct seep_imports *ret_imports);

// What a process without rights says that it found, and taking it from one that may lie: false, and none.
void seep_own_allocator_put(struct seep_put *put, const struct seep_own_allocator *own);
SEEP_MUST_CHECK bool seep_own_allocator_take(struct seep_take *take, struct seep_own_allocator *ret_own);

#endif

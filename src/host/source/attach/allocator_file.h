// SPDX-License-Identifier: BSD-2-Clause
//
// Where in a file the functions of an allocator are, and where in them a probe is best.
#ifndef SEEP_SOURCE_ATTACH_ALLOCATOR_FILE_H
#define SEEP_SOURCE_ATTACH_ALLOCATOR_FILE_H

#include "process/elf_file.h"
#include "profile/heap.h"
#include "image/bpf_events.h"

enum seep_probe_kind {
    SEEP_PROBE_ALLOC,      // entry and return
    SEEP_PROBE_FREE,       // entry
    SEEP_PROBE_NEW,        // entry: an operator new that throws; the return is watched where it lands
    SEEP_PROBE_MODULES,    // entry: the loader says that modules came or went
    SEEP_PROBE_OTEL_ALLOC, // probes of the program's own, see otel_file.c
    SEEP_PROBE_OTEL_FREE,
    SEEP_PROBE_NR
};

// Places of one kind, no two the same: names of one function count once.
struct seep_probe_places {
    unsigned long *offsets;    // in the file
    uint64_t *cookies;         // SEEP_BPF_COOKIE; of otel_memory the index in `usdt` of the file
    unsigned long *semaphores; // in the file, 0: none; of otel_memory only, else NULL
    size_t nr;
    size_t offsets_capacity;
    size_t cookies_capacity;
    size_t semaphores_capacity;
};

struct seep_allocator_file {
    struct seep_probe_places places[SEEP_PROBE_NR];
    struct seep_heap_operator *operators; // the allocator's code; operator new only where that calls malloc
    size_t nr_operators;
    size_t operators_capacity;
    struct seep_bpf_usdt *usdt;
    size_t nr_usdt;
    size_t usdt_capacity;
    char *otel_refused; // a probe of otel_memory that is not understood, malloc'ed; NULL: all are
    bool has_malloc;
    bool throws_itself; // an operator new that does not call malloc: no return probe may be put on it
};

// `prefix` goes before each name (je_malloc); NULL: none. Without a malloc there is only what concerns
// modules and operators.
SEEP_MUST_CHECK struct seep_error *seep_allocator_file_init(const struct seep_elf_file *elf,
                                                            const char *prefix,
                                                            struct seep_allocator_file *ret_file);
// Adds the probes of the otel_memory contract.
SEEP_MUST_CHECK struct seep_error *seep_allocator_file_add_otel(const struct seep_elf_file *elf,
                                                                struct seep_allocator_file *file);
void seep_allocator_file_deinit(struct seep_allocator_file *file);

#endif

// SPDX-License-Identifier: BSD-2-Clause
//
// What the kernel says of a process's memory: its areas with their sizes in memory (smaps), and which
// pages are there (pagemap). The process runs on meanwhile: figures are of about one moment.
#ifndef SEEP_CAPTURE_RESIDENT_H
#define SEEP_CAPTURE_RESIDENT_H

#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"

struct seep_memory_area {
    uint64_t start;
    uint64_t end;
    uint64_t rss_bytes;
    uint64_t pss_bytes;
    uint64_t swap_bytes;
    const char *name; // path, "[heap]", ...; "" for anonymous memory
};

struct seep_resident {
    struct seep_memory_area *areas; // by address
    size_t nr_areas;
    size_t capacity;
    struct seep_arena arena;
    int pagemap_fd; // -1: not to be had; then all is taken for resident
    uint64_t page_bytes;
    uint64_t cached_page; // pages [cached_page, + nr_cached) are in `cache`
    uint64_t nr_cached;
    uint64_t cache[1024];
};

SEEP_MUST_CHECK struct seep_error *seep_resident_open(pid_t pid, struct seep_resident **ret_resident);
void seep_resident_close(struct seep_resident *resident); // takes NULL

// How much of [start, end) is in memory. Fast where ranges come by address.
uint64_t seep_resident_bytes(struct seep_resident *resident, uint64_t start, uint64_t end);

#endif

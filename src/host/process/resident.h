// SPDX-License-Identifier: BSD-2-Clause
//
// What the kernel says of a process's memory: its areas with their sizes in memory (smaps), and which
// pages are there (pagemap). The process runs on meanwhile: figures are of about one moment.
#ifndef SEEP_PROCESS_RESIDENT_H
#define SEEP_PROCESS_RESIDENT_H

#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/page_scan.h"

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
    bool scans;        // the kernel passes by what is not there (PAGEMAP_SCAN), as far as is known
    uint64_t nr_reads; // of pagemap, by whatever call
    // What is known of pages, in whole pages: the regions of [window_start, window_end) that are in memory.
    uint64_t window_start;
    uint64_t window_end;
    struct seep_page_region *regions;
    size_t nr_regions;
};

// Reads the mappings of the process once. _close frees it.
SEEP_MUST_CHECK struct seep_error *seep_resident_open(pid_t pid, struct seep_resident **ret_resident);
void seep_resident_close(struct seep_resident *resident); // takes NULL

// How much of [start, end) is in memory. The time goes with the pages that are there, not with the range
// (before Linux 6.7: with the part of the range up to the last such page). Fast where ranges come by address.
uint64_t seep_resident_bytes(struct seep_resident *resident, uint64_t start, uint64_t end);

#endif

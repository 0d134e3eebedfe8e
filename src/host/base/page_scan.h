// SPDX-License-Identifier: BSD-2-Clause
//
// Where pages of a process are, without an entry for each that is not: reservations of terabytes take no
// time. Source: Linux admin-guide/mm/pagemap.rst; linux/fs.h of 6.7 (PAGEMAP_SCAN).
#ifndef SEEP_BASE_PAGE_SCAN_H
#define SEEP_BASE_PAGE_SCAN_H

#include "core/attr.h"

#define SEEP_PAGE_PRESENT (1u << 3)
#define SEEP_PAGE_SWAPPED (1u << 4)
#define SEEP_PAGE_HUGE    (1u << 6)

// As the kernel has it.
struct seep_page_region {
    uint64_t start;
    uint64_t end;
    uint64_t categories;
};

// The regions of [start, end), which are whole pages, that are of any of `categories`; *ret_walk_end is up to
// where was looked. Returns how many there are. -1: the kernel does not tell, as before 6.7, or there is no
// such descriptor.
int seep_page_scan(int pagemap_fd, uint64_t start, uint64_t end, uint64_t categories,
                   struct seep_page_region *ret_regions, size_t nr_regions, uint64_t *ret_walk_end);

#endif

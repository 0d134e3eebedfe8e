// SPDX-License-Identifier: BSD-2-Clause
//
// A page of the live blocks, the largest first, without sorting all of them.
#ifndef SEEP_SERVER_BLOCK_PAGE_H
#define SEEP_SERVER_BLOCK_PAGE_H

#include "source/image/image_look.h"

#define SEEP_SERVER_PAGE_MOST 10000u

struct seep_server_block {
    struct seep_block block;
    uint32_t process; // place in the look
};
struct seep_server_page {
    struct seep_server_block *blocks; // malloc'ed
    size_t nr_blocks;
    uint64_t nr_all; // that there are of the site
};

// Visits the blocks of a process by address, as seep_image_look_blocks() does.
typedef struct seep_error *seep_server_blocks(const void *process, seep_block_visit *visit, void *data);

// Blocks of the same size are in the order of processes and addresses, so pages fit together where nothing
// changes meanwhile. `site` 0: blocks of all sites; else of that site of the process. Two passes over the
// blocks.
SEEP_MUST_CHECK struct seep_error *seep_server_page_make(seep_server_blocks *blocks,
                                                         const void *const *processes, size_t nr_processes,
                                                         uint64_t process, uint64_t site, uint64_t first,
                                                         uint64_t nr, struct seep_server_page *ret_page);

#endif

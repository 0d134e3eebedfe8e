// SPDX-License-Identifier: BSD-2-Clause
//
// A page of the live blocks, the largest first, without sorting all of them.
#ifndef SEEP_SERVER_BLOCK_PAGE_H
#define SEEP_SERVER_BLOCK_PAGE_H

#include "profile/profile.h"

#define SEEP_SERVER_PAGE_MOST 10000u

struct seep_server_block {
    const struct seep_block *block; // borrowed
    uint32_t process;               // place in the session
};
struct seep_server_page {
    struct seep_server_block *blocks; // malloc'ed
    size_t nr_blocks;
    uint64_t nr_all; // that there are of the site
};
// Blocks of the same size are in the order of processes and addresses, so pages fit together. `site` 0: of
// all sites; else of that site of the process. Two passes over the blocks.
SEEP_MUST_CHECK struct seep_error *seep_server_page_make(const struct seep_session *session, uint64_t process,
                                                         uint64_t site, uint64_t first, uint64_t nr,
                                                         struct seep_server_page *ret_page);

#endif

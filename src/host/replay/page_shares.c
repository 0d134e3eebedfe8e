// SPDX-License-Identifier: BSD-2-Clause
// The part of a block that was written, guessed from blocks that are like it, see page_shares.h.
#include <stdlib.h>

#include "file/event_residence.h"
#include "replay/page_shares.h"

struct seep_page_share {
    double sum; // of the parts of its blocks, so that one large block does not speak for many small ones
    uint64_t nr_blocks;
};

// What a block is like, the most alike first.
enum likeness { OF_SITE, OF_SIZE, OF_POWER, LIKENESSES };

void seep_page_shares_deinit(struct seep_page_shares *shares) {
    seep_map_deinit(&shares->shares_of);
    free(shares->shares);
    *shares = (struct seep_page_shares)SEEP_PAGE_SHARES_INIT;
}

static uint64_t key_of(enum likeness likeness, uint32_t site, uint64_t size) {
    uint64_t value = likeness == OF_SITE   ? site
                     : likeness == OF_SIZE ? size
                                           : (uint64_t)(63 - __builtin_clzll(size | 1));
    return seep_hash64(value) * LIKENESSES + likeness;
}

bool seep_page_shares_learn(struct seep_page_shares *shares, uint32_t site, uint64_t size, double part) {
    if (size > SEEP_RESIDENCE_FILLED_BYTES)
        return true;
    for (enum likeness likeness = 0; likeness < LIKENESSES; likeness++) {
        uint64_t *index = seep_map_at(&shares->shares_of, key_of(likeness, site, size), NULL);
        if (!index)
            return false;
        if (!*index) {
            if (!seep_grow(&shares->shares, &shares->capacity, shares->nr_shares + 1,
                           sizeof(*shares->shares)))
                return false;
            *index = ++shares->nr_shares;
        }
        struct seep_page_share *share = &shares->shares[*index - 1];
        share->sum += part;
        share->nr_blocks++;
    }
    return true;
}

double seep_page_shares_guess(const struct seep_page_shares *shares, uint32_t site, uint64_t size) {
    if (size > SEEP_RESIDENCE_FILLED_BYTES)
        return 1;
    for (enum likeness likeness = 0; likeness < LIKENESSES; likeness++) {
        const uint64_t *index = seep_map_find(&shares->shares_of, key_of(likeness, site, size));
        const struct seep_page_share *share = index && *index ? &shares->shares[*index - 1] : NULL;
        if (share)
            return share->sum / (double)share->nr_blocks;
    }
    return 1;
}

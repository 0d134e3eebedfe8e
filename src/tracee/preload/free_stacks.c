// SPDX-License-Identifier: BSD-2-Clause
// Releases that are kept, see free_stacks.h.
#include "preload/free_stacks.h"
#include "preload/sampling.h"

uint64_t seep_freed_at(uint64_t address) {
    uint64_t *at = releases_are_kept() ? map_entry(address) : NULL;
    return at && !SEEP_ENTRY_IS_LIVE(*at) ? *freed_word(at) : 0;
}

// Who is remembered in that granule: its filter counts one less.
static void forget(uint64_t *at, uint64_t address) {
    *at = 0;
    *freed_word(at) = 0;
    seep_sample_note((const void *)address, false);
}

void seep_freed_keep_sampled(uint64_t address, uint32_t site, uint32_t release_site, uint64_t size) {
    uint64_t *at = map_entry(address);
    if (!at)
        at = seep_map_new_leaf(address);
    if (!at)
        return; // then a second free is one of a block that was never seen
    uint64_t before = *freed_word(at);
    if (before)
        forget(at, address ^ (SEEP_ENTRY_SUB(before) ^ map_sub(address)) << 4); // may begin 16 bytes from us
    *freed_word(at) = SEEP_ENTRY_MAKE(release_site, map_sub(address), size);
    *at = site;
    seep_sample_note((const void *)address, true);
}

void seep_freed_forget_sampled(uint64_t address) {
    if (!sample_may_have(seep_g.filter, (const void *)address))
        return;
    uint64_t word = seep_freed_at(address);
    if (word && SEEP_ENTRY_SUB(word) == map_sub(address))
        forget(map_entry(address), address);
}

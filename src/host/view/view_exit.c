// SPDX-License-Identifier: BSD-2-Clause
//
// What was freed only at exit: no leak, but memory that was held all the time. The program's mark "exit" says
// what each site had when it began to leave (main returned, or exit() was called).
#include <string.h>

#include "base/sum.h"
#include "view/view_build.h"

const struct seep_mark *seep_profile_exit_mark(const struct seep_profile *profile) {
    for (uint32_t i = profile->nr_marks; i-- > 0;)
        if (strcmp(profile->marks[i].name, "exit") == 0)
            return profile->marks[i].counted ? &profile->marks[i] : NULL;
    return NULL;
}

// Freed since, less what was also allocated since and is not there: that lived for a moment.
static void find_site(const struct seep_mark_site *then, const struct seep_site *now,
                      struct seep_view_figures *figures) {
    uint64_t live_blocks = seep_above(then->allocations, then->frees);
    uint64_t live_bytes = seep_above(then->allocated_bytes, then->freed_bytes);
    figures->exit_blocks = seep_above(live_blocks, now->live_blocks);
    figures->exit_bytes = seep_above(live_bytes, now->live_bytes);
    figures->exit_all = !then->frees && figures->exit_blocks && !now->live_blocks;
}

void seep_view_find_exit(struct seep_view_build *build, const struct seep_view_part *part) {
    const struct seep_profile *profile = part->profile;
    const struct seep_mark *mark = seep_profile_exit_mark(profile);
    struct seep_view_exit *all = &build->view->at_exit;
    // Of a part of the blocks, or of what some threads did, there is no telling.
    if (!mark || build->filter_blocks || build->view->options.thread)
        return;
    all->known = true;
    for (uint32_t i = 0; i < mark->nr_sites; i++) {
        uint32_t site = mark->sites[i].site;
        if (!part->site_ok[site] || !seep_via_is_heap(profile->sites[site].via))
            continue;
        struct seep_view_figures *figures = &part->figures[site];
        find_site(&mark->sites[i], &profile->sites[site], figures);
        if (!figures->exit_blocks)
            continue;
        all->nr_sites++;
        seep_add_up(&all->blocks, figures->exit_blocks);
        seep_add_up(&all->bytes, figures->exit_bytes);
    }
}

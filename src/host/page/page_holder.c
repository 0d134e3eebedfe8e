// SPDX-License-Identifier: BSD-2-Clause
// Who holds a site, see page_holder.h.
#include "page/page_holder.h"

static uint64_t key_of(uint32_t node, uint32_t via) {
    return (uint64_t)node << 32 | via;
}

struct seep_error *seep_page_holders_init(struct seep_page_holders *holders, struct seep_view *view,
                                          size_t process) {
    *holders = (struct seep_page_holders){.view = view, .process = (uint32_t)process, .rows = SEEP_MAP_INIT};
    for (size_t i = 0; i < view->nr_rows; i++) {
        uint64_t *slot = seep_map_at(&holders->rows, key_of(view->rows[i].node, view->rows[i].via), NULL);
        if (!slot)
            return seep_error_no_memory();
        *slot = i + 1;
    }
    return NULL;
}

void seep_page_holders_deinit(struct seep_page_holders *holders) {
    seep_map_deinit(&holders->rows);
}

uint32_t seep_page_holder_row(const struct seep_page_holders *holders, const struct seep_view_row *row) {
    const struct seep_profile *profile = holders->view->session->profiles[holders->process];
    const uint32_t *nodes = holders->view->nodes[holders->process - holders->view->first_process];
    for (uint32_t i = row->held ? row->held->nr_links : 0; i-- > 0;) {
        const struct seep_link *link = &row->held->links[i];
        if (link->kind != SEEP_LINK_BLOCK || link->id >= profile->nr_sites)
            continue;
        const struct seep_site *site = &profile->sites[link->id];
        const uint64_t *slot = seep_map_find(&holders->rows, key_of(nodes[site->node], site->via));
        if (slot && &holders->view->rows[*slot - 1] != row)
            return (uint32_t)(*slot - 1);
    }
    return UINT32_MAX;
}

struct seep_error *seep_page_holder_root(const struct seep_page_holders *holders,
                                         const struct seep_view_row *row, const char **ret_root) {
    *ret_root = NULL;
    if (!row->held || !row->held->nr_links)
        return NULL;
    struct seep_link link = row->held->links[0];
    if (link.kind == SEEP_LINK_BLOCK || link.kind == SEEP_LINK_LEFT_OUT || link.kind == SEEP_LINK_TOO_LONG)
        return NULL; // lost blocks have no root
    link.whole = true;
    const struct seep_chain chain = {.links = &link, .nr_links = 1};
    return seep_view_chain(holders->view, holders->process, &chain, ret_root, NULL);
}

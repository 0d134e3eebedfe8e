// SPDX-License-Identifier: BSD-2-Clause
// What the rows of a page had over time, see page_times.h. Several sites of a profile may be one row: what
// the row has is their sum.
#include <stdlib.h>

#include "page/page_times.h"

void seep_page_times_deinit(struct seep_page_times *times) {
    seep_page_column_deinit(&times->processes);
    seep_page_column_deinit(&times->at_ns);
    seep_page_column_deinit(&times->rss);
    seep_page_column_deinit(&times->used);
    seep_page_column_deinit(&times->changes);
    seep_page_column_deinit(&times->sites);
    seep_page_column_deinit(&times->bytes);
    seep_page_column_deinit(&times->blocks);
}

struct state {
    uint32_t *row_of; // by site: row + 1; 0: in no row
    struct seep_snapshot_site *sites;
    struct seep_snapshot_site *rows; // `site`: the moment that changed it last, + 1
    uint32_t *changed;
};

static void deinit(struct state *state) {
    free(state->row_of);
    free(state->sites);
    free(state->rows);
    free(state->changed);
}

static void find_rows(const struct seep_view *view, const struct seep_profile *profile,
                      const uint32_t *places, size_t first, uint32_t *row_of) {
    for (uint32_t i = 1; i < profile->nr_sites; i++) {
        uint32_t row = view->site_rows[0][i];
        row_of[i] = row ? (uint32_t)(places[row - 1] - first + 1) : 0;
    }
}

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void add_moment(struct seep_page_times *times, struct state *state, const struct seep_profile *profile,
                       uint32_t moment, size_t process, size_t first) {
    const struct seep_snapshot *snapshot = &profile->snapshots[moment];
    size_t nr = 0;
    for (uint32_t i = 0; i < snapshot->nr_sites; i++) {
        const struct seep_snapshot_site *now = &snapshot->sites[i];
        uint32_t row = now->site < profile->nr_sites ? state->row_of[now->site] : 0;
        if (!row)
            continue;
        struct seep_snapshot_site *sum = &state->rows[row - 1], *before = &state->sites[now->site];
        sum->live_bytes += now->live_bytes - before->live_bytes;
        sum->live_blocks += now->live_blocks - before->live_blocks;
        *before = *now;
        if (sum->site != moment + 1)
            state->changed[nr++] = row - 1;
        sum->site = moment + 1;
    }
    qsort(state->changed, nr, sizeof(*state->changed), by_number);
    seep_page_column_put(&times->processes, process);
    seep_page_column_put_signed(&times->at_ns, snapshot->at_ns);
    seep_page_column_put(&times->rss, snapshot->rss_bytes);
    seep_page_column_put(&times->used, snapshot->used_bytes);
    seep_page_column_put(&times->changes, nr);
    int64_t last = 0;
    for (size_t i = 0; i < nr; i++) {
        int64_t row = (int64_t)(first + state->changed[i]);
        seep_page_column_put_signed(&times->sites, row - last);
        last = row;
        seep_page_column_put_signed(&times->bytes, (int64_t)state->rows[state->changed[i]].live_bytes);
        seep_page_column_put_signed(&times->blocks, (int64_t)state->rows[state->changed[i]].live_blocks);
    }
}

struct seep_error *seep_page_times_add(struct seep_page_times *times, const struct seep_view *view,
                                       size_t process, const uint32_t *places, size_t first,
                                       size_t nr_places) {
    const struct seep_profile *profile = view->session->profiles[view->first_process];
    if (!profile->nr_snapshots)
        return NULL;
    struct state state = {calloc(profile->nr_sites + 1, sizeof(uint32_t)),
                          calloc(profile->nr_sites + 1, sizeof(struct seep_snapshot_site)),
                          calloc(nr_places + 1, sizeof(struct seep_snapshot_site)),
                          calloc(nr_places + 1, sizeof(uint32_t))};
    bool is_there = state.row_of && state.sites && state.rows && state.changed;
    if (is_there)
        find_rows(view, profile, places, first, state.row_of);
    for (uint32_t i = 0; is_there && i < profile->nr_snapshots; i++)
        add_moment(times, &state, profile, i, process, first);
    deinit(&state);
    return is_there ? NULL : seep_error_no_memory();
}

// SPDX-License-Identifier: BSD-2-Clause
// Lives of freed blocks, see page_lives.h.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "page/page_lives.h"

void seep_page_lives_deinit(struct seep_page_lives *lives) {
    seep_page_column_deinit(&lives->freed);
    seep_page_column_deinit(&lives->mean);
    seep_page_column_deinit(&lives->most);
}

struct row {
    uint64_t freed;
    double sum_ns;
    int64_t most_ns;
};

static void add_site(struct seep_page_lives *lives, const struct seep_history_site *site, struct row *row) {
    seep_add_up(&row->freed, site->freed);
    row->sum_ns += site->life_sum_ns;
    row->most_ns = SEEP_MAX(row->most_ns, site->life_most_ns);
    for (size_t i = 0; i < SEEP_HISTORY_LIVES; i++)
        seep_add_up(&lives->classes[i], site->lives[i]);
}

struct seep_error *seep_page_lives_add(struct seep_page_lives *lives, const struct seep_view *view,
                                       const struct seep_history *history, const uint32_t *places,
                                       size_t first, size_t nr_places) {
    struct row *rows = calloc(nr_places + 1, sizeof(*rows));
    if (!rows)
        return seep_error_no_memory();
    const struct seep_profile *profile = view->session->profiles[view->first_process];
    uint32_t nr_sites = history ? SEEP_MIN(history->nr_sites, profile->nr_sites) : 0;
    for (uint32_t i = 0; i < nr_sites && history->sites; i++) {
        uint32_t row = view->site_rows[0][i];
        if (row && history->sites[i].freed)
            add_site(lives, &history->sites[i], &rows[places[row - 1] - first]);
    }
    for (size_t i = 0; i < nr_places; i++) {
        seep_page_column_put(&lives->freed, rows[i].freed);
        seep_page_column_put_double(&lives->mean, rows[i].freed ? rows[i].sum_ns / (double)rows[i].freed : 0);
        seep_page_column_put(&lives->most, (uint64_t)SEEP_MAX(rows[i].most_ns, INT64_C(0)));
    }
    free(rows);
    return NULL;
}

static void put_words(struct seep_page_column *text, const char *words) {
    seep_page_column_put_bytes(text, words, strlen(words));
}

void seep_page_lives_put(const struct seep_page_lives *lives, struct seep_page_column *ret_text) {
    char number[32];
    uint64_t all = 0;
    for (unsigned i = 0; i < SEEP_HISTORY_LIVES; i++)
        seep_add_up(&all, lives->classes[i]);
    if (!all)
        return;
    put_words(ret_text, "{\"below_ns\":[");
    for (unsigned i = 0; i + 1 < SEEP_HISTORY_LIVES; i++) {
        snprintf(number, sizeof(number), "%" PRId64 ",", seep_history_life_ns(i));
        put_words(ret_text, number);
    }
    put_words(ret_text, "null],\"freed\":[");
    for (unsigned i = 0; i < SEEP_HISTORY_LIVES; i++) {
        // As the JSON report has numbers: within what a signed one holds.
        snprintf(number, sizeof(number), "%s%" PRIu64, i ? "," : "",
                 SEEP_MIN(lives->classes[i], (uint64_t)INT64_MAX));
        put_words(ret_text, number);
    }
    put_words(ret_text, "]}");
}

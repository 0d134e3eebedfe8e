// SPDX-License-Identifier: BSD-2-Clause
// The first answers of a diff, see diff_findings.h.
#include <stdio.h>
#include <stdlib.h>

#include "analysis/diff_findings.h"
#include "base/numbers.h"
#include "base/sum.h"
#include "base/text_same.h"
#include "view/summary.h"

// So many rows, those with the largest changes, get the name of their place. Rows of one place are one.
#define ROWS_NAMED 32u

const char *seep_diff_finding_name(enum seep_diff_finding_kind kind) {
    static const char *const names[] = {"lost", "live", "allocations", "bytes", "temporary"};
    return names[kind];
}

// What is compared.
struct figure {
    enum seep_diff_finding_kind kind;
    int64_t (*of)(const struct seep_diff_row *row); // the change of a row
    bool is_bytes;
    const char *one; // behind an amount of bytes, or a count of one
    const char *many;
};

static int64_t live_of(const struct seep_diff_row *row) {
    return row->live_bytes;
}

static int64_t allocations_of(const struct seep_diff_row *row) {
    return row->allocations;
}

static int64_t bytes_of(const struct seep_diff_row *row) {
    return row->allocated_bytes;
}

static int64_t temporary_of(const struct seep_diff_row *row) {
    return row->temporary;
}

static int64_t lost_of(const struct seep_diff_row *row) {
    return row->lost.bytes;
}

static const struct figure figures[] = {
    [SEEP_DIFF_LOST] = {SEEP_DIFF_LOST, lost_of, true, "lost", "lost"},
    [SEEP_DIFF_LIVE] = {SEEP_DIFF_LIVE, live_of, true, "live", "live"},
    [SEEP_DIFF_ALLOCATIONS] = {SEEP_DIFF_ALLOCATIONS, allocations_of, false, "allocation", "allocations"},
    [SEEP_DIFF_BYTES] = {SEEP_DIFF_BYTES, bytes_of, true, "allocated", "allocated"},
    [SEEP_DIFF_TEMPORARY] = {SEEP_DIFF_TEMPORARY, temporary_of, false, "temporary allocation",
                             "temporary allocations"},
};

static uint64_t before_of(const struct seep_diff *diff, enum seep_diff_finding_kind kind) {
    const struct seep_view_row *all = &diff->before->all;
    switch (kind) {
    case SEEP_DIFF_LOST:
        return (uint64_t)seep_diff_lost_of(all).bytes;
    case SEEP_DIFF_LIVE:
        return (uint64_t)SEEP_MAX(all->live_bytes, INT64_C(0));
    case SEEP_DIFF_ALLOCATIONS:
        return all->counters.allocations;
    case SEEP_DIFF_BYTES:
        return all->counters.allocated_bytes;
    default:
        return all->counters.temporary;
    }
}

static struct seep_number amount(const struct figure *figure, int64_t value) {
    return figure->is_bytes ? seep_format_bytes(seep_magnitude(value))
                            : seep_format_count(seep_magnitude(value));
}

// ---- places ------------------------------------------------------------------------------------------

struct place {
    const char *name; // NULL: a stack that is not known
    int64_t change;
    bool is_new; // all its rows are
    bool is_gone;
};

struct places {
    struct place of[ROWS_NAMED];
    size_t nr;
};

// The rows that have grown most, or with `less` shrunk most, the largest change first.
static size_t pick(const struct seep_diff *diff, const struct figure *figure, bool less,
                   const struct seep_diff_row **ret_rows) {
    size_t nr = 0;
    for (size_t i = 0; i < diff->nr_rows_all; i++) {
        const struct seep_diff_row *row = &diff->rows[i];
        int64_t change = figure->of(row);
        if (less ? change >= 0 : change <= 0)
            continue;
        size_t at = nr < ROWS_NAMED ? nr++ : ROWS_NAMED;
        while (at && seep_magnitude(figure->of(ret_rows[at - 1])) < seep_magnitude(change)) {
            if (at < ROWS_NAMED)
                ret_rows[at] = ret_rows[at - 1];
            at--;
        }
        if (at < ROWS_NAMED)
            ret_rows[at] = row;
    }
    return nr;
}

static struct seep_error *name_row(const struct seep_diff *diff, const struct seep_diff_row *row,
                                   const char **ret_name) {
    const struct seep_view_row *shown = row->after ? row->after : row->before;
    *ret_name = shown->key;
    return diff->after->options.by == SEEP_BY_SITE
               ? seep_summary_place_of(row->after ? diff->after : diff->before, shown->node,
                                       shown->counters.allocations, ret_name)
               : NULL;
}

static int compare_places(const void *left, const void *right) {
    const struct place *a = left;
    const struct place *b = right;
    uint64_t of_a = seep_magnitude(a->change), of_b = seep_magnitude(b->change);
    return (of_a < of_b) - (of_a > of_b);
}

static struct seep_error *find_places(const struct seep_diff *diff, const struct figure *figure, bool less,
                                      struct places *ret_places) {
    const struct seep_diff_row *rows[ROWS_NAMED];
    size_t nr = pick(diff, figure, less, rows);
    *ret_places = (struct places){.nr = 0};
    for (size_t i = 0; i < nr; i++) {
        const char *name;
        struct seep_error *error = name_row(diff, rows[i], &name);
        if (error)
            return error;
        size_t at = 0;
        while (at < ret_places->nr && !seep_text_same(ret_places->of[at].name, name))
            at++;
        struct place *place = &ret_places->of[at];
        if (at == ret_places->nr)
            ret_places->of[ret_places->nr++] = (struct place){.name = name, .is_new = true, .is_gone = true};
        seep_add_signed(&place->change, figure->of(rows[i]));
        place->is_new &= rows[i]->change == SEEP_DIFF_NEW;
        place->is_gone &= rows[i]->change == SEEP_DIFF_GONE;
    }
    qsort(ret_places->of, ret_places->nr, sizeof(ret_places->of[0]), compare_places);
    return NULL;
}

// ---- texts -------------------------------------------------------------------------------------------

static struct seep_error *put(const struct seep_diff *diff, struct seep_diff_findings *findings,
                              struct seep_diff_finding *finding, char *text) {
    finding->text = text ? seep_arena_strdup(&diff->after->arena, text) : NULL;
    free(text);
    findings->items[findings->nr++] = *finding;
    return finding->text ? NULL : seep_error_no_memory();
}

// The place that changed most, and the next one if it has a fifth of that change and more: ": 1.00 MiB from
// add (a.c:3) (new), 300 KiB from ...".
static void put_places(FILE *out, const struct figure *figure, const struct places *places, int64_t change) {
    bool is_live = figure->kind == SEEP_DIFF_LIVE;
    for (size_t i = 0; i < places->nr && i < 2; i++) {
        const struct place *place = &places->of[i];
        if (i && seep_magnitude(place->change) < seep_magnitude(places->of[0].change) / 5)
            return;
        const char *name = place->name ? place->name : "stacks that are not known";
        if (places->nr == 1 && place->change == change)
            fprintf(out, ", all from %s", name);
        else
            fprintf(out, "%s%s %s %s", i ? ", " : ": ", amount(figure, place->change).text,
                    place->change < 0 ? "less from" : "from", name);
        if (is_live && (place->is_new || place->is_gone))
            fputs(place->is_new ? " (new)" : " (gone)", out);
    }
}

static void put_times(FILE *out, const struct figure *figure, uint64_t before, int64_t change) {
    const char *much = figure->is_bytes ? "much" : "many";
    if (!before || !change)
        return;
    double times = ((double)before + (double)change) / (double)before;
    if (times >= 2)
        fprintf(out, ", %s times as %s", seep_format_times(times).text, much);
    else
        fprintf(out, " (%+.1f%%)", (times - 1) * 100);
}

static void put_change(FILE *out, const struct figure *figure, int64_t change, bool is_other_place) {
    bool is_lost = figure->kind == SEEP_DIFF_LOST;
    const char *what = seep_magnitude(change) == 1 ? figure->one : figure->many;
    if (is_lost && change <= 0) // as much or less in all, and yet more of a place
        fputs("other blocks lost", out);
    else if (!change)
        fprintf(out, "as %s %s as before%s", figure->is_bytes ? "much" : "many", what,
                is_other_place ? ", from other places" : "");
    else
        fprintf(out, "%s %s %s", amount(figure, change).text,
                change > 0         ? "more"
                : figure->is_bytes ? "less"
                                   : "fewer",
                what);
}

// The place that changed most the other way, if its change is half of the whole and more.
static void put_others(FILE *out, const struct figure *figure, int64_t change, const struct places *others) {
    if (!others->nr || figure->kind == SEEP_DIFF_LOST ||
        seep_magnitude(others->of[0].change) < seep_magnitude(change) / 2)
        return;
    fprintf(out, "; %s %s %s", amount(figure, others->of[0].change).text,
            others->of[0].change < 0 ? "less from" : "more from",
            others->of[0].name ? others->of[0].name : "stacks that are not known");
}

static struct seep_error *answer(const struct seep_diff *diff, enum seep_diff_finding_kind kind,
                                 struct seep_diff_findings *findings) {
    const struct figure *figure = &figures[kind];
    int64_t change = figure->of(&diff->all);
    struct seep_diff_finding finding = {.kind = kind, .bad = kind == SEEP_DIFF_LOST, .value = change};
    bool less = change < 0 && kind != SEEP_DIFF_LOST;
    struct places places, others;
    struct seep_error *error = find_places(diff, figure, less, &places);
    if (!error)
        error = find_places(diff, figure, !less, &others);
    if (error)
        return error;
    if (places.nr) {
        finding.place = places.of[0].name;
        finding.place_value = places.of[0].change;
    }
    char *text = NULL;
    size_t nr_bytes;
    FILE *out = open_memstream(&text, &nr_bytes);
    if (!out)
        return seep_error_no_memory();
    put_change(out, figure, change, places.nr && others.nr);
    if (kind != SEEP_DIFF_LOST)
        put_times(out, figure, before_of(diff, kind), change);
    put_places(out, figure, &places, change);
    put_others(out, figure, change, &others);
    if (fclose(out) != 0) {
        free(text);
        return seep_error_no_memory();
    }
    return put(diff, findings, &finding, text);
}

struct seep_error *seep_diff_findings_make(const struct seep_diff *diff, int sort,
                                           struct seep_diff_findings *ret_findings) {
    enum seep_diff_finding_kind kind = sort == SEEP_SORT_ALLOCATIONS ? SEEP_DIFF_ALLOCATIONS
                                       : sort == SEEP_SORT_BYTES     ? SEEP_DIFF_BYTES
                                       : sort == SEEP_SORT_TEMPORARY ? SEEP_DIFF_TEMPORARY
                                                                     : SEEP_DIFF_LIVE;
    *ret_findings = (struct seep_diff_findings){.nr = 0};
    struct seep_error *error = NULL;
    if (diff->nr_newly_lost && kind == SEEP_DIFF_LIVE)
        error = answer(diff, SEEP_DIFF_LOST, ret_findings);
    if (!error)
        error = answer(diff, kind, ret_findings);
    // What is live has not changed anywhere: the number of allocations may have.
    if (!error && kind == SEEP_DIFF_LIVE && !diff->all.live_bytes && diff->all.allocations &&
        !ret_findings->items[ret_findings->nr - 1].place)
        error = answer(diff, SEEP_DIFF_ALLOCATIONS, ret_findings);
    return error;
}

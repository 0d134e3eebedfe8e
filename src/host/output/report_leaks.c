// SPDX-License-Identifier: BSD-2-Clause
//
// The leaks of a text report: the classes, which processes leak where there are several, and who holds
// the rest. What the same holder keeps in several processes is one row.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "profile/texts.h"
#include "output/report_text.h"
#include "view/exception_pool.h"
#include "view/summary.h"

#define TOP_LEAKS      10u
#define PAUSED_COLUMNS 27u // to column 80

const char *seep_text_kind(uint32_t kind) {
    static const char *const words[SEEP_KIND_NR] = {"not scanned", "lost", "indirectly lost", "possibly lost",
                                                    "reachable"};
    return kind < SEEP_KIND_NR ? words[kind] : "not known";
}

static uint32_t nr_shown(const struct seep_view *view, uint32_t nr) {
    uint64_t top = view->options.top == SEEP_TOP_DEFAULT ? TOP_LEAKS : view->options.top;
    return top && top < nr ? (uint32_t)top : nr;
}

static void put_amount(FILE *out, const char *what, uint64_t blocks, uint64_t bytes) {
    fprintf(out, "  %-15s %12s %19s   ", what, seep_format_count(blocks).text, seep_format_count(bytes).text);
}

// ---- classes -----------------------------------------------------------------------------------------

// Of all processes that were looked at; a pause is that of the one that waited longest.
struct sums {
    struct seep_leaks leaks;
    uint32_t nr_looked;
};

static struct sums sum_up(const struct seep_view *view) {
    struct sums sums = {0};
    for (size_t p = 0; p < view->nr_processes; p++) {
        const struct seep_leaks *leaks = &seep_text_profile(view, p)->leaks;
        if (!leaks->known)
            continue;
        sums.nr_looked++;
        for (uint32_t i = 0; i < SEEP_KIND_NR; i++) {
            seep_add_up(&sums.leaks.blocks[i], leaks->blocks[i]);
            seep_add_up(&sums.leaks.bytes[i], leaks->bytes[i]);
        }
        seep_add_up(&sums.leaks.suppressed_blocks, leaks->suppressed_blocks);
        seep_add_up(&sums.leaks.suppressed_bytes, leaks->suppressed_bytes);
        seep_add_up(&sums.leaks.read_bytes, leaks->read_bytes);
        sums.leaks.pause_ns = SEEP_MAX(sums.leaks.pause_ns, leaks->pause_ns);
    }
    return sums;
}

// What a reader who asks who holds the reachable blocks is to look at.
static const char *where_held(const struct seep_view *view, uint64_t blocks) {
    if (!blocks)
        return "held";
    if (view->options.kinds && !(view->options.kinds >> SEEP_KIND_REACHABLE & 1))
        return "holders: --kind reachable";
    bool by_site = view->options.by == SEEP_BY_SITE, has_holders = false;
    for (size_t p = 0; by_site && p < view->nr_processes; p++)
        has_holders |= seep_text_profile(view, p)->leaks.nr_holders != 0;
    bool more = false; // rows that are not shown have some
    for (size_t i = 0, nr = seep_text_extent(view).nr_shown; by_site && i < view->nr_rows; i++) {
        const struct seep_view_row *row = &view->rows[i];
        uint32_t nr_held;
        const struct seep_held *held = seep_view_held(view, row, &nr_held);
        bool known = row->held && row->held_kind == SEEP_KIND_REACHABLE;
        for (uint32_t k = 0; k < nr_held && nr_held > 1; k++)
            known |= held[k].kind == SEEP_KIND_REACHABLE;
        if (known && i < nr)
            return "held: see 'held by' below";
        more |= known;
    }
    if (has_holders)
        return "held: see 'top holders'";
    if (!by_site)
        return "holders: --by site";
    return more || view->nr_rows < view->nr_rows_all ? "holders: --top 0" : "held";
}

// What processes hold that were not looked at is in none of the classes: with it they add up to what is live.
static void put_not_scanned(FILE *out, const struct seep_view *view) {
    const struct seep_profile *first = NULL;
    uint64_t blocks = 0, bytes = 0, nr = 0;
    for (size_t p = 0; p < view->nr_processes; p++) {
        const struct seep_profile *profile = seep_text_profile(view, p);
        if (profile->leaks.known)
            continue;
        blocks += profile->totals.live_blocks;
        bytes += profile->totals.live_bytes;
        first = first ? first : profile;
        nr++;
    }
    if (!first)
        return;
    put_amount(out, "not scanned", blocks, bytes);
    seep_put_escaped(out, first->process.name);
    fprintf(out, ", pid %" PRIu32 "%s", first->process.pid,
            first->process.exit_kind == SEEP_EXIT_EXEC ? ", went on by exec" : "");
    if (nr > 1)
        fprintf(out, "; and %s more", seep_format_count(nr - 1).text);
    fputc('\n', out);
}

static void put_classes(FILE *out, const struct seep_view *view, const struct sums *sums,
                        const struct seep_style *style) {
    static const char *const remarks[SEEP_KIND_NR] = {"", "no pointer to it anywhere",
                                                      "only from lost blocks", "only interior pointers", ""};
    const struct seep_leaks *leaks = &sums->leaks;
    bool several = view->nr_processes > 1;
    fprintf(out, "\n%s%-17s %12s %19s%s   ", seep_style_bold(style), several ? "leaks, all" : "leaks",
            "blocks", "bytes", seep_style_off(style));
    // Within 80 columns: who asks for more has it in the JSON report.
    char paused[96];
    snprintf(paused, sizeof(paused), "paused %s, %s read", seep_format_duration(leaks->pause_ns).text,
             seep_format_bytes(leaks->read_bytes).text);
    if (several)
        fprintf(out, "%s of %s processes scanned", seep_format_count(sums->nr_looked).text,
                seep_format_count(view->nr_processes).text);
    else if (leaks->pause_ns) // a core file was made without us
        fprintf(out, "%.*s", strlen(paused) > PAUSED_COLUMNS ? (int)strcspn(paused, ",") : -1, paused);
    else
        fprintf(out, "%s read", seep_format_bytes(leaks->read_bytes).text);
    fputc('\n', out);
    for (uint32_t i = SEEP_KIND_LOST; i < SEEP_KIND_NR; i++) {
        if (i != SEEP_KIND_LOST && !leaks->blocks[i]) // only of `lost` a row of zeros is an answer
            continue;
        put_amount(out, seep_text_kind(i), leaks->blocks[i], leaks->bytes[i]);
        fprintf(out, "%s\n", i == SEEP_KIND_REACHABLE ? where_held(view, leaks->blocks[i]) : remarks[i]);
    }
    if (leaks->suppressed_blocks) {
        put_amount(out, "suppressed", leaks->suppressed_blocks, leaks->suppressed_bytes);
        fputs("in none of these classes\n", out);
    }
    put_not_scanned(out, view);
}

// ---- rows of several processes -----------------------------------------------------------------------

// What several processes have in common: a program, or a holder.
struct shared {
    const char *name;
    uint32_t pid; // of the first process
    uint32_t nr;  // of processes
    size_t last;  // of them: its rows come one after another
    uint64_t blocks;
    uint64_t bytes;
    uint64_t order;
    bool is_behind; // all others, however large it is
};

struct shared_rows {
    struct seep_texts names;
    struct shared *items;
    size_t capacity;
};

static void shared_deinit(struct shared_rows *rows) {
    seep_texts_deinit(&rows->names);
    free(rows->items);
}

// `process`: its index in the view.
static struct seep_error *shared_add(struct shared_rows *rows, const char *name, size_t process, uint32_t pid,
                                     uint64_t blocks, uint64_t bytes) {
    uint32_t id;
    struct seep_error *error = seep_texts_add(&rows->names, name, &id);
    if (error)
        return error;
    if (!seep_grow(&rows->items, &rows->capacity, rows->names.nr, sizeof(*rows->items)))
        return seep_error_no_memory();
    struct shared *row = &rows->items[id];
    if (!row->nr)
        *row = (struct shared){.name = name, .pid = pid, .order = id};
    row->nr += !row->nr || row->last != process;
    row->last = process;
    seep_add_up(&row->blocks, blocks);
    seep_add_up(&row->bytes, bytes);
    return NULL;
}

static int compare_shared(const void *left, const void *right) {
    const struct shared *a = left;
    const struct shared *b = right;
    if (a->is_behind != b->is_behind)
        return a->is_behind ? 1 : -1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return (a->order > b->order) - (a->order < b->order);
}

static uint32_t shared_sort(struct shared_rows *rows) {
    if (rows->names.nr)
        qsort(rows->items, rows->names.nr, sizeof(*rows->items), compare_shared);
    return (uint32_t)rows->names.nr; // ids have 32 bits
}

// ---- who leaks ---------------------------------------------------------------------------------------

static struct seep_error *add_leakers(struct shared_rows *rows, const struct seep_view *view) {
    for (size_t p = 0; p < view->nr_processes; p++) {
        const struct seep_profile *profile = seep_text_profile(view, p);
        uint64_t blocks = 0, bytes = 0;
        for (uint32_t i = SEEP_KIND_LOST; i <= SEEP_KIND_INDIRECT; i++) {
            seep_add_up(&blocks, profile->leaks.blocks[i]);
            seep_add_up(&bytes, profile->leaks.bytes[i]);
        }
        if (!profile->leaks.known || !blocks)
            continue;
        struct seep_error *error =
            shared_add(rows, profile->process.name, p, profile->process.pid, blocks, bytes);
        if (error)
            return error;
    }
    return NULL;
}

static struct seep_error *put_leakers(FILE *out, const struct seep_view *view,
                                      const struct seep_style *style) {
    struct shared_rows rows = {0};
    struct seep_error *error = add_leakers(&rows, view);
    uint32_t nr = error ? 0 : shared_sort(&rows);
    if (nr)
        fprintf(out, "\n%s%-17s %12s %19s%s   lost or indirectly lost\n", seep_style_bold(style),
                "leaking programs", "blocks", "bytes", seep_style_off(style));
    for (uint32_t i = 0; i < nr_shown(view, nr); i++) {
        const struct shared *row = &rows.items[i];
        put_amount(out, "", row->blocks, row->bytes);
        seep_put_escaped(out, *row->name ? row->name : "(program not known)");
        if (row->nr > 1)
            fprintf(out, ", %s processes\n", seep_format_count(row->nr).text);
        else
            fprintf(out, ", pid %" PRIu32 "\n", row->pid);
    }
    if (nr_shown(view, nr) < nr)
        fprintf(out, "  (and %s more that leak%s less)\n", seep_format_count(nr - nr_shown(view, nr)).text,
                nr - nr_shown(view, nr) == 1 ? "s" : "");
    shared_deinit(&rows);
    return error;
}

// ---- who holds ---------------------------------------------------------------------------------------

// Of one process only those that are shown get names. *ret_nr_rest: holders that are only counted, those
// among them that hold only themselves.
static struct seep_error *add_holders(struct shared_rows *rows, struct seep_view *view, uint64_t *ret_nr_rest,
                                      bool *ret_alone) {
    *ret_nr_rest = 0;
    *ret_alone = false;
    for (size_t p = 0; p < view->nr_processes; p++) {
        const struct seep_profile *profile = seep_text_profile(view, p);
        const struct seep_leaks *leaks = &profile->leaks;
        uint32_t nr = 0,
                 most = view->nr_processes > 1 ? leaks->nr_holders : nr_shown(view, leaks->nr_holders);
        for (uint32_t i = 0; i < leaks->nr_holders && nr < most; i++) {
            const struct seep_holder *holder = &leaks->holders[i];
            const char *what = NULL;
            bool is_pool = false;
            struct seep_error *error =
                seep_view_holder_short(view, (uint32_t)(view->first_process + p), holder, &what, &is_pool);
            *ret_alone |= !error && !what;
            if (!error && !what)
                continue;
            nr++;
            if (!error)
                error = shared_add(rows, what, p, profile->process.pid, holder->blocks, holder->bytes);
            if (error)
                return error;
            uint32_t id;
            if (is_pool && seep_texts_find(&rows->names, what, &id))
                rows->items[id].is_behind = true;
        }
        if (leaks->nr_holders_all > nr)
            seep_add_up(ret_nr_rest, leaks->nr_holders_all - nr);
    }
    return NULL;
}

static struct seep_error *put_holders(FILE *out, struct seep_view *view, const struct seep_style *style) {
    struct shared_rows rows = {0};
    uint64_t nr_rest;
    bool alone;
    struct seep_error *error = add_holders(&rows, view, &nr_rest, &alone);
    uint32_t nr = error ? 0 : shared_sort(&rows);
    if (nr)
        fprintf(out, "\n%s%-17s %12s %19s%s   what nothing else holds\n", seep_style_bold(style),
                "top holders", "blocks", "bytes", seep_style_off(style));
    for (uint32_t i = 0; i < nr_shown(view, nr); i++) {
        const struct shared *row = &rows.items[i];
        put_amount(out, "", row->blocks, row->bytes);
        seep_put_escaped(out, row->name);
        if (view->nr_processes > 1 && row->nr > 1)
            fprintf(out, ", in %s processes", seep_format_count(row->nr).text);
        else if (view->nr_processes > 1)
            fprintf(out, ", in pid %" PRIu32, row->pid);
        fputc('\n', out);
    }
    seep_add_up(&nr_rest, nr - nr_shown(view, nr));
    if (nr && nr_rest)
        fprintf(out, "  (and %s more that hold%s less%s)\n", seep_format_count(nr_rest).text,
                nr_rest == 1 ? "s" : "", alone ? ", or only one block" : "");
    shared_deinit(&rows);
    return error;
}

// ---- no look was taken -----------------------------------------------------------------------------------

// A reader who has seen the classes of other runs would take their absence for a good sign. By site a finding
// says it.
static struct seep_error *put_not_known(FILE *out, struct seep_view *view, const struct seep_style *style) {
    const char *why = NULL;
    struct seep_error *error =
        view->options.by == SEEP_BY_SITE ? NULL : seep_summary_why_not_known(view, &why);
    if (!error && why)
        fprintf(out, "\n%sleaks%s              not known: %s\n", seep_style_bold(style),
                seep_style_off(style), why);
    return error;
}

// Holders retain blocks of all kinds, so they are of no use in a report without held blocks. A report by
// function or line has its table on the first screen.
static bool are_holders_asked(const struct seep_view *view) {
    return view->options.by == SEEP_BY_SITE &&
           (!view->options.kinds || view->options.kinds >> SEEP_KIND_REACHABLE & 1);
}

struct seep_error *seep_text_leaks(FILE *out, struct seep_view *view, const struct seep_style *style) {
    struct sums sums = sum_up(view);
    if (!sums.nr_looked)
        return put_not_known(out, view, style);
    put_classes(out, view, &sums, style);
    struct seep_error *error = view->nr_processes > 1 ? put_leakers(out, view, style) : NULL;
    return error || !are_holders_asked(view) ? error : put_holders(out, view, style);
}

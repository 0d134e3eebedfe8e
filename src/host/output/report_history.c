// SPDX-License-Identifier: BSD-2-Clause
// A history as text, see report_history.h.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "base/words.h"
#include "output/format.h"
#include "output/report_history.h"
#include "output/wrap.h"
#include "view/summary.h"

struct print {
    FILE *out;
    const struct seep_history_report *report;
    const struct seep_profile *profile;
    const struct seep_history *history;
    size_t process; // in the view
    bool *alike;    // by site: another one of the table at work has the same place
    unsigned width; // of the terminal; 0: there is none
};
#define LIVES_WIDTH 120u // that a table of lives needs with all of its columns

// ---- words -------------------------------------------------------------------------------------------

static uint32_t node_of(const struct print *print, uint32_t site) {
    return print->report->view->nodes[print->process][print->profile->sites[site].node];
}

struct named {
    uint32_t site;
    const char *place;
};

static int by_place(const void *left, const void *right) {
    const struct named *a = left, *b = right;
    return strcmp(a->place ? a->place : "", b->place ? b->place : "");
}

// Finds those of the rows, each of which begins with its site, that would look alike.
static struct seep_error *find_alike(const struct print *print, const void *rows, size_t row_bytes,
                                     size_t nr) {
    struct named *named = calloc(nr + 1, sizeof(*named));
    struct seep_error *error = named ? NULL : seep_error_no_memory();
    memset(print->alike, 0, print->history->nr_sites);
    for (size_t i = 0; !error && i < nr; i++) {
        memcpy(&named[i].site, (const char *)rows + i * row_bytes, sizeof(named[i].site));
        error = seep_summary_place(print->report->view, node_of(print, named[i].site), &named[i].place);
    }
    if (!error && nr)
        qsort(named, nr, sizeof(*named), by_place);
    for (size_t i = 1; !error && i < nr; i++)
        if (by_place(&named[i - 1], &named[i]) == 0)
            print->alike[named[i - 1].site] = print->alike[named[i].site] = true;
    free(named);
    return error;
}

// Sites that would look alike have their number, as --json and SQL name it, and their caller. If the caller
// is main, they have the function that was called.
static struct seep_error *put_place(const struct print *print, uint32_t site) {
    struct seep_view *view = print->report->view;
    uint32_t node = node_of(print, site);
    const char *place, *caller = NULL, *called = NULL;
    struct seep_error *error = seep_summary_place(view, node, &place);
    if (error)
        return error;
    seep_put_escaped(print->out, place ? place : "(stack not recorded)");
    if (!print->alike[site])
        return NULL;
    if (place)
        error = seep_summary_caller(view, node, &caller);
    if (!error && place && !caller)
        error = seep_summary_called(view, node, &called);
    fprintf(print->out, ", site %" PRIu32, site);
    if (!error && (caller || called)) {
        fputs(caller ? ", from " : ", in ", print->out);
        seep_put_escaped(print->out, caller ? caller : called);
    }
    return error;
}

static void put_thread(const struct print *print, uint32_t slot) {
    const struct seep_profile *profile = print->profile;
    if (slot >= profile->nr_threads) {
        fprintf(print->out, "thread %" PRIu32, slot);
        return;
    }
    seep_put_escaped(print->out, profile->threads[slot].name);
    fprintf(print->out, " (%" PRIu32 ")%s", profile->threads[slot].tid,
            profile->threads[slot].nr_owners > 1 ? " and others" : "");
}

static size_t rows_shown(const struct print *print, size_t nr) {
    return print->report->top && nr > print->report->top ? print->report->top : nr;
}

static void put_more(const struct print *print, size_t nr) {
    size_t shown = rows_shown(print, nr);
    if (shown < nr)
        fprintf(print->out, "  and %s more: --top 0\n", seep_format_count(nr - shown).text);
}

static uint64_t positive(int64_t value) {
    return (uint64_t)SEEP_MAX(value, INT64_C(0));
}

static const char *level(int64_t value, int64_t most) {
    static const char *const levels[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    size_t nr = SEEP_ARRAY_SIZE(levels) - 1;
    if (value <= 0 || most <= 0)
        return levels[0];
    size_t at = (size_t)((double)value / (double)most * (double)nr + 0.5);
    return levels[SEEP_MIN(SEEP_MAX(at, (size_t)1), nr)];
}

// ---- tables ------------------------------------------------------------------------------------------

static struct seep_number rate(uint64_t value, int64_t ns, bool bytes) {
    double per_s = ns > 0 ? (double)value * 1e9 / (double)ns : 0;
    uint64_t whole = per_s < 0x1p63 ? (uint64_t)(per_s + 0.5) : INT64_MAX;
    return bytes ? seep_format_bytes(whole) : seep_format_count(whole);
}

// Exact enough that no two moments look the same and that equal steps look equal.
static struct seep_number moment(const struct seep_history *history, int64_t at_ns) {
    int64_t end_ns = history->nr_bins ? history->bins[history->nr_bins - 1].until_ns : 0, step_ns = end_ns;
    for (size_t i = 1; i < history->nr_bins; i++) {
        int64_t gap_ns = seep_time_less(history->bins[i].until_ns, history->bins[i - 1].until_ns);
        step_ns = gap_ns > 0 ? SEEP_MIN(step_ns, gap_ns) : step_ns;
    }
    if (step_ns >= INT64_C(60000000000) || end_ns <= 0)
        return seep_format_duration(at_ns);
    const char *unit = end_ns < 1000000 ? "us" : end_ns < 1000000000 ? "ms" : "s";
    double unit_ns = end_ns < 1000000 ? 1e3 : end_ns < 1000000000 ? 1e6 : 1e9;
    int decimals = 0;
    for (double least_ns = unit_ns; least_ns * 2 > (double)step_ns && decimals < 6; least_ns /= 10)
        decimals++;
    struct seep_number number;
    snprintf(number.text, sizeof(number.text), "%.*f %s", decimals, (double)at_ns / unit_ns, unit);
    return number;
}

static void put_timeline(const struct print *print) {
    const struct seep_history *history = print->history;
    int64_t most = 0;
    for (size_t i = 0; i < history->nr_bins; i++)
        most = SEEP_MAX(most, history->bins[i].most_bytes);
    fprintf(print->out, "\n%-12s %9s %9s", history->recorded ? "until" : "snapshot at", "blocks", "live");
    if (history->recorded)
        fprintf(print->out, " %9s %13s %11s", "highest", "allocations/s", "allocated/s");
    if (history->recorded && print->report->pages)
        fprintf(print->out, " %10s %8s", "pages full", "regions");
    fprintf(print->out, "  of %s\n", seep_format_bytes(positive(most)).text);
    for (size_t i = 0; i < history->nr_bins; i++) {
        const struct seep_history_bin *bin = &history->bins[i];
        fprintf(print->out, "  %-10s %9s %9s", moment(history, bin->until_ns).text,
                seep_format_signed(bin->live_blocks).text, seep_format_bytes(positive(bin->live_bytes)).text);
        if (history->recorded)
            fprintf(print->out, " %9s %13s %11s", seep_format_bytes(positive(bin->most_bytes)).text,
                    rate(bin->allocations, history->bin_ns, false).text,
                    rate(bin->allocated_bytes, history->bin_ns, true).text);
        if (history->recorded && print->report->pages)
            fprintf(print->out, " %10s %8s",
                    seep_format_share(positive(bin->live_bytes), bin->pages << 12).text,
                    seep_format_count(bin->regions).text);
        fprintf(print->out, "  %s\n", level(bin->most_bytes, most));
    }
}

struct over_time {
    uint32_t site;
    int64_t most;
    int64_t *highest; // by bin
};

static int by_most(const void *left, const void *right) {
    const struct over_time *a = left, *b = right;
    return (a->most < b->most) - (a->most > b->most);
}

// The highest that each site had in each part, as a line of its own.
static struct seep_error *put_sites(const struct print *print) {
    const struct seep_history *history = print->history;
    struct over_time *sites = calloc((size_t)history->nr_sites + 1, sizeof(*sites));
    struct seep_error *error = sites ? NULL : seep_error_no_memory();
    for (uint32_t i = 0; !error && i < history->nr_sites; i++)
        sites[i].site = i;
    for (size_t i = 0; !error && i < history->nr_changes; i++)
        sites[history->changes[i].site].most =
            SEEP_MAX(sites[history->changes[i].site].most, history->changes[i].most_bytes);
    size_t nr = 0;
    for (uint32_t i = 0; !error && i < history->nr_sites; i++)
        if (sites[i].most > 0)
            sites[nr++] = sites[i];
    if (nr)
        qsort(sites, nr, sizeof(*sites), by_most);
    size_t shown = rows_shown(print, nr);
    uint32_t *row_of = calloc((size_t)history->nr_sites + 1, sizeof(*row_of));
    if (!error && !row_of)
        error = seep_error_no_memory();
    for (size_t i = 0; !error && i < shown; i++) {
        sites[i].highest = calloc(history->nr_bins + 1, sizeof(*sites[i].highest));
        row_of[sites[i].site] = (uint32_t)i + 1;
        if (!sites[i].highest)
            error = seep_error_no_memory();
    }
    // A change holds until the next one of its site.
    for (size_t i = 0; !error && i < history->nr_changes; i++) {
        const struct seep_history_change *change = &history->changes[i];
        struct over_time *row = row_of[change->site] ? &sites[row_of[change->site] - 1] : NULL;
        for (size_t bin = change->bin; row && bin < history->nr_bins; bin++)
            row->highest[bin] = bin == change->bin ? change->most_bytes : change->live_bytes;
    }
    if (!error && nr)
        fprintf(print->out, "\n%-12s %s\n", "most live",
                history->recorded ? "highest in each part, by site" : "at each snapshot, by site");
    if (!error)
        error = find_alike(print, sites, sizeof(*sites), shown);
    for (size_t i = 0; !error && i < shown; i++) {
        fprintf(print->out, "  %-10s ", seep_format_bytes((uint64_t)sites[i].most).text);
        for (size_t bin = 0; bin < history->nr_bins; bin++)
            fputs(level(sites[i].highest[bin], sites[i].most), print->out);
        fputs("  ", print->out);
        error = put_place(print, sites[i].site);
        fputc('\n', print->out);
    }
    if (!error)
        put_more(print, nr);
    for (size_t i = 0; sites && i < shown; i++)
        free(sites[i].highest);
    free(sites);
    free(row_of);
    return error;
}

struct lived {
    uint32_t site;
    uint64_t freed;
};

static int by_freed(const void *left, const void *right) {
    const struct lived *a = left, *b = right;
    return (a->freed < b->freed) - (a->freed > b->freed);
}

static void put_lives(const struct print *print, const struct seep_history_site *site, uint32_t columns) {
    fprintf(print->out, "  %12s ", seep_format_count(site->freed).text);
    for (unsigned i = 0; i < SEEP_HISTORY_LIVES; i++) {
        if (!(columns >> i & 1))
            continue;
        if (!site->lives[i])
            fprintf(print->out, " %6s", ".");
        else
            fprintf(print->out, " %6s", seep_format_share(site->lives[i], site->freed).text);
    }
    fprintf(print->out, " %9s %9s %6s  ",
            seep_format_duration((int64_t)(site->life_sum_ns / (double)site->freed)).text,
            seep_format_duration(site->life_most_ns).text,
            site->temporary ? seep_format_share(site->temporary, site->freed).text : ".");
}

// Where not all have room, those in which no block of the rows is are left out.
static uint32_t columns_of_lives(const struct print *print, const struct lived *rows, size_t nr) {
    const uint32_t all = (UINT32_C(1) << SEEP_HISTORY_LIVES) - 1;
    if (!print->width || print->width >= LIVES_WIDTH)
        return all;
    uint32_t used = 0;
    for (size_t i = 0; i < rows_shown(print, nr); i++)
        for (unsigned k = 0; k < SEEP_HISTORY_LIVES; k++)
            used |= (uint32_t)(print->history->sites[rows[i].site].lives[k] != 0) << k;
    return used;
}

static void put_lives_heading(const struct print *print, uint32_t columns) {
    static const char *const names[SEEP_HISTORY_LIVES] = {"<1us",   "<10us", "<100us", "<1ms",  "<10ms",
                                                          "<100ms", "<1s",   "<10s",   "<100s", "more"};
    fprintf(print->out, "\n%-14s ", "lived  blocks");
    for (unsigned i = 0; i < SEEP_HISTORY_LIVES; i++)
        if (columns >> i & 1)
            fprintf(print->out, " %6s", names[i]);
    fprintf(print->out, " %9s %9s %6s\n", "mean", "longest", "temp");
}

static struct seep_error *put_lifetimes(const struct print *print) {
    const struct seep_history *history = print->history;
    struct lived *rows = calloc((size_t)history->nr_sites + 1, sizeof(*rows));
    if (!rows)
        return seep_error_no_memory();
    size_t nr = 0;
    for (uint32_t i = 0; i < history->nr_sites; i++)
        if (history->sites[i].freed)
            rows[nr++] = (struct lived){i, history->sites[i].freed};
    if (nr)
        qsort(rows, nr, sizeof(*rows), by_freed);
    uint32_t columns = columns_of_lives(print, rows, nr);
    if (nr)
        put_lives_heading(print, columns);
    struct seep_error *error = find_alike(print, rows, sizeof(*rows), rows_shown(print, nr));
    for (size_t i = 0; !error && i < rows_shown(print, nr); i++) {
        put_lives(print, &history->sites[rows[i].site], columns);
        error = put_place(print, rows[i].site);
        fputc('\n', print->out);
    }
    if (!error)
        put_more(print, nr);
    free(rows);
    return error;
}

static struct seep_error *put_resizes(const struct print *print) {
    const struct seep_history *history = print->history;
    struct seep_error *error = NULL;
    if (history->nr_resizes)
        fprintf(print->out, "\n%-12s %12s %12s %8s %12s\n", "resizes", "moved", "copied", "in a row",
                "largest");
    memset(print->alike, 0, history->nr_sites);
    for (size_t i = 0; !error && i < rows_shown(print, history->nr_resizes); i++) {
        const struct seep_history_resize *resize = &history->resizes[i];
        fprintf(print->out, "  %-10s %12s %12s %8" PRIu32 " %12s  ", seep_format_count(resize->resizes).text,
                seep_format_count(resize->moved).text, seep_format_bytes(resize->copied_bytes).text,
                resize->most_in_a_row, seep_format_bytes(resize->most_bytes).text);
        error = put_place(print, resize->site);
        if (!error && resize->first != resize->site) {
            fputs(", begun at ", print->out);
            error = put_place(print, resize->first);
        }
        fputc('\n', print->out);
    }
    if (!error)
        put_more(print, history->nr_resizes);
    return error;
}

static struct seep_error *put_handovers(const struct print *print) {
    const struct seep_history *history = print->history;
    struct seep_error *error = NULL;
    size_t nr = history->nr_handovers;
    if (nr)
        fprintf(print->out, "\n%-14s %12s  allocated by one thread, freed by another\n", "blocks", "bytes");
    for (size_t i = 0; i < rows_shown(print, nr); i++) {
        fprintf(print->out, "  %-12s %12s  ", seep_format_count(history->handovers[i].blocks).text,
                seep_format_bytes(history->handovers[i].bytes).text);
        put_thread(print, history->handovers[i].from);
        fputs(", ", print->out);
        put_thread(print, history->handovers[i].to);
        fputc('\n', print->out);
    }
    put_more(print, nr);
    size_t nr_sites = 0;
    memset(print->alike, 0, print->history->nr_sites);
    for (uint32_t i = 0; !error && i < history->nr_sites; i++) {
        const struct seep_history_site *site = &history->sites[i];
        if (!site->elsewhere || (print->report->top && nr_sites++ >= print->report->top))
            continue;
        fprintf(print->out, "  %-12s %12s  ", seep_format_count(site->elsewhere).text,
                seep_format_bytes(site->elsewhere_bytes).text);
        error = put_place(print, i);
        fputc('\n', print->out);
    }
    return error;
}

static struct seep_error *put_pages(const struct print *print) {
    const struct seep_history *history = print->history;
    const struct seep_history_bin *bin = &history->bins[history->pages_bin];
    uint64_t held = bin->pages << 12;
    fprintf(print->out,
            "\npages  most lay idle at %s: %s live in %s of pages; %s of %s regions of 2 MiB nearly empty\n",
            seep_format_duration((int64_t)(history->pages_bin + 1) * history->bin_ns).text,
            seep_format_bytes(positive(bin->live_bytes)).text, seep_format_bytes(held).text,
            seep_format_count(history->nearly_empty).text, seep_format_count(bin->regions).text);
    struct seep_error *error = NULL;
    if (history->nr_pins)
        fprintf(print->out, "  %-10s %10s %12s %12s  held by\n", "regions", "alone", "blocks", "bytes");
    error = find_alike(print, history->pins, sizeof(*history->pins), rows_shown(print, history->nr_pins));
    for (size_t i = 0; !error && i < rows_shown(print, history->nr_pins); i++) {
        const struct seep_history_pin *pin = &history->pins[i];
        fprintf(print->out, "  %-10s %10s %12s %12s  ", seep_format_count(pin->regions).text,
                seep_format_count(pin->alone).text, seep_format_count(pin->blocks).text,
                seep_format_bytes(pin->bytes).text);
        error = put_place(print, pin->site);
        fputc('\n', print->out);
    }
    if (!error)
        put_more(print, history->nr_pins);
    return error;
}

static struct seep_error *put_process(const struct print *print) {
    fputs("process: ", print->out);
    seep_put_escaped(print->out, print->profile->process.name);
    const struct seep_totals *totals = &print->profile->totals;
    fprintf(print->out, ", pid %" PRIu32 ", %s", print->profile->process.pid,
            seep_format_duration(print->profile->process.duration_ns).text);
    if (totals->peak_bytes)
        fprintf(print->out, ", peak %s%s", totals->peak_exact ? "" : "at least ",
                seep_format_bytes(totals->peak_bytes).text);
    if (print->history->recorded)
        fprintf(print->out, ", %zu part%s of %s\n", print->history->nr_bins,
                seep_plural(print->history->nr_bins), seep_format_duration(print->history->bin_ns).text);
    else
        fprintf(print->out, "; at %" PRIu32 " snapshots and the end\n", print->profile->nr_snapshots);
    put_timeline(print);
    struct seep_error *error = put_sites(print);
    if (!print->history->recorded)
        return error;
    if (!error)
        error = put_lifetimes(print);
    if (!error)
        error = put_resizes(print);
    if (!error)
        error = put_handovers(print);
    if (!error && print->report->pages)
        error = put_pages(print);
    return error;
}

struct seep_error *seep_history_text(FILE *to, const struct seep_history_report *report) {
    const struct seep_view *view = report->view;
    struct seep_style style = seep_style_of(to);
    struct seep_wrap wrap;
    FILE *out = seep_wrap_begin(&wrap, to, &style);
    struct seep_error *error = NULL;
    for (size_t p = 0; !error && p < view->nr_processes; p++) {
        struct print print = {.out = out,
                              .report = report,
                              .profile = view->session->profiles[view->first_process + p],
                              .history = &report->histories[view->first_process + p],
                              .process = p,
                              .width = style.width};
        if (!print.history->nr_bins)
            continue;
        if (p)
            fputc('\n', out);
        print.alike = calloc((size_t)print.history->nr_sites + 1, sizeof(*print.alike));
        error = print.alike ? put_process(&print) : seep_error_no_memory();
        free(print.alike);
    }
    return seep_wrap_end(&wrap, error);
}

// SPDX-License-Identifier: BSD-2-Clause
// What grows, as text: live and resident memory of each process, when they come to the limit, and the sites
// that grow without bound. Nothing where there were no looks while the program ran.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "base/words.h"
#include "output/format.h"
#include "growth/snapshots.h"
#include "output/report_text.h"
#include "view/summary.h"
#include "profile/verdict.h"

static uint64_t size_of(double bytes) {
    double positive = fabs(bytes);
    return positive >= 0x1p63 ? INT64_MAX : (uint64_t)positive;
}

// By the minute, but for what is less than a byte of one.
static struct seep_number text_rate(double bytes_per_s) {
    struct seep_number number;
    bool slow = fabs(bytes_per_s) * 60 < 1;
    struct seep_number size = seep_format_bytes(size_of(bytes_per_s * (slow ? 3600 : 60)));
    snprintf(number.text, sizeof(number.text), "%c%.30s/%s", bytes_per_s < 0 ? '-' : '+', size.text,
             slow ? "h" : "min");
    return number;
}

static struct seep_number percent(double share) {
    struct seep_number number;
    // "100 %" is never sure.
    snprintf(number.text, sizeof(number.text), share > 0.999 ? "over 99.9%% sure" : "%.1f%% sure",
             share * 100);
    return number;
}

static struct seep_number time_left(double seconds) {
    struct seep_number days;
    if (seconds < 2 * 86400)
        return seep_format_duration((int64_t)(seconds * 1e9));
    snprintf(days.text, sizeof(days.text), "%.0f days", fmin(seconds / 86400, 1e6));
    return days;
}

static const char *words(enum seep_trend_verdict verdict) {
    static const char *const words[SEEP_TREND_NR] = {
        [SEEP_TREND_UNKNOWN] = "not known",
        [SEEP_TREND_STEADY] = "steady",
        [SEEP_TREND_GROWING] = "growing",
        [SEEP_TREND_PLATEAU] = "grew and stopped",
        [SEEP_TREND_SAWTOOTH] = "rises and falls",
        [SEEP_TREND_SHRINKING] = "shrinking",
        [SEEP_TREND_NONE] = "no trend",
    };
    return words[verdict];
}

static void put_line(FILE *out, const char *what, const struct seep_growth_of *growth) {
    const struct seep_trend *trend = &growth->trend;
    bool moves = trend->verdict == SEEP_TREND_GROWING || trend->verdict == SEEP_TREND_SHRINKING;
    fprintf(out, "  %-15s %12s %19s   %s", what, seep_format_bytes(growth->first_bytes).text,
            seep_format_bytes(growth->last_bytes).text, words(trend->verdict));
    if (trend->verdict == SEEP_TREND_NONE)
        fprintf(out, ", between %s and %s", seep_format_bytes(growth->least_bytes).text,
                seep_format_bytes(growth->most_bytes).text);
    if (moves)
        fprintf(out, " %s (%s to %s), %s", text_rate(trend->slope).text, text_rate(trend->slope_low).text,
                text_rate(trend->slope_high).text, percent(trend->confidence).text);
    fputc('\n', out);
}

static void put_limit(FILE *out, const struct seep_view *view, uint32_t process,
                      const struct seep_growth *growth) {
    const struct seep_profile *profile = view->session->profiles[process];
    uint64_t left, limit = seep_view_limit(view, process, &left);
    if (!limit)
        return;
    const struct seep_growth_of *what =
        growth->rss.trend.verdict == SEEP_TREND_GROWING ? &growth->rss : &growth->live;
    double seconds = seep_growth_seconds(what, left);
    fprintf(out, "  %-15s %12s %19s   ", "limit", seep_format_bytes(limit).text, "");
    if (seconds >= 0)
        fprintf(out, "reached in %s at that rate", time_left(seconds).text);
    else
        fputs("not in sight", out);
    fputs(" (", out);
    seep_put_escaped(out, view->options.limit_bytes ? "--limit"
                          : profile->limit          ? profile->limit
                                                    : "as it was found");
    fputs(")\n", out);
}

static void put_process(FILE *out, const struct seep_view *view, uint32_t process,
                        const struct seep_style *style) {
    const struct seep_profile *profile = view->session->profiles[process];
    const struct seep_growth *growth = profile->growth;
    uint32_t nr = profile->nr_snapshots;
    int64_t span_ns = seep_time_less(profile->snapshots[nr - 1].at_ns, profile->snapshots[0].at_ns);
    fprintf(out, "\n%s%-17s %12s %19s%s   %s snapshot%s in %s", seep_style_bold(style), "growth", "first",
            "last", seep_style_off(style), seep_format_count(nr).text, seep_plural(nr),
            seep_format_duration(span_ns).text);
    if (view->nr_processes > 1)
        fprintf(out, " of pid %" PRIu32, profile->process.pid);
    fputc('\n', out);
    enum seep_growth_unknown unknown = seep_growth_why_unknown(profile);
    if (unknown == SEEP_GROWTH_STOOD_STILL) {
        fprintf(out, "  too few looks with the process running: %u are needed to say what grows\n",
                SEEP_TREND_LEAST);
        return;
    }
    if (unknown == SEEP_GROWTH_TOO_SHORT) {
        fprintf(out, "  too short a time to say what grows: at least %s, a minute is good\n",
                seep_format_duration(growth->least_ns).text);
        return;
    }
    if (unknown == SEEP_GROWTH_TOO_FEW) {
        fprintf(out,
                "  too few snapshots to say what grows: %u are needed, 20 are good (a larger --count, or a "
                "longer look)\n",
                SEEP_TREND_LEAST);
        return;
    }
    put_line(out, "live", &growth->live);
    if (growth->rss.trend.verdict)
        put_line(out, "resident", &growth->rss);
    put_limit(out, view, process, growth);
    fprintf(out, "  sites:");
    const char *comma = " ";
    for (int verdict = SEEP_TREND_NR - 1; verdict > SEEP_TREND_UNKNOWN; verdict--) {
        static const int order[SEEP_TREND_NR] = {0,
                                                 SEEP_TREND_STEADY,
                                                 SEEP_TREND_NONE,
                                                 SEEP_TREND_SHRINKING,
                                                 SEEP_TREND_SAWTOOTH,
                                                 SEEP_TREND_PLATEAU,
                                                 SEEP_TREND_GROWING};
        uint32_t nr_sites = growth->nr_verdicts[order[verdict]];
        if (nr_sites || order[verdict] == SEEP_TREND_GROWING)
            fprintf(out, "%s%s %s", comma, nr_sites ? seep_format_count(nr_sites).text : "none",
                    words((enum seep_trend_verdict)order[verdict]));
        comma = ", ";
    }
    fputc('\n', out);
}

#define SNAPSHOTS_SHOWN 20u

// Each of them, or as many as fit, spread over the whole; the first and the last always.
static struct seep_error *put_snapshots(FILE *out, const struct seep_view *view, uint32_t process,
                                        const struct seep_style *style) {
    const struct seep_profile *profile = view->session->profiles[process];
    struct seep_snapshot_live *totals = seep_snapshots_totals(profile);
    if (!totals)
        return seep_error_no_memory();
    uint32_t nr = profile->nr_snapshots, shown = SEEP_MIN(nr, SNAPSHOTS_SHOWN);
    fprintf(out, "\n%ssnapshot %18s %15s %15s %10s%s\n", seep_style_bold(style), "at", "blocks", "bytes",
            "resident", seep_style_off(style));
    for (uint32_t i = 0; i < shown; i++) {
        uint32_t at = shown < 2 ? 0 : (uint32_t)((uint64_t)i * (nr - 1) / (shown - 1));
        const struct seep_snapshot *snapshot = &profile->snapshots[at];
        fprintf(out, "  @%-6u %18s %15s %15s %10s\n", at + 1, seep_format_duration(snapshot->at_ns).text,
                seep_format_count(totals[at].blocks).text, seep_format_count(totals[at].bytes).text,
                snapshot->rss_bytes ? seep_format_bytes(snapshot->rss_bytes).text : "-");
    }
    if (shown < nr)
        fprintf(out, "  %u more between them: --json has all\n", nr - shown);
    free(totals);
    return NULL;
}

// The place that the first lines name, too.
static struct seep_error *put_growing(FILE *out, struct seep_view *view, const struct seep_view_row *row) {
    const char *place;
    struct seep_error *error = seep_summary_place(view, row->node, &place);
    if (error)
        return error;
    fprintf(out, "    %14s   ", text_rate(row->growth->trend.slope).text);
    seep_put_escaped(out, place ? place : "(stack not recorded)");
    if (view->nr_processes > 1)
        fprintf(out, " in pid %" PRIu32, view->session->profiles[row->growth_process]->process.pid);
    fputc('\n', out);
    return NULL;
}

static bool grows(const struct seep_growth *growth) {
    return growth->nr_verdicts[SEEP_TREND_GROWING] || growth->live.trend.verdict == SEEP_TREND_GROWING ||
           seep_growth_is_beside_heap(growth);
}

struct seep_error *seep_text_growth(FILE *out, struct seep_view *view, const struct seep_style *style) {
    size_t nr = 0;
    struct seep_error *error = NULL;
    for (size_t p = 0; !error && p < view->nr_processes; p++) {
        if (!seep_text_profile(view, p)->growth)
            continue;
        put_process(out, view, (uint32_t)(view->first_process + p), style);
        // Of a service with many workers those of the ones that matter.
        if (view->options.sort == SEEP_SORT_GROWTH &&
            (view->nr_processes == 1 || grows(seep_text_profile(view, p)->growth)))
            error = put_snapshots(out, view, (uint32_t)(view->first_process + p), style);
        nr++;
    }
    // In their own order they are the rows below.
    if (error || !nr || view->options.sort == SEEP_SORT_GROWTH)
        return error;
    for (size_t i = 0; !error && i < view->nr_growing; i++)
        error = put_growing(out, view, &view->growing[i]);
    if (!error && view->nr_growing < view->nr_growing_all)
        fprintf(out, "    and %s more: --sort growth shows them\n",
                seep_format_count(view->nr_growing_all - view->nr_growing).text);
    return error;
}

void seep_text_row_growth(FILE *out, const struct seep_view *view, const struct seep_view_row *row) {
    const struct seep_growth_of *growth = row->growth;
    if (!growth || growth->trend.verdict <= SEEP_TREND_STEADY)
        return;
    fprintf(out, "    %s: %s to %s byte%s", words(growth->trend.verdict),
            seep_format_count(growth->first_bytes).text, seep_format_count(growth->last_bytes).text,
            seep_plural(growth->last_bytes));
    if (growth->trend.verdict == SEEP_TREND_GROWING) {
        uint64_t left, limit = seep_view_limit(view, row->growth_process, &left);
        fprintf(out, ", %s (%s to %s), %s", text_rate(growth->trend.slope).text,
                text_rate(growth->trend.slope_low).text, text_rate(growth->trend.slope_high).text,
                percent(growth->trend.confidence).text);
        if (limit)
            fprintf(out, "; takes what is left in %s", time_left(seep_growth_seconds(growth, left)).text);
    }
    if (view->nr_processes > 1)
        fprintf(out, " (pid %" PRIu32 ")", view->session->profiles[row->growth_process]->process.pid);
    fputc('\n', out);
}

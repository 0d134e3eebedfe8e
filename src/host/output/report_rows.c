// SPDX-License-Identifier: BSD-2-Clause
//
// The rows of the text report: sites with their stacks, or one line per function, file, thread, ...
// Columns are as wide as their widest cell, so that digits stand under digits. Figures that are not
// known are "-".
#include <inttypes.h>
#include <string.h>

#include "base/words.h"
#include "growth/growth.h"
#include "names/library_code.h"
#include "view/exception_pool.h"
#include "output/report_text.h"
#include "profile/verdict.h"
#include "view/sampling_error.h"
#include "view/stacks.h"

static int width_of(const char *text, int width) {
    return SEEP_MAX((int)strlen(text), width);
}

static const char *order_words(int sort) {
    static const char *const words[SEEP_SORT_NR] = {
        [SEEP_SORT_LIVE] = "most live bytes first",
        [SEEP_SORT_LEAKED] = "most leaked bytes first",
        [SEEP_SORT_ALLOCATIONS] = "most allocations first",
        [SEEP_SORT_BYTES] = "most bytes allocated first",
        [SEEP_SORT_PEAK] = "most live at the peak first",
        [SEEP_SORT_TEMPORARY] = "most temporary allocations first",
        [SEEP_SORT_SIZE] = "biggest blocks first",
        [SEEP_SORT_BLOCKS] = "most live blocks first",
        [SEEP_SORT_AGE] = "oldest first",
        [SEEP_SORT_EXIT] = "most bytes freed only at exit first",
        [SEEP_SORT_GROWTH] = "fastest growth first",
    };
    return sort >= 0 && sort < SEEP_SORT_NR ? words[sort] : "";
}

// Only the rows that grow without bound.
static bool only_growing(const struct seep_view *view) {
    return view->options.sort == SEEP_SORT_GROWTH && view->options.by == SEEP_BY_SITE && view->options.top;
}

// Only the rows of which something was freed at once.
static bool only_temporary(const struct seep_view *view) {
    return view->options.sort == SEEP_SORT_TEMPORARY && view->options.top &&
           (view->nr_rows_temporary || view->all.known & SEEP_KNOWN_TEMPORARY);
}

// In an order by live bytes, rows that hold nothing come last and only get in the way. They are named
// in one line, and shown to those who ask for all.
struct seep_text_extent seep_text_extent(const struct seep_view *view) {
    if (only_growing(view))
        return (struct seep_text_extent){SEEP_MIN(view->nr_rows, view->nr_growing_all), view->nr_growing_all,
                                         view->nr_rows_all - view->nr_growing_all};
    if (only_temporary(view))
        return (struct seep_text_extent){SEEP_MIN(view->nr_rows, view->nr_rows_temporary),
                                         view->nr_rows_temporary,
                                         view->nr_rows_all - view->nr_rows_temporary};
    bool by_live = view->options.sort == SEEP_SORT_LIVE || view->options.sort == SEEP_SORT_LEAKED;
    if (!by_live || view->live_is_net || view->nr_rows_live == 0 || view->options.top == 0)
        return (struct seep_text_extent){view->nr_rows, view->nr_rows_all, 0};
    return (struct seep_text_extent){SEEP_MIN(view->nr_rows, view->nr_rows_live), view->nr_rows_live,
                                     view->nr_rows_all - view->nr_rows_live};
}

static void put_number_of_rows(FILE *out, const struct seep_view *view) {
    struct seep_text_extent extent = seep_text_extent(view);
    const char *by = seep_view_by_name(view->options.by);
    if (extent.nr_shown < extent.nr_all)
        fprintf(out, "%s of ", seep_format_count(extent.nr_shown).text);
    fprintf(out, "%s %s%s", seep_format_count(extent.nr_all).text, by,
            extent.nr_all == 1           ? ""
            : strcmp(by, "process") == 0 ? "es"
                                         : "s");
    if (only_growing(view))
        fputs(extent.nr_all == 1 ? " that grows without bound" : " that grow without bound", out);
    else if (extent.nr_idle)
        fputs(only_temporary(view) ? " with temporary allocations" : " with live blocks", out);
    if (view->filtered)
        fputs(extent.nr_all == 1 ? " that matches" : " that match", out);
}

// As each site is judged by itself.
static uint64_t nr_growing_sites(const struct seep_view *view) {
    uint64_t nr = 0;
    for (size_t p = 0; p < view->nr_processes; p++) {
        const struct seep_growth *growth = seep_text_profile(view, p)->growth;
        nr += growth ? growth->nr_verdicts[SEEP_TREND_GROWING] : 0;
    }
    return nr;
}

static void put_heading(FILE *out, const struct seep_view *view, const struct seep_style *style) {
    fputc('\n', out);
    if (only_growing(view) && seep_text_extent(view).nr_all == 0) {
        bool beside = false;
        for (size_t p = 0; p < view->nr_processes; p++) {
            const struct seep_growth *growth = seep_text_profile(view, p)->growth;
            beside |= growth && seep_growth_is_beside_heap(growth);
        }
        fputs(beside ? "No place of the heap grows without bound, but resident memory does: by mappings, "
                       "stacks, free memory of\nthe heap that cannot be used, or blocks that are written to "
                       "for the "
                       "first time. 'seep report PID --rss' says what it is.\n"
              : seep_growth_is_known(view->session)
                  ? "Nothing grows without bound, as far as the snapshots go.\n"
                  : "Whether anything grows cannot be told from so little.\n",
              out);
        return;
    }
    if (view->nr_rows_all == 0) {
        fputs(view->filtered  ? "Nothing matches the filters.\n"
              : view->sampled ? "No allocation was among the samples.\n"
                              : "No allocation was seen.\n",
              out);
        return;
    }
    if (only_temporary(view) && !view->nr_rows_temporary) {
        fprintf(out, "No %sallocation was freed at once.\n", view->sampled ? "recorded " : "");
        return;
    }
    if (view->totals.live_blocks == 0 && !view->filtered && !only_growing(view))
        fprintf(out, "Nothing is live: every %sblock was freed.%s\n", view->sampled ? "recorded " : "",
                view->options.sort == SEEP_SORT_ALLOCATIONS ? " The busiest places:" : "");
    fputs(seep_style_bold(style), out);
    put_number_of_rows(out, view);
    bool own_peaks = view->options.sort == SEEP_SORT_PEAK && !(view->rows[0].known & SEEP_KNOWN_AT_PEAK);
    fprintf(out, "%s, %s\n", seep_style_off(style),
            own_peaks ? "highest peak of its own first" : order_words(view->options.sort));
    if (own_peaks)
        fputs("  What was live at the peak of the process was not kept. A recording knows it: "
              "'seep run --mode record'.\n",
              out);
    if (only_growing(view) && !view->filtered && nr_growing_sites(view) != view->nr_growing_all)
        fputs("  Sites whose stacks read the same are one row, and are judged together.\n", out);
    if (view->options.sort == SEEP_SORT_PEAK && view->nr_processes > 1)
        fputs("  The peak of each process is its own: they were at different times.\n", out);
    if (view->live_is_net)
        fputs("  Live is allocated minus freed by the same thread: below zero, it freed what others "
              "allocated.\n",
              out);
}

static void put_idle(FILE *out, const struct seep_view *view) {
    struct seep_text_extent extent = seep_text_extent(view);
    uint64_t idle = extent.nr_idle;
    const char *more = extent.nr_shown ? " more" : "";
    if (idle && view->options.sort == SEEP_SORT_GROWTH && !seep_growth_is_known(view->session))
        return;
    if (idle && view->options.sort == SEEP_SORT_GROWTH)
        fprintf(out, "\n%s%s do%s not grow without bound: --top 0 shows %s\n", seep_format_count(idle).text,
                more, idle == 1 ? "es" : "", idle == 1 ? "it" : "them");
    else if (idle && only_temporary(view))
        fprintf(out, "\n%s%s ha%s none: --top 0 shows %s\n", seep_format_count(idle).text, more,
                idle == 1 ? "s" : "ve", idle == 1 ? "it" : "them");
    else if (idle)
        fprintf(out, "\n%s%s hold%s nothing now%s: --sort allocations shows %s\n",
                seep_format_count(idle).text, more, idle == 1 ? "s" : "",
                view->all.suppressed_blocks ? ", or only what is suppressed" : "", idle == 1 ? "it" : "them");
}

// ---- figures as text ----

static struct seep_number count_or_dash(const struct seep_view_row *row, uint32_t bit, uint64_t value) {
    return row->known & bit ? seep_format_count(value) : (struct seep_number){"-"};
}

// What a row is led by: what is live, or with --sort peak what was live then.
struct lead {
    int64_t bytes;
    int64_t blocks;
    struct seep_number share;
    const char *then; // " live", " at the peak"
    const char *of;   // what the share is of
};

static struct seep_number live_share(const struct seep_view *view, const struct seep_view_row *row);

static int64_t signed_of(uint64_t value) {
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static bool leads_by_peak(const struct seep_view *view) {
    return view->options.sort == SEEP_SORT_PEAK && view->all.known & SEEP_KNOWN_AT_PEAK;
}

static bool leads_by_leaks(const struct seep_view *view) {
    uint64_t blocks = 0;
    for (uint32_t i = SEEP_KIND_LOST; i < SEEP_KIND_NR; i++)
        blocks += view->all.kinds.blocks[i];
    return view->options.sort == SEEP_SORT_LEAKED && blocks;
}

static struct lead lead_by_leaks(const struct seep_view *view, const struct seep_view_row *row) {
    const uint64_t *bytes = row->kinds.bytes, *blocks = row->kinds.blocks, *all = view->all.kinds.bytes;
    uint64_t leaked = bytes[SEEP_KIND_LOST] + bytes[SEEP_KIND_INDIRECT];
    uint64_t leaked_all = all[SEEP_KIND_LOST] + all[SEEP_KIND_INDIRECT];
    return (struct lead){signed_of(leaked), signed_of(blocks[SEEP_KIND_LOST] + blocks[SEEP_KIND_INDIRECT]),
                         leaked_all ? seep_format_share(leaked, leaked_all) : (struct seep_number){"-"},
                         " leaked", "leaks"};
}

static struct lead lead_by_live(const struct seep_view *view, const struct seep_view_row *row) {
    return (struct lead){row->live_bytes, row->live_blocks, live_share(view, row), " live", "live"};
}

static struct lead lead_of(const struct seep_view *view, const struct seep_view_row *row) {
    if (leads_by_leaks(view))
        return lead_by_leaks(view, row);
    if (!leads_by_peak(view))
        return lead_by_live(view, row);
    uint64_t all = view->all.counters.at_peak_bytes;
    uint64_t bytes = row->counters.at_peak_bytes;
    return (struct lead){signed_of(bytes), signed_of(row->counters.at_peak_blocks),
                         all ? seep_format_share(bytes, all) : (struct seep_number){"-"}, " at the peak",
                         "the peak"};
}

// What the head of a site says: what the sites are sorted by.
struct head {
    int64_t value;
    const char *unit; // "byte", "allocation"
    const char *then; // " live", "": "10 bytes live", "3 allocations"
    int64_t nr;       // "in 3 blocks"; below 0 where live is net
    const char *in;   // "block"; NULL: not said
    struct seep_number share;
    const char *of;
    bool is_live;
};

static struct head head_by(uint64_t value, uint64_t all, const char *unit, const char *then, const char *of) {
    return (struct head){.value = signed_of(value),
                         .unit = unit,
                         .then = then,
                         .share = all ? seep_format_share(value, all) : (struct seep_number){"-"},
                         .of = of};
}

static struct head head_of(const struct seep_view *view, const struct seep_view_row *row) {
    const struct seep_counters *c = &row->counters, *all = &view->all.counters;
    uint32_t known = view->all.known;
    if (view->options.sort == SEEP_SORT_ALLOCATIONS && known & SEEP_KNOWN_ALLOCATIONS)
        return head_by(c->allocations, all->allocations, "allocation", "", "allocations");
    if (view->options.sort == SEEP_SORT_TEMPORARY && known & SEEP_KNOWN_TEMPORARY)
        return head_by(c->temporary, all->temporary, "allocation", " freed at once", "those freed at once");
    if (view->options.sort == SEEP_SORT_BYTES && known & SEEP_KNOWN_BYTES) {
        struct head head =
            head_by(c->allocated_bytes, all->allocated_bytes, "byte", " allocated", "allocated bytes");
        head.nr = signed_of(c->allocations);
        head.in = "allocation";
        return head;
    }
    // Behind what leaks there is what does not.
    bool by_leaks =
        leads_by_leaks(view) && (row->kinds.blocks[SEEP_KIND_LOST] || row->kinds.blocks[SEEP_KIND_INDIRECT]);
    bool by_live = !by_leaks && !leads_by_peak(view);
    struct lead lead = by_live ? lead_by_live(view, row) : lead_of(view, row);
    return (struct head){.value = lead.bytes,
                         .unit = "byte",
                         .then = lead.then,
                         .nr = lead.blocks,
                         .in = "block",
                         .share = lead.share,
                         .of = lead.of,
                         .is_live = by_live};
}

static struct seep_number live_share(const struct seep_view *view, const struct seep_view_row *row) {
    if (view->live_is_net || row->live_bytes < 0 || view->all.live_bytes <= 0)
        return (struct seep_number){"-"};
    return seep_format_share((uint64_t)row->live_bytes, (uint64_t)view->all.live_bytes);
}

// ---- one site ----

static void put_frame_name(FILE *out, const struct seep_view_frame *frame) {
    if (!frame->function && strcmp(frame->module, "[jit]") == 0) {
        fprintf(out, "0x%" PRIx64, frame->offset);
    } else if (!frame->function) {
        seep_put_escaped(out, frame->module);
        fprintf(out, "+0x%" PRIx64, frame->offset);
    } else {
        seep_put_escaped(out, frame->name);
        if (!frame->file && frame->function_offset)
            fprintf(out, "+0x%" PRIx64, frame->function_offset);
    }
}

// `nr_inside`: frames below it that it stands for.
static void put_frame(FILE *out, const struct seep_view_frame *frame, size_t nr_inside,
                      const struct seep_style *style) {
    fputs("      ", out);
    put_frame_name(out, frame);
    fputs(seep_style_dim(style), out);
    seep_put_source(out, frame->file, frame->line);
    if (strcmp(frame->module, "[jit]") == 0)
        fputs(" [jit]", out);
    else
        seep_put_module(out, frame->module);
    fputs(seep_style_off(style), out);
    if (frame->inlined)
        fputs(" (inlined)", out);
    if (nr_inside)
        fprintf(out, " (+%s below)", seep_format_count(nr_inside).text);
    if (frame->fold_times > 1 && frame->fold_frames == 1)
        fprintf(out, " (×%s)", seep_format_count(frame->fold_times).text);
    fputc('\n', out);
    if (frame->fold_times > 1 && frame->fold_frames > 1)
        fprintf(out, "      (×%s: the %s frames above)\n", seep_format_count(frame->fold_times).text,
                seep_format_count(frame->fold_frames).text);
}

static bool is_library(const struct seep_view_frame *frame) {
    return frame->function && seep_function_is_std(frame->function, frame->path);
}

bool seep_text_is_inside(const struct seep_view *view, const struct seep_view_frame *frames, size_t nr,
                         size_t i) {
    bool cycle = frames[i].folded || frames[i].fold_times > 1;
    return !view->options.full_stacks && !cycle && i + 1 < nr && !frames[i + 1].folded &&
           frames[i + 1].fold_times <= 1 && is_library(&frames[i]) && is_library(&frames[i + 1]);
}

struct seep_error *seep_text_stack(FILE *out, struct seep_view *view, const struct seep_view_row *row,
                                   const struct seep_style *style) {
    const struct seep_view_frame *frames = NULL;
    size_t nr = 0;
    uint32_t more = 0;
    struct seep_error *error = seep_view_frames(view, row, &frames, &nr, &more);
    if (error)
        return error;
    // Of frames of the C++ library the one that was called stands for those below it.
    size_t nr_inside = 0;
    for (size_t i = 0; i < nr; i++) {
        if (frames[i].left_out)
            fprintf(out, "      ... %s frame%s left out here\n", seep_format_count(frames[i].left_out).text,
                    seep_plural(frames[i].left_out));
        bool inside = seep_text_is_inside(view, frames, nr, i);
        nr_inside += inside;
        if (frames[i].folded || inside)
            continue;
        put_frame(out, &frames[i], nr_inside, style);
        nr_inside = 0;
    }
    if (row->cut >= 0)
        fprintf(out, "      (cut here: %s)\n", seep_cut_name((uint32_t)row->cut));
    else if (nr == 0)
        fputs("      (stack not recorded)\n", out);
    return NULL;
}

static void put_sizes(FILE *out, const struct seep_view_row *row) {
    const struct seep_counters *c = &row->counters;
    if (!(row->known & SEEP_KNOWN_SIZES) || !c->allocations || c->size_min > c->size_max)
        return;
    if (c->size_min == c->size_max) {
        fprintf(out, "; each %s byte%s", seep_format_count(c->size_min).text, seep_plural(c->size_min));
        return;
    }
    fprintf(out, "; sizes %s min, %s mean, %s max", seep_format_count(c->size_min).text,
            seep_format_count(c->allocated_bytes / c->allocations).text, seep_format_count(c->size_max).text);
}

static void put_history(FILE *out, const struct seep_view *view, const struct seep_view_row *row) {
    const struct seep_counters *c = &row->counters;
    fprintf(out, "    %s", seep_via_name(row->via));
    if (!(row->known & SEEP_KNOWN_ALLOCATIONS)) {
        fputs(": with this filter only what is live is counted, not what was allocated or freed before\n",
              out);
        return;
    }
    fprintf(out, ": %s allocation%s, %s byte%s", seep_format_count(c->allocations).text,
            seep_plural(c->allocations), seep_format_count(c->allocated_bytes).text,
            seep_plural(c->allocated_bytes));
    put_sizes(out, row);
    fprintf(out, "; %s freed", c->frees ? seep_format_count(c->frees).text : "none");
    if (c->temporary)
        fprintf(out, ", %s of them at once", seep_format_count(c->temporary).text);
    if (row->known & SEEP_KNOWN_LIVE && row->live_blocks > 0 && !head_of(view, row).is_live)
        fprintf(out, "; %s byte%s live in %s block%s", seep_format_signed(row->live_bytes).text,
                row->live_bytes == 1 ? "" : "s", seep_format_signed(row->live_blocks).text,
                row->live_blocks == 1 ? "" : "s");
    if (row->known & SEEP_KNOWN_AT_PEAK && !leads_by_peak(view))
        fprintf(out, "; %s byte%s at the peak", seep_format_count(c->at_peak_bytes).text,
                seep_plural(c->at_peak_bytes));
    else if (row->known & SEEP_KNOWN_PEAK && c->peak_bytes)
        fprintf(out, "; peak %s%s byte%s", row->peak_exact ? "" : "at least ",
                seep_format_count(c->peak_bytes).text, seep_plural(c->peak_bytes));
    if (view->sampled)
        fprintf(out, "; estimated from %s sample%s, ±%.0f%%", seep_format_count(c->peak_bytes).text,
                seep_plural(c->peak_bytes), seep_sample_error_percent(c->peak_bytes));
    fputc('\n', out);
}

static void put_held(FILE *out, uint64_t blocks, const char *kind, const char *text) {
    fprintf(out, "    held by (%s block%s%s%s): ", seep_format_count(blocks).text, seep_plural(blocks),
            kind ? ", " : "", kind ? kind : "");
    seep_put_escaped(out, text);
    fputc('\n', out);
}

// Of each class those that hold most blocks.
static struct seep_error *put_each_held(FILE *out, struct seep_view *view, const struct seep_view_row *row,
                                        const struct seep_held *held, uint32_t nr) {
    for (uint32_t i = 0; i < nr;) {
        uint8_t kind = held[i].kind;
        const char *of_kind = seep_view_nr_kinds(&row->kinds) > 1 ? seep_text_kind(kind) : NULL;
        uint64_t left = row->kinds.blocks[kind];
        for (; i < nr && held[i].kind == kind; i++) {
            const char *text = NULL;
            struct seep_error *error = seep_view_chain(view, row->held_process, held[i].chain, &text, NULL);
            if (error)
                return error;
            if (!text)
                continue;
            put_held(out, held[i].blocks, of_kind, text);
            left -= held[i].blocks;
        }
        if (left)
            put_held(out, left, of_kind, "others");
    }
    return NULL;
}

static struct seep_error *put_holder(FILE *out, struct seep_view *view, const struct seep_view_row *row) {
    uint32_t nr;
    const struct seep_held *held = seep_view_held(view, row, &nr);
    if (nr > 1)
        return put_each_held(out, view, row, held, nr);
    const char *held_by = NULL;
    struct seep_error *error = seep_view_chain(view, row->held_process, row->held, &held_by, NULL);
    if (error || !held_by)
        return error;
    if (row->held_kind == row->kind)
        fputs("    held by: ", out);
    else
        fprintf(out, "    held by, the %s: ", seep_text_kind(row->held_kind));
    seep_put_escaped(out, held_by);
    fputc('\n', out);
    return NULL;
}

// Which of its blocks are what, where that is not the same of all: the worst first.
static void put_kinds(FILE *out, const struct seep_view_kinds *kinds) {
    if (seep_view_nr_kinds(kinds) < 2)
        return;
    const char *before = "    of it ";
    for (uint32_t i = 1; i <= SEEP_KIND_NR; i++) {
        uint32_t kind = i % SEEP_KIND_NR;
        if (!kinds->blocks[kind])
            continue;
        fprintf(out, "%s%s: %s byte%s in %s block%s", before, seep_text_kind(kind),
                seep_format_count(kinds->bytes[kind]).text, seep_plural(kinds->bytes[kind]),
                seep_format_count(kinds->blocks[kind]).text, seep_plural(kinds->blocks[kind]));
        before = "; ";
    }
    fputc('\n', out);
}

// Of a row that has lost blocks: they and what hangs under them.
static bool put_owned(FILE *out, const struct seep_view_row *row) {
    if (!row->kinds.blocks[SEEP_KIND_LOST] ||
        row->owned.bytes <= (uint64_t)SEEP_MAX(row->leaked_bytes, INT64_C(0)))
        return false;
    fprintf(out, "    leaks %s byte%s in %s blocks: its own, and those that only they lead to\n",
            seep_format_count(row->owned.bytes).text, seep_plural(row->owned.bytes),
            seep_format_count(row->owned.blocks).text);
    return true;
}

static void put_retained(FILE *out, const struct seep_view_row *row) {
    if (row->live_bytes >= 0 && row->retained_bytes > (uint64_t)row->live_bytes)
        fprintf(out, "    retains %s byte%s: its blocks and what only they hold\n",
                seep_format_count(row->retained_bytes).text, seep_plural(row->retained_bytes));
}

static void put_suppressed(FILE *out, const struct seep_view *view, const struct seep_view_row *row) {
    if (!row->suppressed_by)
        return;
    const struct seep_suppression *by = &view->session->suppressions[row->suppressed_by - 1];
    if (row->suppressed_blocks == row->live_blocks)
        fputs("    suppressed", out);
    else
        fprintf(out, "    of it suppressed: %s byte%s in %s block%s",
                seep_format_signed(row->suppressed_bytes).text, seep_plural((uint64_t)row->suppressed_bytes),
                seep_format_signed(row->suppressed_blocks).text,
                seep_plural((uint64_t)row->suppressed_blocks));
    fputs(", by ", out);
    seep_put_escaped(out, by->file);
    if (by->line)
        fprintf(out, ":%u", by->line);
    fputs(" ", out);
    seep_put_escaped(out, by->name);
    fputc('\n', out);
}

static void put_exit(FILE *out, const struct seep_view_row *row) {
    if (row->exit_blocks)
        fprintf(out, "    %s at exit: %s byte%s in %s block%s\n",
                row->exit_all ? "freed only" : "of it freed only", seep_format_count(row->exit_bytes).text,
                seep_plural(row->exit_bytes), seep_format_count(row->exit_blocks).text,
                seep_plural(row->exit_blocks));
}

static void put_shares(FILE *out, const struct seep_view *view, const struct seep_view_row *row) {
    if (view->nr_processes < 2 || seep_profile_is_kernel(seep_text_profile(view, 0)))
        return;
    fprintf(out, "    in %s process%s:", seep_format_count(row->nr_shares).text,
            seep_plural_es(row->nr_shares));
    uint32_t shown = SEEP_MIN(row->nr_shares, 6u);
    for (uint32_t i = 0; i < shown; i++)
        fprintf(out, "%s pid %" PRIu32 " has %s", i ? "," : "",
                view->session->profiles[row->shares[i].process]->process.pid,
                seep_format_signed(row->shares[i].live_bytes).text);
    if (shown < row->nr_shares)
        fprintf(out, ", and %s more", seep_format_count(row->nr_shares - shown).text);
    fputc('\n', out);
}

static void put_blocks(FILE *out, const struct seep_view *view, const struct seep_view_row *row) {
    if (!view->options.blocks)
        return;
    size_t shown =
        view->options.top ? (size_t)SEEP_MIN(view->options.top, (uint64_t)row->nr_blocks) : row->nr_blocks;
    for (size_t i = 0; i < shown; i++) {
        const struct seep_view_block *block = &row->blocks[i];
        fprintf(out, "      block 0x%012" PRIx64 "  %15s byte%s", block->address,
                seep_format_count(block->size).text, block->size == 1 ? " " : "s");
        if (block->age_ns >= 0)
            fprintf(out, "  age %s", seep_format_duration(block->age_ns).text);
        if (block->tid)
            fprintf(out, "  thread %" PRIu32, block->tid);
        if (block->kind)
            fprintf(out, "  %s", seep_text_kind(block->kind));
        if (view->nr_processes > 1)
            fprintf(out, "  pid %" PRIu32, view->session->profiles[block->process]->process.pid);
        fputc('\n', out);
    }
    if (shown < row->nr_blocks)
        fprintf(out, "      (%s more: --top 0)\n", seep_format_count(row->nr_blocks - shown).text);
    uint64_t nr_more = row->live_blocks > 0 ? (uint64_t)row->live_blocks : 0;
    nr_more -= SEEP_MIN(nr_more, row->nr_blocks);
    if (nr_more)
        fprintf(out, "      (%s more block%s live but %s not kept one by one)\n",
                seep_format_count(nr_more).text, nr_more == 1 ? " is" : "s are",
                nr_more == 1 ? "was" : "were");
}

struct seep_error *seep_text_sites(FILE *out, struct seep_view *view, const struct seep_style *style) {
    put_heading(out, view, style);
    size_t nr_shown = seep_text_extent(view).nr_shown;
    int rank_width = 0, value_width = 0, nr_width = 0;
    char rank[32];
    for (size_t i = 0; i < nr_shown; i++) {
        snprintf(rank, sizeof(rank), "#%zu", i + 1);
        rank_width = width_of(rank, rank_width);
        struct head head = head_of(view, &view->rows[i]);
        value_width = width_of(seep_format_signed(head.value).text, value_width);
        nr_width = width_of(seep_format_signed(head.nr).text, nr_width);
    }
    for (size_t i = 0; i < nr_shown; i++) {
        const struct seep_view_row *row = &view->rows[i];
        snprintf(rank, sizeof(rank), "#%zu", i + 1);
        struct head head = head_of(view, row);
        fprintf(out, "\n%s%-*s  %*s %s%s%s", seep_style_bold(style), rank_width, rank, value_width,
                seep_format_signed(head.value).text, head.unit, head.value == 1 ? " " : "s", head.then);
        if (head.in)
            fprintf(out, " in %*s %s%s", nr_width, seep_format_signed(head.nr).text, head.in,
                    head.nr == 1 ? " " : "s");
        if (head.share.text[0] != '-')
            fprintf(out, "  %6s of %s", head.share.text, head.of);
        if (row->oldest_ns >= 0)
            fprintf(out, "  oldest %s", seep_format_duration(row->oldest_ns).text);
        if (row->kind)
            fprintf(out, "  %s%s", seep_view_partly(row), seep_text_kind(row->kind));
        if (row->growth && row->growth->trend.verdict == SEEP_TREND_GROWING)
            fputs("  growing", out);
        fprintf(out, "%s\n", seep_style_off(style));
        bool is_pool = false, is_stdio = false, by_site = view->options.by == SEEP_BY_SITE;
        struct seep_error *error = by_site ? seep_is_exception_pool(view->stacks, row->node, &is_pool) : NULL;
        if (!error && by_site && !is_pool)
            error = seep_is_stdio_buffer(view->stacks, row->node, &is_stdio);
        if (is_stdio)
            fputs("    the buffer of a stream of stdio, made when it is first used\n", out);
        if (is_pool)
            fputs("    " SEEP_EXCEPTION_POOL ", in each program that uses it\n", out);
        bool owns = put_owned(out, row);
        put_history(out, view, row);
        put_kinds(out, &row->kinds);
        put_exit(out, row);
        seep_text_row_growth(out, view, row);
        if (!error)
            error = put_holder(out, view, row);
        if (error)
            return error;
        if (!owns)
            put_retained(out, row);
        put_suppressed(out, view, row);
        put_shares(out, view, row);
        error = seep_text_stack(out, view, row, style);
        if (error)
            return error;
        put_blocks(out, view, row);
    }
    put_idle(out, view);
    return NULL;
}

// ---- one line per row ----

#define NR_COLUMNS 6

static void make_cells(const struct seep_view *view, const struct seep_view_row *row,
                       struct seep_number ret_cells[NR_COLUMNS]) {
    const struct seep_counters *c = &row->counters;
    struct lead lead = lead_of(view, row);
    bool known = row->known & (leads_by_peak(view) ? SEEP_KNOWN_AT_PEAK : SEEP_KNOWN_LIVE);
    ret_cells[0] = known ? seep_format_signed(lead.bytes) : (struct seep_number){"-"};
    ret_cells[1] = known ? seep_format_signed(lead.blocks) : (struct seep_number){"-"};
    ret_cells[2] = lead.share;
    ret_cells[3] = count_or_dash(row, SEEP_KNOWN_ALLOCATIONS, c->allocations);
    ret_cells[4] = count_or_dash(row, SEEP_KNOWN_BYTES, c->allocated_bytes);
    ret_cells[5] = count_or_dash(row, SEEP_KNOWN_TEMPORARY, c->temporary);
}

static void put_cells(FILE *out, const struct seep_number cells[NR_COLUMNS], const int widths[NR_COLUMNS],
                      const char *name) {
    for (size_t i = 0; i < NR_COLUMNS; i++)
        fprintf(out, "%s%*s", i ? "  " : "", widths[i], cells[i].text);
    fputs("  ", out);
    seep_put_escaped(out, name);
    fputc('\n', out);
}

struct seep_error *seep_text_table(FILE *out, struct seep_view *view, const struct seep_style *style) {
    put_heading(out, view, style);
    struct seep_text_extent extent = seep_text_extent(view);
    if (!view->nr_rows)
        return NULL;
    if (only_temporary(view) && !extent.nr_shown) { // the heading says that there are none
        put_idle(out, view);
        return NULL;
    }
    struct seep_number cells[NR_COLUMNS] = {{"live bytes"},  {"blocks"},          {"share"},
                                            {"allocations"}, {"allocated bytes"}, {"temporary"}};
    if (leads_by_leaks(view))
        cells[0] = (struct seep_number){"leaked"};
    else if (leads_by_peak(view))
        cells[0] = (struct seep_number){"at the peak"};
    else if (view->live_is_net)
        cells[0] = (struct seep_number){"net bytes"};
    struct seep_number heading[NR_COLUMNS];
    memcpy(heading, cells, sizeof(heading));
    int widths[NR_COLUMNS] = {0};
    for (size_t i = 0; i < NR_COLUMNS; i++)
        widths[i] = width_of(cells[i].text, 0);
    for (size_t r = 0; r < extent.nr_shown; r++) {
        make_cells(view, &view->rows[r], cells);
        for (size_t i = 0; i < NR_COLUMNS; i++)
            widths[i] = width_of(cells[i].text, widths[i]);
    }
    make_cells(view, &view->all, cells);
    for (size_t i = 0; i < NR_COLUMNS; i++)
        widths[i] = width_of(cells[i].text, widths[i]);
    fputs(seep_style_dim(style), out);
    put_cells(out, heading, widths, seep_view_by_name(view->options.by));
    fputs(seep_style_off(style), out);
    for (size_t r = 0; r < extent.nr_shown; r++) {
        make_cells(view, &view->rows[r], cells);
        const char *key = view->rows[r].key;
        bool function = view->options.by == SEEP_BY_FUNCTION;
        put_cells(out, cells, widths, function ? seep_stacks_name_shown(view->stacks, key) : key);
    }
    if (extent.nr_shown > 1 || extent.nr_shown < view->nr_rows_all) {
        make_cells(view, &view->all, cells);
        put_cells(out, cells, widths,
                  extent.nr_shown < view->nr_rows_all ? "(all, also those not shown)" : "(all)");
    }
    put_idle(out, view);
    return NULL;
}

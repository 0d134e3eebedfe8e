// SPDX-License-Identifier: BSD-2-Clause
//
// The text report: health, totals, processes, rows, and what to do next, in the order in which a
// reader needs them: first whether to trust the numbers at all. Nothing is cut short without a
// word; foreign text is escaped.
#include <math.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "base/map.h"
#include "base/sum.h"
#include "output/format.h"
#include "output/output.h"
#include "output/report_text.h"
#include "output/wrap.h"
#include "profile/verdict.h"
#include "view/sampling_error.h"

const struct seep_profile *seep_text_profile(const struct seep_view *view, size_t index) {
    return view->session->profiles[view->first_process + index];
}

// ---- health ----

#define DEPTH_MOST 16384u // frames: --depth takes no more

static const char depth_is_most[] = "the stack was deeper than 16384 frames, the most that can be kept, and "
                                    "its outermost frames are missing; "
                                    "the innermost, nearest to the allocation, are here";

struct health_sum {
    uint64_t events;
    uint64_t lost;
    uint64_t lost_by[SEEP_LOST_NR];
    uint64_t cut;
    uint64_t cut_by[SEEP_CUT_NR];
    uint32_t depth_limit; // the least of those of processes with stacks that are cut by it
    size_t nr_passive;
    size_t nr_preempted;
    size_t nr_untraced;
    size_t nr_incomplete;              // those with nothing traced too
    const struct seep_profile *why_of; // the first with a note that says why
    const struct seep_note *why;       // that note
};

static struct health_sum sum_health(const struct seep_view *view) {
    struct health_sum sum = {.depth_limit = UINT32_MAX};
    for (size_t p = 0; p < view->nr_processes; p++) {
        const struct seep_health *health = &seep_text_profile(view, p)->health;
        sum.events += health->events;
        for (size_t i = 0; i < SEEP_LOST_NR; i++) {
            sum.lost_by[i] += health->lost[i];
            sum.lost += health->lost[i];
        }
        for (size_t i = 0; i < SEEP_CUT_NR; i++) {
            sum.cut_by[i] += health->cut[i];
            sum.cut += health->cut[i];
        }
        if (health->cut[SEEP_CUT_DEPTH])
            sum.depth_limit = SEEP_MIN(sum.depth_limit, health->depth_limit);
        sum.nr_passive += health->state == SEEP_STATE_PASSIVE;
        sum.nr_preempted += (health->flags & SEEP_FLAG_PREEMPTED) != 0;
        const struct seep_note *note = seep_profile_verdict_note(seep_text_profile(view, p));
        enum seep_verdict verdict = seep_profile_verdict(seep_text_profile(view, p));
        sum.nr_untraced += verdict == SEEP_VERDICT_NOT_TRACED;
        sum.nr_incomplete += verdict != SEEP_VERDICT_COMPLETE;
        // Of several processes those that were not traced are counted, and the notes say why.
        bool one_of_many = view->nr_processes > 1 && verdict == SEEP_VERDICT_NOT_TRACED;
        if (note && !sum.why_of && !one_of_many) {
            sum.why_of = seep_text_profile(view, p);
            sum.why = note;
        }
    }
    return sum;
}

static void put_who(FILE *out, const struct seep_view *view, const struct seep_profile *profile) {
    if (view->nr_processes > 1 && profile->process.pid)
        fprintf(out, "pid %" PRIu32 ": ", profile->process.pid);
}

static const char *gave_up(const struct seep_profile *profile) {
    const struct seep_health *health = &profile->health;
    return health->state == SEEP_STATE_PASSIVE ? seep_passive_meaning(health->passive_reason) : NULL;
}

// Whether `tell` gives a text for the process, and gave no profile before it the same: a process that
// executed another program has several of one number.
static bool is_news(const struct seep_view *view, size_t process,
                    const char *(*tell)(const struct seep_profile *)) {
    const struct seep_profile *profile = seep_text_profile(view, process);
    const char *text = tell(profile);
    for (size_t p = 0; text && p < process; p++) {
        const struct seep_profile *other = seep_text_profile(view, p);
        const char *before = other->process.pid == profile->process.pid ? tell(other) : NULL;
        if (before && strcmp(before, text) == 0)
            return false;
    }
    return text != NULL;
}

static void put_process_health(FILE *out, const struct seep_view *view, size_t process) {
    const struct seep_profile *profile = seep_text_profile(view, process);
    const struct seep_health *health = &profile->health;
    if (is_news(view, process, gave_up)) {
        fputs("  gave up: ", out);
        put_who(out, view, profile);
        fprintf(out, "%s\n", gave_up(profile));
    }
    if (is_news(view, process, seep_profile_preempted_by)) {
        fputs("  not covered: ", out);
        put_who(out, view, profile);
        fputs("allocations through the malloc of ", out);
        seep_put_escaped(out, seep_profile_preempted_by(profile));
        fprintf(out, ", which is called instead of seep's; %s\n", seep_profile_preempted_advice(profile));
    }
    if (health->sample_bytes) {
        fputs("  sampled: ", out);
        put_who(out, view, profile);
        fprintf(out, "about one allocation in %s is recorded\n",
                seep_format_bytes(health->sample_bytes).text);
    }
}

struct noted {
    const struct seep_note *note;
    size_t order;
    const struct seep_profile *profile; // the first that has it
    size_t nr_processes;                // 0: another stands for it
};

static int compare_notes(const struct seep_note *a, const struct seep_note *b) {
    int by_text = strcmp(a->text, b->text);
    return by_text ? by_text : (a->code > b->code) - (a->code < b->code);
}

static int compare_noted_text(const void *left, const void *right) {
    const struct noted *a = left;
    const struct noted *b = right;
    int by_text = compare_notes(a->note, b->note);
    return by_text ? by_text : (a->order > b->order) - (a->order < b->order);
}

static int compare_noted_order(const void *left, const void *right) {
    const struct noted *a = left;
    const struct noted *b = right;
    return (a->order > b->order) - (a->order < b->order);
}

// What is the same for many processes is one line. The note that the verdict has said is left out.
static struct seep_error *put_notes(FILE *out, const struct seep_view *view, const struct health_sum *sum) {
    struct noted *notes = NULL;
    size_t nr = 0, capacity = 0;
    for (size_t p = 0; p < view->nr_processes; p++) {
        const struct seep_profile *profile = seep_text_profile(view, p);
        for (size_t i = 0; i < profile->health.nr_notes; i++) {
            if (&profile->health.notes[i] == sum->why)
                continue;
            if (!seep_grow(&notes, &capacity, nr + 1, sizeof(*notes))) {
                free(notes);
                return seep_error_no_memory();
            }
            notes[nr] = (struct noted){&profile->health.notes[i], nr, profile, 1};
            nr++;
        }
    }
    if (nr)
        qsort(notes, nr, sizeof(*notes), compare_noted_text);
    for (size_t i = 1, first = 0; i < nr; i++) {
        if (compare_notes(notes[first].note, notes[i].note) == 0) {
            notes[first].nr_processes += notes[i].profile != notes[i - 1].profile;
            notes[i].nr_processes = 0;
        } else {
            first = i;
        }
    }
    if (nr)
        qsort(notes, nr, sizeof(*notes), compare_noted_order);
    for (size_t i = 0; i < nr; i++) {
        if (!notes[i].nr_processes)
            continue;
        fputs("  note: ", out);
        if (notes[i].nr_processes > 1)
            fprintf(out, "%s processes: ", seep_format_count(notes[i].nr_processes).text);
        else
            put_who(out, view, notes[i].profile);
        fputs(seep_note_lead(notes[i].note), out);
        seep_put_escaped(out, notes[i].note->text);
        fputc('\n', out);
    }
    free(notes);
    return NULL;
}

// Why figures are missing comes before the figures.
static void put_verdict(FILE *out, const struct seep_view *view, const struct health_sum *sum,
                        const struct seep_style *style) {
    bool untraced = sum->nr_untraced == view->nr_processes;
    const char *verdict = untraced             ? "NOT TRACED"
                          : sum->nr_incomplete ? "INCOMPLETE"
                          : sum->cut           ? "counts complete"
                                               : "complete";
    fprintf(out, "%shealth: %s%s — ", sum->nr_incomplete ? seep_style_warn(style) : seep_style_bold(style),
            verdict, seep_style_off(style));
    if (sum->why_of) {
        bool said = untraced && sum->why->flags & SEEP_NOTE_UNTRACED; // the verdict is the lead
        put_who(out, view, sum->why_of);
        fputs(said ? "" : seep_note_lead(sum->why), out);
        seep_put_escaped(out, sum->why->text);
        fputs("\n  ", out);
    } else if (untraced && view->nr_processes == 1) {
        fputs("seep gave up before the first allocation\n  ", out);
    }
    if (!untraced && sum->nr_untraced)
        fprintf(out, "%s process%s not traced: see the notes\n  ", seep_format_count(sum->nr_untraced).text,
                seep_plural_es(sum->nr_untraced));
}

// Sites with cut stacks may be few and have most of the memory.
static void put_cut_share(FILE *out, const struct seep_view *view, const struct health_sum *sum) {
    fprintf(out, "%s stack%s cut", seep_format_count(sum->cut).text, seep_plural(sum->cut));
    if (view->cut_allocations)
        fprintf(out, ": %s of allocations",
                seep_format_share(view->cut_allocations, view->all.counters.allocations).text);
    if (view->cut_live_bytes && view->all.live_bytes > 0)
        fprintf(out, ", %s of live bytes",
                seep_format_share(view->cut_live_bytes, (uint64_t)view->all.live_bytes).text);
    if (view->options.by == SEEP_BY_SITE && !view->filtered && !view->cut_allocations &&
        view->cut_in_mappings)
        fputs(": of mappings, none of allocations", out);
    fputc('\n', out);
}

#define NAMELESS_SHOWN 4u // modules of a line

// Where the symbols of a file are that was stripped; "": it was not.
static const char *where_symbols(const struct seep_view_trouble *trouble) {
    return !trouble->is_stripped   ? ""
           : trouble->is_installed ? "; install its debug symbols, or set DEBUGINFOD_URLS"
                                   : "; run a build that is not stripped";
}

static bool is_like(const struct seep_view_trouble *a, const struct seep_view_trouble *b) {
    bool same = a->why == b->why || (a->why && b->why && strcmp(a->why, b->why) == 0);
    return same && a->is_runtime == b->is_runtime && strcmp(where_symbols(a), where_symbols(b)) == 0;
}

// Modules with one reason are one line, which says what helps. The C++ library's own names are of no use:
// what it exports is in each stack, and no place is in it.
void seep_text_without_symbols(FILE *out, const struct seep_view *view, const char *lead) {
    const char *said = NULL; // what helps is said once
    for (size_t i = 0; i < view->nr_without_symbols; i++) {
        const char *why = view->without_symbols[i].why;
        if (view->without_symbols[i].is_runtime && view->without_symbols[i].is_stripped)
            continue;
        size_t nr = 0, before = 0;
        for (size_t k = 0; k < view->nr_without_symbols; k++) {
            bool same = is_like(&view->without_symbols[i], &view->without_symbols[k]);
            before += same && k < i;
            nr += same;
        }
        if (before)
            continue;
        fprintf(out, "%sno symbols: ", lead);
        size_t shown = 0;
        for (size_t k = i; k < view->nr_without_symbols && shown < NAMELESS_SHOWN; k++) {
            if (!is_like(&view->without_symbols[i], &view->without_symbols[k]))
                continue;
            fputs(shown++ ? ", " : "", out);
            seep_put_escaped(out, view->without_symbols[k].module);
        }
        if (shown < nr)
            fprintf(out, " and %zu more", nr - shown);
        const char *where = why ? where_symbols(&view->without_symbols[i]) : "";
        fprintf(out, "%s%s%s%s\n", why ? " (" : "", why ? why : "", where == said ? "" : where,
                why ? ")" : "");
        said = *where ? where : said;
    }
}

static const char *cut_meaning(const struct seep_view *view, const struct health_sum *sum, uint32_t cut) {
    bool all_arm = view->nr_processes > 0;
    for (size_t p = 0; p < view->nr_processes; p++)
        all_arm &= seep_text_profile(view, p)->process.platform.machine == EM_ARM;
    if (cut == SEEP_CUT_NO_CFI && all_arm)
        return "code without an unwind table, as compilers of C for 32-bit ARM make it: build it with "
               "-funwind-tables";
    if (cut == SEEP_CUT_NO_CFI && view->cut_by_go)
        return "Go switches stacks here; 'go tool pprof' shows stacks of Go";
    return cut == SEEP_CUT_DEPTH && sum->depth_limit >= DEPTH_MOST ? depth_is_most : seep_cut_meaning(cut);
}

static void put_without_lines(FILE *out, const struct seep_view *view) {
    if (!view->nr_without_lines)
        return;
    fputs("  no lines: ", out);
    for (size_t i = 0; i < view->nr_without_lines && i < NAMELESS_SHOWN; i++) {
        fputs(i ? ", " : "", out);
        seep_put_escaped(out, view->without_lines[i]);
    }
    if (view->nr_without_lines > NAMELESS_SHOWN)
        fprintf(out, " and %zu more", view->nr_without_lines - NAMELESS_SHOWN);
    fputs(" (built without -g: build with -g, beside -O2 too)\n", out);
}

struct seep_error *seep_text_health(FILE *out, const struct seep_view *view, const struct seep_style *style) {
    struct health_sum sum = sum_health(view);
    put_verdict(out, view, &sum, style);
    if (sum.nr_untraced == view->nr_processes) {
        fputs("no figure below says anything about it\n", out);
        for (size_t p = 0; p < view->nr_processes; p++)
            put_process_health(out, view, p);
        return put_notes(out, view, &sum);
    }
    fprintf(out, "%s event%s, ", seep_format_count(sum.events).text, seep_plural(sum.events));
    if (sum.lost)
        fprintf(out, "%s lost, ", seep_format_count(sum.lost).text);
    else
        fputs(sum.nr_incomplete ? "no loss counted, " : "nothing lost, ", out);
    if (sum.cut)
        put_cut_share(out, view, &sum);
    else
        fputs("all stacks complete\n", out);
    for (uint32_t i = 0; i < SEEP_LOST_NR; i++)
        if (sum.lost_by[i])
            fprintf(out, "  lost %s (%s): %s\n", seep_format_count(sum.lost_by[i]).text, seep_lost_name(i),
                    seep_lost_meaning(i));
    for (uint32_t i = 0; i < SEEP_CUT_NR; i++)
        if (sum.cut_by[i])
            fprintf(out, "  cut %s (%s): %s\n", seep_format_count(sum.cut_by[i]).text, seep_cut_name(i),
                    cut_meaning(view, &sum, i));
    for (size_t p = 0; p < view->nr_processes; p++)
        put_process_health(out, view, p);
    struct seep_error *error = put_notes(out, view, &sum);
    seep_text_without_symbols(out, view, "  ");
    put_without_lines(out, view);
    return error;
}

// ---- processes ----

// Only of a process that ran on another kind of machine: its symbols may not be here.
static void put_platform(FILE *out, const struct seep_platform *platform) {
    static const struct {
        uint16_t machine;
        const char *name;
    } names[] = {{EM_X86_64, "x86-64"}, {EM_AARCH64, "AArch64"}, {EM_386, "x86"},
                 {EM_ARM, "ARM"},       {EM_RISCV, "RISC-V"},    {EM_PPC, "PowerPC"},
                 {EM_PPC64, "PowerPC"}, {EM_S390, "S/390"},      {EM_MIPS, "MIPS"}};
    struct seep_platform here = seep_platform_here();
    bool same = platform->word_bytes == here.word_bytes && platform->big_endian == here.big_endian &&
                (platform->machine == here.machine || platform->machine == EM_NONE);
    if (!platform->word_bytes || same)
        return;
    if (platform->machine == EM_386 && here.machine == EM_X86_64) { // the same machine runs both
        fputs("         a 32-bit program\n", out);
        return;
    }
    size_t i = 0;
    while (i < SEEP_ARRAY_SIZE(names) && names[i].machine != platform->machine)
        i++;
    fputs("         on another machine: ", out);
    if (i < SEEP_ARRAY_SIZE(names))
        fputs(names[i].name, out);
    else
        fprintf(out, "ELF machine %u", (unsigned)platform->machine);
    fprintf(out, ", %u bits, %s-endian\n", platform->word_bytes * 8u,
            platform->big_endian ? "big" : "little");
}

static void put_process(FILE *out, const struct seep_process *process) {
    fputs("program: ", out);
    seep_text_command_line(out, process);
    fprintf(out, "\n         pid %" PRIu32 ", ran %s, ", process->pid,
            seep_format_duration(process->duration_ns).text);
    seep_text_exit(out, process);
    fputc('\n', out);
    put_platform(out, &process->platform);
}

// ---- totals ----

static void put_total(FILE *out, const char *what, const char *count, const char *bytes, const char *remark) {
    if (*remark)
        fprintf(out, "  %-12s %15s %19s   %s\n", what, count, bytes, remark);
    else
        fprintf(out, "  %-12s %15s\n", what, count);
}

static void put_peak(FILE *out, const struct seep_view *view) {
    char remark[96];
    const struct seep_totals *totals = &view->totals;
    double error_percent =
        view->sampled && view->nr_processes == 1 ? seep_peak_error_percent(seep_text_profile(view, 0)) : 0;
    struct seep_number human = seep_format_bytes(totals->peak_bytes);
    if (totals->peak_exact)
        snprintf(remark, sizeof(remark), "%s", human.text);
    else if (error_percent > 0)
        snprintf(remark, sizeof(remark), "%s, estimated: ±%.0f%%", human.text, error_percent);
    else if (view->sampled)
        snprintf(remark, sizeof(remark), "%s, estimated", human.text);
    else if (!totals->peak_error_bytes) // of a mark or a snapshot, or events were lost
        snprintf(remark, sizeof(remark), "%s, at least", human.text);
    else
        snprintf(remark, sizeof(remark), "%s, within %s", human.text,
                 seep_format_bytes(totals->peak_error_bytes).text);
    put_total(out, "peak", "", seep_format_count(totals->peak_bytes).text, remark);
}

// Frees of what is no live block, which have a section of their own.
static uint64_t nr_mistaken(const struct seep_view *view) {
    uint64_t nr = 0;
    for (size_t p = 0; p < view->nr_processes; p++) {
        const struct seep_profile *profile = seep_text_profile(view, p);
        for (uint32_t i = 0; i < profile->nr_wrong_releases; i++)
            if (profile->wrong_releases[i].kind != SEEP_MISUSE_MISMATCH &&
                !seep_profile_may_be_right(profile, &profile->wrong_releases[i]))
                seep_add_up(&nr, profile->wrong_releases[i].count);
    }
    return nr;
}

// Recorded allocations that the estimates rest on.
static uint64_t nr_samples(const struct seep_view *view) {
    uint64_t nr = 0;
    for (size_t p = 0; p < view->nr_processes; p++) {
        const struct seep_profile *profile = seep_text_profile(view, p);
        for (uint32_t i = 1; i < profile->nr_sites; i++)
            seep_add_up(&nr, profile->sites[i].counters.peak_bytes);
    }
    return nr;
}

// One standard deviation of the number of allocations, in percent of it. One of size s is recorded with
// probability p = 1 - exp(-s / sample_bytes) and counts 1/p then: its variance is (1 - p) / p.
static double count_error_percent(const struct seep_view *view) {
    double sum = 0, variance = 0;
    for (size_t p = 0; p < view->nr_processes; p++) {
        const struct seep_profile *profile = seep_text_profile(view, p);
        double sample_bytes = (double)profile->health.sample_bytes;
        for (int class = 0; class < SEEP_IMAGE_SIZE_CLASSES; class ++) {
            double nr = (double)profile->totals.size_class[class];
            double probability =
                -expm1(-(class ? 0.75 * ldexp(1, class) : 0.5) / SEEP_MAX(sample_bytes, 1.0));
            sum += nr;
            variance += nr * (1 - probability) / probability;
        }
    }
    return sum > 0 ? 100 * sqrt(variance) / sum : 100;
}

// Estimates of what is live rest on the samples that are.
static void put_live(FILE *out, const struct seep_view *view) {
    const struct seep_totals *t = &view->totals;
    char remark[128];
    struct seep_live_error error =
        seep_live_error_of((const struct seep_profile *const *)view->session->profiles + view->first_process,
                           view->nr_processes);
    if (view->sampled && error.nr_samples)
        snprintf(remark, sizeof(remark), "%s, estimated from %s live sample%s: ±%.0f%%",
                 seep_format_bytes(t->live_bytes).text, seep_format_count(error.nr_samples).text,
                 seep_plural(error.nr_samples), error.percent);
    else
        snprintf(remark, sizeof(remark), "%s", seep_format_bytes(t->live_bytes).text);
    put_total(out, "still live", seep_format_count(t->live_blocks).text,
              seep_format_count(t->live_bytes).text, remark);
}

// What was live in processes that went on as other programs: no process has it any more.
static void put_at_exec(FILE *out, const struct seep_view *view) {
    uint64_t blocks = 0, bytes = 0;
    for (size_t i = 0; i < view->nr_processes; i++) {
        const struct seep_profile *profile = view->session->profiles[view->first_process + i];
        if (profile->process.exit_kind != SEEP_EXIT_EXEC)
            continue;
        seep_add_up(&blocks, profile->totals.live_blocks);
        seep_add_up(&bytes, profile->totals.live_bytes);
    }
    if (blocks && view->nr_processes > 1)
        put_total(out, "  at an exec", seep_format_count(blocks).text, seep_format_count(bytes).text,
                  "of these: in processes that then went on as another program");
}

static void put_totals(FILE *out, const struct seep_view *view, const struct seep_style *style) {
    const struct seep_totals *t = &view->totals;
    bool kernel = seep_profile_is_kernel(seep_text_profile(view, 0));
    fprintf(out, "\n%s%-14s %15s %19s%s", seep_style_bold(style),
            view->nr_processes > 1 && !kernel ? "all processes" : "totals", "count", "bytes",
            seep_style_off(style));
    if (view->sampled)
        fprintf(out, "   allocations estimated from %s sample%s: count ±%.0f%%, bytes ±%.0f%% (one sigma)",
                seep_format_count(nr_samples(view)).text, seep_plural(nr_samples(view)),
                count_error_percent(view), seep_sample_error_percent(nr_samples(view)));
    fputc('\n', out);
    put_total(out, "allocations", seep_format_count(t->allocations).text,
              seep_format_count(t->allocated_bytes).text, seep_format_bytes(t->allocated_bytes).text);
    if (t->inherited_blocks)
        put_total(out, "  inherited", seep_format_count(t->inherited_blocks).text,
                  seep_format_count(t->inherited_bytes).text,
                  view->nr_processes == 1 ? "of these: live at the fork, its parent's"
                                          : "of these: live at a fork, and counted in both processes");
    if (seep_text_only_calls(view)) {
        put_total(out, "frees", seep_format_count(t->frees).text, "", "");
        put_total(out, "still live", seep_format_count(t->live_blocks).text, "", "");
        if (t->failed)
            put_total(out, "failed", seep_format_count(t->failed).text, "", "allocations that returned NULL");
        return;
    }
    put_total(out, "frees", seep_format_count(t->frees).text, seep_format_count(t->freed_bytes).text,
              seep_format_bytes(t->freed_bytes).text);
    put_live(out, view);
    put_at_exec(out, view);
    if (view->nr_processes == 1)
        put_peak(out, view);
    char remark[96];
    snprintf(remark, sizeof(remark), "%s freed at once",
             seep_format_share(t->temporary, t->allocations).text);
    if (!kernel && t->temporary) // its frees are not told by the block that came before
        put_total(out, "temporary", seep_format_count(t->temporary).text, "", remark);
    if (t->failed)
        put_total(out, "failed", seep_format_count(t->failed).text, "", "allocations that returned NULL");
    uint64_t nr_unknown = t->unknown_frees - SEEP_MIN(t->unknown_frees, nr_mistaken(view));
    if (nr_unknown)
        put_total(out, "unknown", seep_format_count(nr_unknown).text, "",
                  "frees of blocks whose allocation was not seen");
}

// ---- what next ----

// A command that shows more.
struct next {
    const char *command;
    const char *options;
    char shows[96];
};

static void put_command(FILE *out, const struct seep_view *view, const char *source,
                        const struct next *next) {
    if (source && strcmp(source, "/dev/null") != 0) { // where it is not found again
        char *operand = seep_shell_operand(source);
        fprintf(out, "seep %s %s", next->command, operand ? operand : source);
        free(operand);
    } else {
        fputs("the same with", out);
    }
    if (strcmp(next->command, "report") != 0) // it has options of its own
        return;
    for (size_t i = 0; i < view->options.nr_given; i++) {
        const struct seep_view_given *given = &view->options.given[i];
        size_t nr = strlen(given->name);
        if (strncmp(next->options, "--", 2) == 0 && strncmp(next->options + 2, given->name, nr) == 0 &&
            (next->options[nr + 2] == ' ' || !next->options[nr + 2]))
            continue; // it takes its place
        fprintf(out, " --%s", given->name);
        if (given->value) {
            fputc(' ', out);
            seep_put_shell_word(out, given->value);
        }
    }
    if (view->options.by != SEEP_BY_SITE && !strstr(next->options, "--by"))
        fprintf(out, " --by %s", seep_view_by_name(view->options.by));
    fprintf(out, " %s", next->options);
}

// Which rows the figures are in. false: there are no more of them.
static bool more_rows(const struct seep_view *view, struct next *ret_next) {
    const char *by = seep_view_by_name(view->options.by);
    struct seep_text_extent extent = seep_text_extent(view);
    *ret_next = (struct next){.command = "report"};
    if (extent.nr_shown < extent.nr_all) {
        ret_next->options = view->options.sort == SEEP_SORT_ALLOCATIONS ? "--sort allocations --top 0"
                            : view->options.sort == SEEP_SORT_TEMPORARY ? "--sort temporary --top 0"
                            : view->options.sort == SEEP_SORT_PEAK      ? "--sort peak --top 0"
                                                                        : "--top 0";
        snprintf(ret_next->shows, sizeof(ret_next->shows), "all %s %s%s%s",
                 seep_format_count(view->nr_rows_all).text, by, strcmp(by, "process") == 0 ? "es" : "s",
                 !extent.nr_idle                             ? ""
                 : view->options.sort == SEEP_SORT_TEMPORARY ? ", also those without temporary allocations"
                                                             : ", also those without live blocks");
    } else if (view->options.sort == SEEP_SORT_TEMPORARY && !extent.nr_all && view->nr_rows_all) {
        ret_next->options = "--sort allocations";
        snprintf(ret_next->shows, sizeof(ret_next->shows), "who allocates most");
    } else if (view->options.by != SEEP_BY_SITE) {
        ret_next->options = "--by site";
        snprintf(ret_next->shows, sizeof(ret_next->shows), "the stacks behind these rows");
    }
    return ret_next->options != NULL;
}

// Where no finding has more to show, and all rows are here.
static void more_of_the_same(const struct seep_view *view, struct next *ret_next) {
    if (view->all.live_blocks <= 0 && view->totals.temporary && view->options.sort != SEEP_SORT_TEMPORARY) {
        ret_next->options = "--sort temporary";
        snprintf(ret_next->shows, sizeof(ret_next->shows), "who allocates only to free at once");
    } else if (view->all.live_blocks > 0 && !view->options.blocks && seep_text_profile(view, 0)->nr_blocks) {
        ret_next->options = "--blocks";
        snprintf(ret_next->shows, sizeof(ret_next->shows), "each live block with its address and size");
    } else {
        ret_next->options = "--by function";
        snprintf(ret_next->shows, sizeof(ret_next->shows), "the same, one row per function");
    }
}

// Blocks that no run under the same environment shows.
static void put_runtimes(FILE *out, const struct seep_view *view) {
    for (size_t i = 0; i < SEEP_RUNTIME_NR; i++) {
        const struct seep_runtime_memory *memory = &seep_runtime_memory[i];
        uint64_t bytes = seep_view_runtime_bytes(view, (enum seep_runtime)i);
        if (bytes)
            fprintf(out, "      or run it again with %s   (each block: %s has %s%s of them in %s)\n",
                    memory->setting, memory->name, memory->is_mapped ? "up to " : "",
                    seep_format_bytes(bytes).text, memory->pieces);
    }
}

// One line for each finding whose evidence is not here, and one for the rows that are not.
static struct seep_error *put_next(FILE *out, const struct seep_view *view,
                                   const struct seep_summary *summary, const struct seep_style *style) {
    struct next nexts[SEEP_FINDING_NR + 1];
    char *commands[SEEP_FINDING_NR + 1] = {NULL};
    size_t nr = 0;
    for (size_t i = 0; i < summary->nr_findings; i++) {
        const struct seep_finding *finding = &summary->findings[i];
        bool can = finding->command && (strcmp(finding->command, "report") == 0 || summary->source);
        if (!can)
            continue;
        nexts[nr] = (struct next){.command = finding->command, .options = finding->options};
        snprintf(nexts[nr++].shows, sizeof(nexts[0].shows), "%s", finding->shows);
    }
    if (more_rows(view, &nexts[nr]))
        nr++;
    else if (!nr)
        more_of_the_same(view, &nexts[nr++]);
    struct seep_error *error = NULL;
    int longest = 0;
    for (size_t i = 0; !error && i < nr; i++) {
        size_t nr_bytes;
        FILE *text = open_memstream(&commands[i], &nr_bytes);
        if (text)
            put_command(text, view, summary->source, &nexts[i]);
        if (!text || fclose(text) || !commands[i])
            error = seep_error_no_memory();
        else
            longest = SEEP_MAX(longest, (int)nr_bytes);
    }
    for (size_t i = 0; !error && i < nr; i++)
        fprintf(out, "%s%s%s%s %-*s   (%s)\n", i ? "" : "\n", i ? "" : seep_style_bold(style),
                i ? "     " : "next:", i ? "" : seep_style_off(style), longest, commands[i], nexts[i].shows);
    for (size_t i = 0; i < nr; i++)
        free(commands[i]);
    if (!error)
        put_runtimes(out, view);
    return error;
}

// Behind the name of its kind.
#define FINDING_COLUMN 9u

static void put_findings(FILE *out, const struct seep_summary *summary, const struct seep_style *style) {
    for (size_t i = 0; i < summary->nr_findings; i++) {
        const struct seep_finding *finding = &summary->findings[i];
        fprintf(out, "%s%s%-8s%s ", i ? "" : "\n",
                finding->bad ? seep_style_warn(style) : seep_style_bold(style),
                seep_finding_name(finding->kind), seep_style_off(style));
        seep_put_wrapped(out, style, FINDING_COLUMN, finding->text);
        fputc('\n', out);
    }
}

// What is to be known of the figures before the rows. Who asks what grows is not told what is lost.
static struct seep_error *put_head(FILE *out, struct seep_view *view, const struct seep_summary *summary,
                                   const struct seep_style *style) {
    struct seep_error *error = seep_text_health(out, view, style);
    if (error)
        return error;
    if (view->nr_processes == 1)
        put_process(out, &seep_text_profile(view, 0)->process);
    seep_text_marks(out, view);
    put_findings(out, summary, style);
    put_totals(out, view, style);
    bool only_growth = view->options.sort == SEEP_SORT_GROWTH;
    if (!only_growth)
        error = seep_text_leaks(out, view, style);
    if (error)
        return error;
    if (!only_growth)
        seep_text_ages(out, view, style);
    error = seep_text_growth(out, view, style);
    if (error)
        return error;
    seep_text_suppressed(out, view->session, style);
    if (view->nr_processes > 1)
        error = seep_text_processes(out, view, style);
    if (!error && view->options.rss)
        error = seep_text_accounts(out, view, style);
    return error;
}

// Memory of other classes than the heap: nothing of it is lost or reachable, and who asks for those is not
// told.
static struct seep_error *put_other_classes(FILE *out, struct seep_view *view,
                                            const struct seep_style *style) {
    bool wanted = !view->options.kinds;
    struct seep_error *error = wanted ? seep_text_mappings(out, view, style) : NULL;
    if (!error && wanted)
        error = seep_text_faults(out, view, style);
    if (!error && wanted)
        error = seep_text_pools(out, view, style);
    if (!error)
        error = seep_text_wrong_releases(out, view, style);
    return error;
}

static struct seep_error *put_rows(FILE *out, struct seep_view *view, const struct seep_summary *summary,
                                   const struct seep_style *style) {
    if (seep_text_only_calls(view))
        return seep_text_calls(out, view, style);
    struct seep_error *error = view->options.by == SEEP_BY_SITE ? seep_text_sites(out, view, style)
                                                                : seep_text_table(out, view, style);
    if (!error && view->options.sort != SEEP_SORT_GROWTH)
        error = put_other_classes(out, view, style);
    return error || !view->nr_rows ? error : put_next(out, view, summary, style);
}

static struct seep_error *write_text(FILE *out, struct seep_view *view, const struct seep_summary *summary) {
    struct seep_style style = seep_style_of(out);
    struct seep_wrap wrap;
    FILE *to = seep_wrap_begin(&wrap, out, &style);
    struct seep_error *error = put_head(to, view, summary, &style);
    if (!error)
        error = put_rows(to, view, summary, &style);
    return seep_wrap_end(&wrap, error);
}

const struct seep_output seep_output_text = {.name = "text",
                                             .suffix = ".txt",
                                             .what = "the report for people",
                                             .needs = SEEP_OUTPUT_LOST | SEEP_OUTPUT_HEALTH,
                                             .write = write_text};

// SPDX-License-Identifier: BSD-2-Clause
// The answers to the first questions, see summary.h.
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_name.h"
#include "base/numbers.h"
#include "base/sum.h"
#include "base/words.h"
#include "names/short_name.h"
#include "profile/verdict.h"
#include "view/exception_pool.h"
#include "view/stacks.h"
#include "view/summary.h"

struct maker {
    struct seep_view *view;
    struct seep_summary *summary;
};

const char *seep_finding_name(enum seep_finding_kind kind) {
    static const char *const names[SEEP_FINDING_NR] = {"leaks", "grows", "frees", "holds", "peak", "churn"};
    return names[kind];
}

// ---- places ----

// "serve (shop.c:5)", "serve [shop]", "shop+0x1234"; "libstdc++.so.6 itself".
static struct seep_error *describe(struct seep_view *view, uint32_t frame, unsigned inlined,
                                   const char **ret_place) {
    const struct seep_symbol *symbol;
    struct seep_error *error = seep_stacks_resolve(view->stacks, frame, &symbol);
    if (error)
        return error;
    const struct seep_symbol_frame *f = &symbol->frames[inlined];
    const struct seep_stack_module *in = &view->stacks->modules[view->stacks->frames[frame].module];
    const char *module = seep_file_name(in->path);
    const char *file = f->file ? seep_file_name(f->file) : NULL;
    char *name = NULL;
    if (f->function && !view->options.full_names)
        error = seep_name_shorten(f->function, &name);
    if (error)
        return error;
    const char *function = name ? name : f->function;
    if (in->runtime) // no frame of the program's has anything to do with it
        *ret_place = seep_arena_printf(&view->arena, "%s itself", module);
    else if (function && file && f->line)
        *ret_place = seep_arena_printf(&view->arena, "%s (%s:%u)", function, file, f->line);
    else if (function)
        *ret_place = seep_arena_printf(&view->arena, "%s [%s]", function, module);
    else
        *ret_place =
            seep_arena_printf(&view->arena, "%s+0x%" PRIx64, module, view->stacks->frames[frame].offset);
    free(name);
    return *ret_place ? NULL : seep_error_no_memory();
}

// The place of a row: its innermost frame in the program's own code, or else its innermost frame. The C++
// library's exception pool has a name of its own.
struct seep_error *seep_summary_place(struct seep_view *view, uint32_t node, const char **ret_place) {
    uint32_t frame;
    unsigned inlined;
    *ret_place = NULL;
    bool is_pool = false;
    struct seep_error *error = seep_stacks_blamed(view->stacks, node, &frame, &inlined);
    if (!error && frame != SEEP_NO_FRAME)
        error = seep_is_exception_pool(view->stacks, node, &is_pool);
    if (is_pool)
        *ret_place = SEEP_EXCEPTION_POOL;
    if (error || frame == SEEP_NO_FRAME || is_pool)
        return error;
    return describe(view, frame, inlined, ret_place);
}

// ", called by add (table.c:13)", because lost blocks often come from a function that only
// allocates for its callers. "": main is the caller, or the caller is not known.
static struct seep_error *name_caller(struct seep_view *view, uint32_t node, const char **ret_text) {
    uint32_t frame, caller = SEEP_NO_FRAME;
    unsigned inlined, at;
    const char *place;
    const struct seep_symbol *symbol;
    *ret_text = "";
    struct seep_error *error = seep_stacks_blamed(view->stacks, node, &frame, &inlined);
    if (!error && frame != SEEP_NO_FRAME)
        error = seep_stacks_caller(view->stacks, node, frame, inlined, &caller, &at);
    if (error || caller == SEEP_NO_FRAME)
        return error;
    error = seep_stacks_resolve(view->stacks, caller, &symbol);
    if (error || strcmp(symbol->frames[at].function, "main") == 0)
        return error;
    error = describe(view, caller, at, &place);
    if (error)
        return error;
    *ret_text = seep_arena_printf(&view->arena, ", called by %s", place);
    return *ret_text ? NULL : seep_error_no_memory();
}

// The finding gets the place of the leader. Without leaders it has none.
static struct seep_error *put_place(struct maker *maker, const struct seep_view_leaders *leaders,
                                    struct seep_finding *finding) {
    if (!leaders->nr_rows)
        return NULL;
    finding->place_value = leaders->values[0];
    return seep_summary_place(maker->view, leaders->rows[0].node, &finding->place);
}

static SEEP_PRINTF(3, 4) struct seep_error *add(struct maker *maker, struct seep_finding *finding,
                                                const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text;
    int nr = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (nr < 0)
        return seep_error_no_memory();
    finding->text = seep_arena_strndup(&maker->view->arena, text, (size_t)nr);
    free(text);
    if (!finding->text)
        return seep_error_no_memory();
    maker->summary->findings[maker->summary->nr_findings++] = *finding;
    return NULL;
}

// ---- the answers ----

// Where every process with live blocks was looked at.
static bool is_scanned(const struct seep_view *view) {
    size_t nr = 0;
    for (size_t p = 0; p < view->nr_processes; p++) {
        const struct seep_profile *profile = view->session->profiles[view->first_process + p];
        if (!profile->leaks.known && profile->totals.live_blocks)
            return false;
        nr += profile->leaks.known;
    }
    return nr > 0;
}

static bool leaves_core(int signal) {
    static const int cores[] = {SIGQUIT, SIGILL,  SIGTRAP, SIGABRT, SIGBUS,
                                SIGFPE,  SIGSEGV, SIGXCPU, SIGXFSZ, SIGSYS};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(cores); i++)
        if (signal == cores[i])
            return true;
    return false;
}

// Why the killed one was not looked at.
static struct seep_error *say_killed(struct seep_view *view, int signal, const char **ret_why) {
    const char *name = sigabbrev_np(signal);
    char number[32];
    snprintf(number, sizeof(number), "signal %d", signal);
    *ret_why = seep_arena_printf(
        &view->arena, "%s%s ended the program before its memory could be looked at%s", name ? "SIG" : "",
        name ? name : number,
        leaves_core(signal)
            ? "; a core file (ulimit -c unlimited) and this trace tell them: seep scan CORE --trace FILE"
            : "");
    return *ret_why ? NULL : seep_error_no_memory();
}

// Without blocks it is a moment of the past, or counts only: there was never anything to class.
struct seep_error *seep_summary_why_not_known(struct seep_view *view, const char **ret_why) {
    *ret_why = NULL;
    for (size_t p = 0; p < view->nr_processes; p++) {
        const struct seep_profile *profile = view->session->profiles[view->first_process + p];
        const struct seep_process *process = &profile->process;
        if (profile->leaks.known || seep_profile_why_not_looked(profile)) { // a note says it then
            *ret_why = NULL;
            return NULL;
        }
        if (!profile->totals.live_blocks)
            continue;
        if (process->exit_kind == SEEP_EXIT_SIGNAL && view->nr_processes == 1)
            return say_killed(view, process->exit_value, ret_why);
        if (process->exit_kind == SEEP_EXIT_CODE && profile->nr_blocks)
            *ret_why = "the program ended without a leak scan (seep run makes one at its end)";
    }
    return NULL;
}

// Where lost blocks do not pass the filters: whose block the row hangs under. *ret_text: "" where none is
// known.
static struct seep_error *name_owner(struct seep_view *view, const struct seep_view_row *row,
                                     const char **ret_text) {
    *ret_text = "";
    const struct seep_link *link = row->held ? &row->held->links[0] : NULL;
    if (!(view->options.kinds && !(view->options.kinds >> SEEP_KIND_LOST & 1)) || !link ||
        link->kind != SEEP_LINK_BLOCK || !link->lost)
        return NULL;
    const struct seep_profile *profile = view->session->profiles[row->held_process];
    const char *place;
    struct seep_error *error =
        seep_summary_place(view, view->nodes[row->held_process][profile->sites[link->id].node], &place);
    if (error || !place)
        return error;
    *ret_text = seep_arena_printf(&view->arena, ", which a lost block from %s leads to", place);
    return *ret_text ? NULL : seep_error_no_memory();
}

// ", 18.6% from PLACE": the next place, where it has a part that is worth to be mended.
static struct seep_error *name_next(struct seep_view *view, const struct seep_view_leaders *leaders,
                                    const struct seep_finding *finding, const char **ret_text) {
    *ret_text = "";
    for (size_t i = 1; i < leaders->nr_rows && (double)leaders->values[i] >= 0.05 * (double)finding->value;
         i++) {
        const char *place;
        struct seep_error *error = seep_summary_place(view, leaders->rows[i].node, &place);
        if (error)
            return error;
        if (!place || strcmp(place, finding->place) == 0)
            continue;
        *ret_text = seep_arena_printf(&view->arena, ", %s from %s",
                                      seep_format_share(leaders->values[i], finding->value).text, place);
        return *ret_text ? NULL : seep_error_no_memory();
    }
    return NULL;
}

// "; 3 blocks of 1.00 MiB possibly", if they are more than what is lost. "": they are not.
static struct seep_error *name_possible(struct seep_view *view, uint64_t lost_bytes, const char **ret_text) {
    const struct seep_view_kinds *kinds = &view->all.kinds;
    uint64_t blocks = kinds->blocks[SEEP_KIND_POSSIBLE], bytes = kinds->bytes[SEEP_KIND_POSSIBLE];
    *ret_text = "";
    if (!blocks || bytes <= lost_bytes)
        return NULL;
    *ret_text = seep_arena_printf(&view->arena, "; %s block%s of %s possibly", seep_format_count(blocks).text,
                                  seep_plural(blocks), seep_format_bytes(bytes).text);
    return *ret_text ? NULL : seep_error_no_memory();
}

static struct seep_error *answer_leaks(struct maker *maker) {
    const struct seep_view *view = maker->view;
    const struct seep_view_kinds *kinds = &view->all.kinds;
    uint64_t blocks = kinds->blocks[SEEP_KIND_LOST], bytes = kinds->bytes[SEEP_KIND_LOST];
    seep_add_up(&blocks, kinds->blocks[SEEP_KIND_INDIRECT]);
    seep_add_up(&bytes, kinds->bytes[SEEP_KIND_INDIRECT]);
    struct seep_finding finding = {.kind = SEEP_FINDING_LEAKS, .bad = blocks != 0, .value = bytes};
    if (view->options.sort == SEEP_SORT_GROWTH) // who asks what grows is not told what is lost
        return NULL;
    if (!blocks) {
        if (!is_scanned(view)) {
            const char *why;
            struct seep_error *error = seep_summary_why_not_known(maker->view, &why);
            return error || !why ? error : add(maker, &finding, "not known: %s", why);
        }
        const char *possible;
        struct seep_error *error = name_possible(maker->view, 0, &possible);
        return error ? error
                     : add(maker, &finding, "nothing%s is lost%s",
                           view->filtered ? " that matches the filters" : "", possible);
    }
    const char *possible;
    struct seep_error *error = name_possible(maker->view, bytes, &possible);
    if (!error)
        error = put_place(maker, &view->leaders[SEEP_LEAD_LEAKED], &finding);
    if (error)
        return error;
    if (!finding.place)
        return add(maker, &finding, "%s lost in %s block%s%s", seep_format_bytes(bytes).text,
                   seep_format_count(blocks).text, seep_plural(blocks), possible);
    bool all = finding.place_value >= bytes;
    const char *owner, *next, *caller;
    error = name_owner(maker->view, &view->leaders[SEEP_LEAD_LEAKED].rows[0], &owner);
    if (!error)
        error = name_caller(maker->view, view->leaders[SEEP_LEAD_LEAKED].rows[0].node, &caller);
    if (!error)
        error = name_next(maker->view, &view->leaders[SEEP_LEAD_LEAKED], &finding, &next);
    if (error)
        return error;
    return add(maker, &finding, "%s lost in %s block%s, %s%s from %s%s%s%s%s", seep_format_bytes(bytes).text,
               seep_format_count(blocks).text, seep_plural(blocks),
               all ? "all" : seep_format_share(finding.place_value, bytes).text, all ? "" : " of it",
               finding.place, *owner ? "" : caller, owner, next, possible);
}

// The heap has no place to name then.
static struct seep_error *answer_grows_beside(struct maker *maker) {
    const struct seep_view *view = maker->view;
    for (size_t p = 0; p < view->nr_processes; p++) {
        const struct seep_growth *growth = view->session->profiles[view->first_process + p]->growth;
        if (!growth || !seep_growth_is_beside_heap(growth))
            continue;
        struct seep_finding finding = {
            .kind = SEEP_FINDING_GROWS, .bad = true, .value = (uint64_t)(growth->rss.trend.slope * 60)};
        return add(maker, &finding, "resident memory by %s a minute, and no place of the heap",
                   seep_format_bytes(finding.value).text);
    }
    return NULL;
}

// Whether the process runs, or ran until somebody ended it, as a server does.
static bool is_to_run_on(const struct seep_process *process) {
    int end = process->exit_kind == SEEP_EXIT_SIGNAL ? process->exit_value : 0;
    return (process->exit_kind == SEEP_EXIT_RUNNING && !process->is_past) || end == SIGHUP || end == SIGINT ||
           end == SIGTERM || end == SIGKILL;
}

// Only looks over time tell what grows. Without them: who holds most of a server's heap and has freed
// nothing.
static struct seep_error *answer_may_grow(struct maker *maker) {
    enum { LEAST_BLOCKS = 100 };
    const int64_t least_ns = INT64_C(1000000000);
    const struct seep_view *view = maker->view;
    const struct seep_profile *profile = view->session->profiles[view->first_process];
    const struct seep_view_leaders *leaders = &view->leaders[SEEP_LEAD_LIVE];
    const struct seep_counters *counters = &leaders->rows[0].counters;
    // A few samples without a free do not tell that nothing was freed.
    bool few = profile->health.sample_bytes && profile->nr_blocks < LEAST_BLOCKS;
    if (few || view->nr_processes != 1 || view->filtered || profile->growth ||
        profile->process.duration_ns < least_ns || !is_to_run_on(&profile->process) || !leaders->nr_rows ||
        leaders->values[0] < leaders->all / 2 || counters->frees || counters->allocations < LEAST_BLOCKS)
        return NULL;
    struct seep_finding finding = {.kind = SEEP_FINDING_GROWS};
    struct seep_error *error = put_place(maker, leaders, &finding);
    if (error || !finding.place)
        return error;
    finding.value = finding.place_value;
    bool runs = profile->process.exit_kind == SEEP_EXIT_RUNNING;
    return add(maker, &finding, "not known: none of %s blocks from %s was freed; '%s' tells",
               seep_format_count(counters->allocations).text, finding.place,
               runs ? "seep growth PID" : "seep run --interval 1s");
}

static struct seep_error *answer_grows(struct maker *maker) {
    const struct seep_view *view = maker->view;
    if (!view->nr_growing) {
        size_t before = maker->summary->nr_findings;
        struct seep_error *beside = answer_grows_beside(maker);
        return beside || maker->summary->nr_findings > before ? beside : answer_may_grow(maker);
    }
    const struct seep_view_row *row = &view->growing[0];
    double per_minute = row->growth->trend.slope * 60;
    struct seep_finding finding = {.kind = SEEP_FINDING_GROWS, .bad = true, .value = (uint64_t)per_minute};
    finding.place_value = finding.value;
    struct seep_error *error = seep_summary_place(maker->view, row->node, &finding.place);
    if (error)
        return error;
    return add(maker, &finding, "%s site%s without bound, fastest %s: %s a minute",
               seep_format_count(view->nr_growing_all).text, seep_plural(view->nr_growing_all),
               finding.place ? finding.place : "one whose stack is not known",
               seep_format_bytes(finding.value).text);
}

static struct seep_error *answer_frees(struct maker *maker) {
    const struct seep_view *view = maker->view;
    struct seep_finding finding = {.kind = SEEP_FINDING_FREES, .bad = true};
    for (size_t i = 0; i < view->nr_wrong_releases; i++)
        seep_add_up(&finding.value, view->wrong_releases[i].what.count);
    if (!finding.value)
        return NULL;
    finding.place_value = view->wrong_releases[0].what.count;
    struct seep_error *error =
        seep_summary_place(maker->view, view->wrong_releases[0].at.node, &finding.place);
    if (error)
        return error;
    return add(maker, &finding, "%s block%s freed in a wrong way, by %s",
               seep_format_count(finding.value).text, seep_plural(finding.value),
               finding.place ? finding.place : "a stack that is not known");
}

// The places of the first `nr` rows, each once: "a (x.c:1)", "a (x.c:1) and b (x.c:2)", "..., ... and 1 more
// place".
static struct seep_error *name_places(struct maker *maker, const struct seep_view_leaders *leaders, size_t nr,
                                      const char **ret_text) {
    struct seep_arena *arena = &maker->view->arena;
    const char *places[SEEP_VIEW_LEADERS];
    size_t nr_places = 0;
    for (size_t i = 0; i < nr; i++) {
        const char *place;
        struct seep_error *error = seep_summary_place(maker->view, leaders->rows[i].node, &place);
        if (error)
            return error;
        size_t known = 0;
        while (place && known < nr_places && strcmp(places[known], place) != 0)
            known++;
        if (place && known == nr_places)
            places[nr_places++] = place;
    }
    *ret_text = nr_places == 0   ? "stacks that are not known"
                : nr_places == 1 ? places[0]
                : nr_places == 2 ? seep_arena_printf(arena, "%s and %s", places[0], places[1])
                                 : seep_arena_printf(arena, "%s, %s and %zu more place%s", places[0],
                                                     places[1], nr_places - 2, seep_plural(nr_places - 2));
    return *ret_text ? NULL : seep_error_no_memory();
}

// How many rows have most of it; 0: it is spread over more.
static size_t nr_with_most(const struct seep_view_leaders *leaders, uint64_t *ret_part) {
    size_t nr = 0;
    *ret_part = 0;
    while (nr < leaders->nr_rows && (double)*ret_part < 0.8 * (double)leaders->all)
        seep_add_up(ret_part, leaders->values[nr++]);
    return (double)*ret_part < 0.8 * (double)leaders->all ? 0 : nr;
}

// The emergency pool of the C++ library tells nothing about the program. Where it is among the leaders it is
// taken out of them; *ret_bytes is 0 where it is not.
static struct seep_error *take_out_pool(struct maker *maker, struct seep_view_leaders *leaders,
                                        uint64_t *ret_bytes) {
    uint64_t part;
    size_t nr = SEEP_MAX(nr_with_most(leaders, &part), (size_t)1);
    *ret_bytes = 0;
    for (size_t i = 0; i < nr && leaders->nr_rows > 1; i++) {
        bool is_pool;
        struct seep_error *error =
            seep_is_exception_pool(maker->view->stacks, leaders->rows[i].node, &is_pool);
        if (error)
            return error;
        if (!is_pool)
            continue;
        *ret_bytes = leaders->values[i];
        leaders->all -= *ret_bytes;
        leaders->nr_rows--;
        for (; i < leaders->nr_rows; i++) {
            leaders->rows[i] = leaders->rows[i + 1];
            leaders->values[i] = leaders->values[i + 1];
        }
    }
    return NULL;
}

// ", 91.2% from PLACE and PLACE", or ": 71.0 KiB of libstdc++'s emergency pool, 91.2% of the rest from
// PLACE": as few rows as have most of it.
static struct seep_error *put_concentration(struct maker *maker, enum seep_lead lead,
                                            struct seep_finding *finding, const char **ret_text) {
    struct seep_view *view = maker->view;
    struct seep_view_leaders leaders = view->leaders[lead];
    *ret_text = "";
    if (!leaders.nr_rows)
        return NULL;
    uint64_t pool_bytes, part;
    struct seep_error *error = take_out_pool(maker, &leaders, &pool_bytes);
    if (!error)
        error = put_place(maker, &leaders, finding);
    if (error || !finding->place)
        return error;
    size_t nr = nr_with_most(&leaders, &part);
    bool spread = !nr;
    if (spread) {
        nr = 1;
        part = leaders.values[0];
    }
    const char *places;
    error = name_places(maker, &leaders, nr, &places);
    if (error)
        return error;
    const char *share = part == leaders.all ? "all"
                                            : seep_arena_printf(&view->arena, "%s",
                                                                seep_format_share(part, leaders.all).text);
    // The pool is a part of what the line says first; the share is of what is left of it.
    const char *pool = pool_bytes ? seep_arena_printf(&view->arena, ": %s of libstdc++'s emergency pool",
                                                      seep_format_bytes(pool_bytes).text)
                                  : "";
    if (!share || !pool)
        return seep_error_no_memory();
    const char *rest = pool_bytes ? " of the rest" : "";
    *ret_text = spread ? seep_arena_printf(&view->arena, "%s, the largest part%s (%s) from %s", pool, rest,
                                           share, places)
                       : seep_arena_printf(&view->arena, "%s, %s%s from %s", pool, share, rest, places);
    return *ret_text ? NULL : seep_error_no_memory();
}

static struct seep_error *answer_holds(struct maker *maker) {
    const struct seep_view *view = maker->view;
    if (!(view->all.known & SEEP_KNOWN_LIVE))
        return NULL;
    uint64_t blocks = (uint64_t)SEEP_MAX(view->all.live_blocks, INT64_C(0));
    struct seep_finding finding = {.kind = SEEP_FINDING_HOLDS,
                                   .value = (uint64_t)SEEP_MAX(view->all.live_bytes, INT64_C(0))};
    if (!blocks)
        return add(maker, &finding, "nothing%s",
                   view->filtered ? " that matches the filters" : ": all was freed");
    const char *who;
    struct seep_error *error = put_concentration(maker, SEEP_LEAD_LIVE, &finding, &who);
    if (error)
        return error;
    return add(maker, &finding, "%s in %s block%s%s", seep_format_bytes(finding.value).text,
               seep_format_count(blocks).text, seep_plural(blocks), who);
}

// Of one process: peaks of several do not add up.
static struct seep_error *answer_peak(struct maker *maker) {
    const struct seep_view *view = maker->view;
    struct seep_finding finding = {.kind = SEEP_FINDING_PEAK, .value = view->totals.peak_bytes};
    if (view->nr_processes != 1 || view->filtered || !finding.value)
        return NULL;
    const char *who;
    struct seep_error *error = put_concentration(maker, SEEP_LEAD_PEAK, &finding, &who);
    if (error || !finding.place) // the totals say how high it was
        return error;
    return add(maker, &finding, "%s%s", seep_format_bytes(finding.value).text, who);
}

// Blocks that live a while and are then replaced, as a new container for each round: no block is freed at
// once, but all of them together are many times what was ever live. Of one process, as the peak is.
static struct seep_error *answer_turnover(struct maker *maker) {
    enum { LEAST_ALLOCATIONS = 10000, LEAST_TIMES = 20 };
    const struct seep_view *view = maker->view;
    const struct seep_counters *all = &view->all.counters;
    struct seep_finding finding = {.kind = SEEP_FINDING_CHURN, .value = all->allocations};
    uint64_t peak = view->totals.peak_bytes;
    if (view->nr_processes != 1 || view->filtered || !peak || all->allocations < LEAST_ALLOCATIONS ||
        all->allocated_bytes / LEAST_TIMES < peak)
        return NULL;
    struct seep_error *error = put_place(maker, &view->leaders[SEEP_LEAD_ALLOCATED], &finding);
    if (error || !finding.place || finding.place_value < all->allocations / 2)
        return error;
    return add(maker, &finding, "%s allocations of %s, %s times the peak, most (%s) from %s",
               seep_format_count(all->allocations).text, seep_format_bytes(all->allocated_bytes).text,
               seep_format_count(all->allocated_bytes / peak).text,
               seep_format_count(finding.place_value).text, finding.place);
}

// Where it is much: half of the allocations, or a tenth by one place, and a thousand. Of blocks that come in
// pairs and go together only the last is freed at once.
static struct seep_error *answer_churn(struct maker *maker) {
    const struct seep_view *view = maker->view;
    uint64_t all = view->all.counters.allocations;
    struct seep_finding finding = {.kind = SEEP_FINDING_CHURN, .value = view->all.counters.temporary};
    if (!(view->all.known & SEEP_KNOWN_TEMPORARY))
        return NULL;
    struct seep_error *error = put_place(maker, &view->leaders[SEEP_LEAD_TEMPORARY], &finding);
    if (error)
        return error;
    if (finding.value < 1000 || !finding.place || (finding.value < all / 2 && finding.place_value < all / 10))
        return answer_turnover(maker);
    return add(maker, &finding, "%s of %s allocations freed at once, most (%s) from %s",
               seep_format_share(finding.value, all).text, seep_format_count(all).text,
               seep_format_count(finding.place_value).text, finding.place);
}

static bool only_calls(const struct seep_view *view) {
    for (size_t p = 0; p < view->nr_processes; p++)
        if (!(view->session->profiles[view->first_process + p]->health.flags & SEEP_FLAG_CALLS))
            return false;
    return true;
}

struct seep_error *seep_summary_make(struct seep_view *view, const char *source,
                                     struct seep_summary *ret_summary) {
    static struct seep_error *(*const answers[])(struct maker *) = {answer_leaks, answer_grows, answer_frees,
                                                                    answer_holds, answer_peak,  answer_churn};
    *ret_summary = (struct seep_summary){.source = source};
    struct maker maker = {view, ret_summary};
    if (view->options.by != SEEP_BY_SITE || only_calls(view))
        return NULL;
    if (!view->totals.allocations)
        return answer_grows(&maker);
    struct seep_error *error = NULL;
    for (size_t i = 0; !error && i < SEEP_ARRAY_SIZE(answers); i++)
        error = answers[i](&maker);
    return error;
}

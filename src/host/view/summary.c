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
#include "base/text_same.h"
#include "base/words.h"
#include "profile/verdict.h"
#include "view/exception_pool.h"
#include "view/stacks.h"
#include "view/summary.h"
#include "view/summary_places.h"

struct maker {
    struct seep_view *view;
    struct seep_summary *summary;
};

const char *seep_finding_name(enum seep_finding_kind kind) {
    static const char *const names[SEEP_FINDING_NR] = {"leaks", "grows", "frees", "holds", "peak", "churn"};
    return names[kind];
}

// The finding gets the place that has most of it. Without leaders it has none.
static void put_place(const struct seep_places *places, struct seep_finding *finding) {
    finding->place = places->nr ? places->of[0].name : NULL;
    finding->place_value = places->nr ? places->of[0].value : 0;
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

static void show_by(struct seep_finding *finding, const char *command, const char *options,
                    const char *shows) {
    finding->command = command;
    finding->options = options;
    finding->shows = shows;
}

// The recording that the session is of, as far as that is known.
static bool is_recording(const struct seep_view *view) {
    return view->session->event_index_off != 0;
}

// Names a process, whose history is not kept.
static bool is_pid(const char *source) {
    return !source || source[strspn(source, "0123456789")] == '\0';
}

// ---- the answers ----

// Whether every process with live blocks was scanned. Processes that went on by exec were not, and are
// counted in *ret_gone.
static bool is_scanned(const struct seep_view *view, size_t *ret_gone) {
    size_t nr = 0;
    *ret_gone = 0;
    for (size_t p = 0; p < view->nr_processes; p++) {
        const struct seep_profile *profile = view->session->profiles[view->first_process + p];
        bool is_gone = seep_process_went_on(&profile->process);
        if (!profile->leaks.known && profile->totals.live_blocks && !is_gone)
            return false;
        nr += profile->leaks.known;
        *ret_gone += !profile->leaks.known && profile->totals.live_blocks && is_gone;
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
        // A note says it then; or the moment is after the end, and the report of the end has the scan.
        if (profile->leaks.known || seep_profile_why_not_looked(profile) ||
            seep_profile_has_note(profile, SEEP_NOTE_AFTER_END)) {
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
static struct seep_error *name_owner(struct seep_view *view, const struct seep_view_leader *row,
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
static struct seep_error *name_next(struct maker *maker, const struct seep_places *places,
                                    const struct seep_finding *finding, const char **ret_text) {
    *ret_text = "";
    size_t next = 1;
    while (next < places->nr && !places->of[next].name)
        next++;
    if (next >= places->nr || (double)places->of[next].value < 0.05 * (double)finding->value)
        return NULL;
    *ret_text = seep_arena_printf(&maker->view->arena, ", %s from %s",
                                  seep_format_share(places->of[next].value, finding->value).text,
                                  places->of[next].name);
    return *ret_text ? NULL : seep_error_no_memory();
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

static bool has_cycles(const struct seep_view *view) {
    for (size_t p = 0; p < view->nr_processes && !view->filtered; p++)
        if (seep_profile_has_note(view->session->profiles[view->first_process + p], SEEP_NOTE_LOST_CYCLES))
            return true;
    return false;
}

static struct seep_error *answer_leaks(struct maker *maker) {
    const struct seep_view *view = maker->view;
    const struct seep_view_kinds *kinds = &view->all.kinds;
    uint64_t blocks = kinds->blocks[SEEP_KIND_LOST], bytes = kinds->bytes[SEEP_KIND_LOST];
    seep_add_up(&blocks, kinds->blocks[SEEP_KIND_INDIRECT]);
    seep_add_up(&bytes, kinds->bytes[SEEP_KIND_INDIRECT]);
    struct seep_finding finding = {.kind = SEEP_FINDING_LEAKS, .bad = blocks != 0, .value = bytes};
    if (blocks && (uint64_t)SEEP_MAX(view->all.live_blocks, INT64_C(0)) > blocks && !view->options.kinds)
        show_by(&finding, "report", "--kind lost,indirect", "only what is lost");
    if (view->options.sort == SEEP_SORT_GROWTH) // who asks what grows is not told what is lost
        return NULL;
    if (!blocks) {
        size_t nr_gone;
        char gone[96] = "";
        if (!is_scanned(view, &nr_gone)) {
            const char *why;
            struct seep_error *error = seep_summary_why_not_known(maker->view, &why);
            return error || !why ? error : add(maker, &finding, "not known: %s", why);
        }
        if (nr_gone)
            snprintf(gone, sizeof(gone), "; not scanned: %s process%s that went on by exec",
                     seep_format_count(nr_gone).text, seep_plural_es(nr_gone));
        const char *possible;
        struct seep_error *error = name_possible(maker->view, 0, &possible);
        return error ? error
                     : add(maker, &finding, "nothing%s is lost%s%s",
                           view->filtered ? " that matches the filters" : "", possible, gone);
    }
    const struct seep_view_leaders *leaders = &view->leaders[SEEP_LEAD_LEAKED];
    const char *possible;
    struct seep_places places;
    struct seep_error *error = name_possible(maker->view, bytes, &possible);
    if (!error)
        error = seep_places_find(maker->view, leaders, &places);
    if (error)
        return error;
    put_place(&places, &finding);
    if (!finding.place)
        return add(maker, &finding, "%s lost in %s block%s%s", seep_format_bytes(bytes).text,
                   seep_format_count(blocks).text, seep_plural(blocks), possible);
    bool all = finding.place_value >= bytes;
    const char *owner, *next, *caller;
    error = name_owner(maker->view, &leaders->rows[0], &owner);
    if (!error)
        error = seep_places_caller(maker->view, leaders, &places, true, &caller);
    if (!error)
        error = name_next(maker, &places, &finding, &next);
    if (error)
        return error;
    return add(maker, &finding, "%s lost in %s block%s%s, %s%s from %s%s%s%s%s",
               seep_format_bytes(bytes).text, seep_format_count(blocks).text, seep_plural(blocks),
               has_cycles(view) ? " (cycles among them)" : "",
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
        if (!view->options.rss &&
            view->session->profiles[view->first_process + p]->process.exit_kind == SEEP_EXIT_RUNNING)
            show_by(&finding, "report", "--rss", "what resident memory is made of");
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
    // A few samples without a free do not tell that nothing was freed.
    bool few = profile->health.sample_bytes && profile->nr_blocks < LEAST_BLOCKS;
    if (few || view->nr_processes != 1 || view->filtered || profile->growth ||
        profile->process.duration_ns < least_ns || !is_to_run_on(&profile->process))
        return NULL;
    struct seep_finding finding = {.kind = SEEP_FINDING_GROWS};
    struct seep_places places;
    struct seep_error *error = seep_places_find(maker->view, leaders, &places);
    if (error)
        return error;
    put_place(&places, &finding);
    finding.value = finding.place_value;
    uint64_t allocations = 0, frees = 0;
    for (size_t i = 0; i < leaders->nr_rows; i++)
        if (seep_places_first_has(&places, i)) {
            seep_add_up(&allocations, leaders->rows[i].allocations);
            seep_add_up(&frees, leaders->rows[i].frees);
        }
    if (!finding.place || finding.value < leaders->all / 2 || frees || allocations < LEAST_BLOCKS)
        return NULL;
    const char *tells = is_recording(view)                                ? "seep growth FILE"
                        : profile->process.exit_kind == SEEP_EXIT_RUNNING ? "seep growth PID"
                                                                          : "seep run --interval 1s";
    return add(maker, &finding, "not known: none of %s blocks from %s was freed; '%s' tells",
               seep_format_count(allocations).text, finding.place, tells);
}

static struct seep_error *answer_grows(struct maker *maker) {
    const struct seep_view *view = maker->view;
    if (!view->nr_growing) {
        size_t before = maker->summary->nr_findings;
        struct seep_error *beside = answer_grows_beside(maker);
        return beside || maker->summary->nr_findings > before ? beside : answer_may_grow(maker);
    }
    // Several sites may be of one place.
    const char *places[SEEP_VIEW_GROWING];
    double per_minute[SEEP_VIEW_GROWING] = {0};
    size_t nr = SEEP_MIN(view->nr_growing, (size_t)SEEP_VIEW_GROWING), most = 0;
    for (size_t i = 0; i < nr; i++) {
        struct seep_error *error = seep_summary_place(maker->view, view->growing[i].node, &places[i]);
        if (error)
            return error;
        size_t at = 0;
        while (!seep_text_same(places[at], places[i]))
            at++;
        per_minute[at] += view->growing[i].growth->trend.slope * 60;
        most = per_minute[at] > per_minute[most] ? at : most;
    }
    struct seep_finding finding = {.kind = SEEP_FINDING_GROWS,
                                   .bad = true,
                                   .value = (uint64_t)per_minute[most],
                                   .place = places[most],
                                   .place_value = (uint64_t)per_minute[most]};
    if (view->options.sort != SEEP_SORT_GROWTH)
        show_by(&finding, "growth", "", "each look, and how sure it is");
    else if (!is_pid(maker->summary->source))
        show_by(&finding, "history", "", "what each site held over time");
    const struct seep_view_row *row = &view->growing[most];
    const char *holder = NULL;
    struct seep_error *error =
        row->held ? seep_view_root(maker->view, row->held_process, row->held, &holder) : NULL;
    if (error)
        return error;
    return add(maker, &finding, "%s site%s without bound, fastest %s: %s a minute%s%s",
               seep_format_count(view->nr_growing_all).text, seep_plural(view->nr_growing_all),
               finding.place ? finding.place : "one whose stack is not known",
               seep_format_bytes(finding.value).text, holder ? "; held by " : "", holder ? holder : "");
}

static struct seep_error *answer_frees(struct maker *maker) {
    const struct seep_view *view = maker->view;
    struct seep_finding finding = {.kind = SEEP_FINDING_FREES, .bad = true};
    const struct seep_view_wrong_release *first = NULL;
    for (size_t i = 0; i < view->nr_wrong_releases; i++) {
        const struct seep_view_wrong_release *wrong = &view->wrong_releases[i];
        if (wrong->is_uncertain)
            continue;
        first = first ? first : wrong;
        seep_add_up(&finding.value, wrong->what.count);
    }
    if (!first)
        return NULL;
    finding.place_value = first->what.count;
    struct seep_error *error = seep_summary_place(maker->view, first->at.node, &finding.place);
    if (error)
        return error;
    return add(maker, &finding, "%s block%s freed in a wrong way, by %s",
               seep_format_count(finding.value).text, seep_plural(finding.value),
               finding.place ? finding.place : "a stack that is not known");
}

// Removes the place of that name, which tells nothing about the program. Returns its bytes.
static uint64_t take_out(struct seep_places *places, const char *name) {
    size_t at = 0;
    while (at < places->nr && !seep_text_same(places->of[at].name, name))
        at++;
    if (at == places->nr || places->nr == 1)
        return 0;
    uint64_t bytes = places->of[at].value;
    for (places->nr--; at < places->nr; at++)
        places->of[at] = places->of[at + 1];
    return bytes;
}

enum { NR_NAMED = 3 };

// As few places as have most of it, each with its share: ", 64.0% from PLACE, 30.1% from PLACE". Where it is
// spread over more places, those of them that have a tenth of it, but at least one. What is suppressed is in
// no place, and comes first where it is more than the first of them.
static struct seep_error *name_places(struct maker *maker, const struct seep_places *places, uint64_t all,
                                      uint64_t suppressed, const char *rest, const char **ret_text) {
    bool hidden = suppressed > places->of[0].value;
    uint64_t part = hidden ? suppressed : 0;
    size_t nr = 0;
    while (nr < SEEP_MIN(places->nr, (size_t)NR_NAMED) && (!nr || (double)part < 0.8 * (double)all) &&
           (!nr || (double)places->of[nr].value >= 0.1 * (double)all))
        seep_add_up(&part, places->of[nr++].value);
    bool spread = (double)part < 0.8 * (double)all;
    const char *text = spread && nr > 1 ? ", the largest parts " : spread ? ", the largest part " : ", ";
    if (hidden)
        text = seep_arena_printf(&maker->view->arena, "%s%s%s suppressed, ", text,
                                 seep_format_share(suppressed, all).text, rest);
    for (size_t i = 0; text && i < nr; i++) {
        bool whole = places->of[i].value >= all;
        struct seep_number share = seep_format_share(places->of[i].value, all);
        text = seep_arena_printf(&maker->view->arena, "%s%s%s%s from %s", text, i ? ", " : "",
                                 whole ? "all" : share.text, i || hidden ? "" : rest,
                                 places->of[i].name ? places->of[i].name : "stacks that are not known");
    }
    *ret_text = text;
    return text ? NULL : seep_error_no_memory();
}

// "71.0 KiB of libstdc++'s emergency pool", "4.00 KiB of buffers of stdio", or both with "and"; "": neither.
// 0: it is not named.
static struct seep_error *name_taken_out(struct maker *maker, uint64_t pool, uint64_t stdio,
                                         const char **ret_text) {
    bool both = pool && stdio;
    *ret_text = "";
    if (!pool && !stdio)
        return NULL;
    *ret_text =
        seep_arena_printf(&maker->view->arena, "%s%s%s%s%s", pool ? seep_format_bytes(pool).text : "",
                          pool ? " of libstdc++'s emergency pool" : "", both ? " and " : "",
                          stdio ? seep_format_bytes(stdio).text : "", stdio ? " of " SEEP_STDIO_BUFFERS : "");
    return *ret_text ? NULL : seep_error_no_memory();
}

// ", 91.2% from PLACE", or ": 71.0 KiB of libstdc++'s emergency pool, 91.2% of the rest from PLACE".
// *ret_rest: the bytes that are not taken out.
static struct seep_error *put_concentration(struct maker *maker, const struct seep_view_leaders *leaders,
                                            struct seep_finding *finding, const char **ret_text,
                                            uint64_t *ret_rest) {
    struct seep_places places;
    *ret_text = "";
    struct seep_error *error = seep_places_find(maker->view, leaders, &places);
    if (error)
        return error;
    // Suppressed blocks are among live blocks, and not among leaders.
    bool is_live = leaders == &maker->view->leaders[SEEP_LEAD_LIVE];
    uint64_t all = is_live ? SEEP_MAX(leaders->all, finding->value) : leaders->all;
    uint64_t suppressed =
        SEEP_MIN(all - leaders->all, (uint64_t)SEEP_MAX(maker->view->all.suppressed_bytes, INT64_C(0)));
    uint64_t pool = take_out(&places, SEEP_EXCEPTION_POOL), stdio = take_out(&places, SEEP_STDIO_BUFFERS);
    pool = pool < all / 10 ? 0 : pool;
    // A tenth of what the pool leaves, not of all: beside the pool, buffers that are nearly all of the rest
    // would not be named.
    stdio = stdio < (all - pool) / 10 ? 0 : stdio;
    *ret_rest = all - pool - stdio;
    const char *taken_out;
    error = name_taken_out(maker, pool, stdio, &taken_out);
    put_place(&places, finding);
    if (error || !finding->place)
        return error;
    if (seep_text_same(places.of[0].name, SEEP_STDIO_BUFFERS) && places.of[0].value >= *ret_rest) {
        *ret_text = seep_arena_printf(&maker->view->arena, ": %s%s" SEEP_STDIO_BUFFERS ", nothing else",
                                      taken_out, *taken_out ? " and " : "");
        return *ret_text ? NULL : seep_error_no_memory();
    }
    // What is taken out is a part of the line's first figure. The share is of what is left.
    error = name_places(maker, &places, *ret_rest, suppressed, *taken_out ? " of the rest" : "", ret_text);
    const char *caller = "";
    if (!error && (double)places.of[0].value >= 0.8 * (double)*ret_rest) // it alone is named
        error = seep_places_caller(maker->view, leaders, &places, false, &caller);
    if (error || (!*taken_out && !*caller))
        return error;
    *ret_text = seep_arena_printf(&maker->view->arena, "%s%s%s%s", *taken_out ? ": " : "", taken_out,
                                  *ret_text, caller);
    return *ret_text ? NULL : seep_error_no_memory();
}

// Whether the holder is a list of the loader, which says nothing of the program.
static bool is_of_loader(const struct seep_profile *profile, const struct seep_holder *holder) {
    const struct seep_link *root = holder->chain ? &holder->chain->links[0] : NULL;
    return root && root->kind == SEEP_LINK_DATA && root->id < profile->nr_modules &&
           strncmp(seep_file_name(profile->modules[root->id].path), "ld-", 3) == 0;
}

// "; held by VARIABLE", or "; 71.2% held by VARIABLE": the first holder that has a tenth of all and more. "":
// there is none, or not one process that was scanned.
static struct seep_error *name_holder(struct maker *maker, uint64_t all, const char **ret_text) {
    struct seep_view *view = maker->view;
    const struct seep_leaks *leaks = &view->session->profiles[view->first_process]->leaks;
    *ret_text = "";
    for (uint32_t i = 0; all && view->nr_processes == 1 && !view->filtered && i < leaks->nr_holders; i++) {
        const struct seep_holder *holder = &leaks->holders[i];
        const char *text;
        bool tells_nothing;
        if (holder->bytes < all / 10)
            return NULL;
        if (is_of_loader(view->session->profiles[view->first_process], holder))
            continue;
        struct seep_error *error =
            seep_view_holder_short(view, (uint32_t)view->first_process, holder, &text, &tells_nothing);
        if (error)
            return error;
        if (tells_nothing || !text)
            continue;
        bool whole = (double)holder->bytes >= 0.95 * (double)all;
        *ret_text = seep_arena_printf(&view->arena, "; %s%sheld by %s",
                                      whole ? "" : seep_format_share(holder->bytes, all).text,
                                      whole ? "" : " ", text);
        return *ret_text ? NULL : seep_error_no_memory();
    }
    return NULL;
}

static struct seep_error *answer_holds(struct maker *maker) {
    const struct seep_view *view = maker->view;
    if (!(view->all.known & SEEP_KNOWN_LIVE))
        return NULL;
    const struct seep_view_row *sum = &view->all;
    uint64_t blocks = (uint64_t)SEEP_MAX(sum->live_blocks - sum->gone_blocks, INT64_C(0));
    struct seep_finding finding = {.kind = SEEP_FINDING_HOLDS,
                                   .value =
                                       (uint64_t)SEEP_MAX(sum->live_bytes - sum->gone_bytes, INT64_C(0))};
    if (!blocks)
        return add(maker, &finding, "nothing%s%s",
                   view->filtered ? " that matches the filters" : ": all was freed",
                   sum->gone_blocks ? ", or was gone at an exec" : "");
    const char *who, *holder;
    uint64_t rest = 0;
    struct seep_error *error =
        put_concentration(maker, &view->leaders[SEEP_LEAD_LIVE], &finding, &who, &rest);
    if (!error)
        error = name_holder(maker, rest, &holder);
    if (error)
        return error;
    return add(maker, &finding, "%s in %s block%s%s%s", seep_format_bytes(finding.value).text,
               seep_format_count(blocks).text, seep_plural(blocks), who, holder);
}

// Peaks of several processes do not add up, so the answer is the highest of them.
static struct seep_error *answer_peak_of_one(struct maker *maker) {
    struct seep_view *view = maker->view;
    struct seep_profile *const *profiles = view->session->profiles;
    size_t highest = view->first_process;
    for (size_t p = highest; p < view->first_process + view->nr_processes; p++)
        highest = profiles[p]->totals.peak_bytes > profiles[highest]->totals.peak_bytes ? p : highest;
    const struct seep_process *process = &profiles[highest]->process;
    struct seep_finding finding = {.kind = SEEP_FINDING_PEAK, .value = profiles[highest]->totals.peak_bytes};
    struct seep_view_leaders leaders;
    const char *who;
    uint64_t rest;
    struct seep_error *error = seep_view_peak_leaders(view, highest, &leaders);
    if (!error)
        error = put_concentration(maker, &leaders, &finding, &who, &rest);
    if (error || !finding.place)
        return error;
    return add(maker, &finding, "%s in %s, pid %" PRIu32 "%s", seep_format_bytes(finding.value).text,
               process->name, process->pid, who);
}

static struct seep_error *answer_peak(struct maker *maker) {
    const struct seep_view *view = maker->view;
    struct seep_finding finding = {.kind = SEEP_FINDING_PEAK, .value = view->totals.peak_bytes};
    if (view->filtered || !finding.value)
        return NULL;
    if (view->nr_processes > 1)
        return answer_peak_of_one(maker);
    // Much of it is gone again. What is live is in the rows.
    if (view->options.sort != SEEP_SORT_PEAK &&
        (double)SEEP_MAX(view->totals.live_bytes, UINT64_C(0)) < 0.9 * (double)finding.value)
        show_by(&finding, "report", is_recording(view) ? "--at peak" : "--sort peak",
                "who held most at the peak");
    const char *who;
    uint64_t rest;
    struct seep_error *error =
        put_concentration(maker, &view->leaders[SEEP_LEAD_PEAK], &finding, &who, &rest);
    if (error || !finding.place) // the totals say how high it was
        return error;
    return add(maker, &finding, "%s%s", seep_format_bytes(finding.value).text, who);
}

// What the first place of the leaders has allocated, and what it held at most.
struct turnover {
    uint64_t allocations;
    uint64_t allocated;
    uint64_t held; // an upper bound for several sites
    bool exact;
    bool by_realloc; // all of it: blocks are only made longer
};

static struct turnover turnover_of(const struct seep_view *view, const struct seep_view_leaders *leaders,
                                   const struct seep_places *places) {
    struct turnover sum = {.exact = view->nr_processes == 1, .by_realloc = true};
    for (size_t i = 0; i < leaders->nr_rows; i++) {
        const struct seep_view_leader *row = &leaders->rows[i];
        if (!seep_places_first_has(places, i))
            continue;
        sum.exact = sum.exact && row->peak_exact;
        sum.by_realloc = sum.by_realloc && row->via == SEEP_VIA_REALLOC;
        seep_add_up(&sum.allocations, row->allocations);
        seep_add_up(&sum.allocated, row->allocated_bytes);
        seep_add_up(&sum.held, row->peak_bytes);
    }
    return sum;
}

// Few blocks that are made or made longer again and again, beside many others: the bytes tell it, not the
// number of allocations.
static struct seep_error *answer_bytes(struct maker *maker) {
    enum { LEAST_ALLOCATIONS = 1000, LEAST_BYTES = 10 << 20, LEAST_TIMES = 20 };
    const struct seep_view *view = maker->view;
    const struct seep_view_leaders *leaders = &view->leaders[SEEP_LEAD_BYTES];
    struct seep_finding finding = {.kind = SEEP_FINDING_CHURN};
    struct seep_places places;
    struct seep_error *error = seep_places_find(maker->view, leaders, &places);
    if (error)
        return error;
    put_place(&places, &finding);
    if (!finding.place || view->sampled || view->filtered || leaders->all < LEAST_BYTES ||
        finding.place_value < leaders->all / 2)
        return NULL;
    const struct turnover sum = turnover_of(view, leaders, &places);
    if (sum.allocations < LEAST_ALLOCATIONS || sum.allocated / LEAST_TIMES < sum.held)
        return NULL;
    if (view->options.sort != SEEP_SORT_BYTES)
        show_by(&finding, "report", "--sort bytes", "who allocates most bytes");
    const char *caller;
    error = seep_places_caller(maker->view, leaders, &places, true, &caller);
    if (error)
        return error;
    finding.value = view->all.counters.allocations;
    finding.place_value = sum.allocations;
    return add(maker, &finding, "%s of the %s allocated in all from %s%s%s: %s %s at once",
               seep_format_share(sum.allocated, leaders->all).text, seep_format_bytes(leaders->all).text,
               finding.place, caller, sum.by_realloc ? ", by realloc" : "", sum.exact ? "at most" : "about",
               seep_format_bytes(sum.held).text);
}

// Blocks that live a while and are then replaced, as a new container for each round: no block is freed at
// once, but the place has allocated many times what it ever held.
static struct seep_error *answer_turnover(struct maker *maker) {
    enum { LEAST_ALLOCATIONS = 10000, LEAST_TIMES = 20 };
    const struct seep_view *view = maker->view;
    const struct seep_view_leaders *leaders = &view->leaders[SEEP_LEAD_ALLOCATED];
    struct seep_finding finding = {.kind = SEEP_FINDING_CHURN, .value = view->all.counters.allocations};
    struct seep_places places;
    struct seep_error *error = seep_places_find(maker->view, leaders, &places);
    if (error)
        return error;
    put_place(&places, &finding);
    if (!finding.place || view->sampled || view->filtered || finding.place_value < LEAST_ALLOCATIONS ||
        finding.place_value < finding.value / 2)
        return answer_bytes(maker);
    const struct turnover sum = turnover_of(view, leaders, &places);
    if (sum.allocated / LEAST_TIMES < sum.held)
        return answer_bytes(maker);
    if (view->options.sort != SEEP_SORT_ALLOCATIONS)
        show_by(&finding, "report", "--sort allocations", "who allocates most");
    const char *caller;
    error = seep_places_caller(maker->view, leaders, &places, true, &caller);
    if (error)
        return error;
    return add(maker, &finding, "%s of %s allocations from %s%s: %s in all, %s %s at once",
               seep_format_share(finding.place_value, finding.value).text,
               seep_format_count(finding.value).text, finding.place, caller,
               seep_format_bytes(sum.allocated).text, sum.exact ? "at most" : "about",
               seep_format_bytes(sum.held).text);
}

// ", by realloc: 296 MiB in all, at most 399 KiB at once", for a place where blocks are only made longer. "":
// for any other place.
static struct seep_error *name_growing(struct maker *maker, const struct seep_view_leaders *leaders,
                                       const struct seep_places *places, const char **ret_text) {
    const struct turnover sum = turnover_of(maker->view, leaders, places);
    *ret_text = "";
    if (!sum.by_realloc || maker->view->sampled)
        return NULL;
    *ret_text = seep_arena_printf(&maker->view->arena, ", by realloc: %s in all, %s %s at once",
                                  seep_format_bytes(sum.allocated).text, sum.exact ? "at most" : "about",
                                  seep_format_bytes(sum.held).text);
    return *ret_text ? NULL : seep_error_no_memory();
}

// Where it is much: half of the allocations, or a tenth by one place, and a thousand. Of blocks that come in
// pairs and go together only the last is freed at once.
static struct seep_error *answer_churn(struct maker *maker) {
    const struct seep_view *view = maker->view;
    uint64_t all = view->all.counters.allocations;
    struct seep_finding finding = {.kind = SEEP_FINDING_CHURN, .value = view->all.counters.temporary};
    if (!(view->all.known & SEEP_KNOWN_TEMPORARY))
        return NULL;
    struct seep_places places;
    struct seep_error *error = seep_places_find(maker->view, &view->leaders[SEEP_LEAD_TEMPORARY], &places);
    if (error)
        return error;
    put_place(&places, &finding);
    if (finding.value < 1000 || !finding.place || (finding.value < all / 2 && finding.place_value < all / 10))
        return answer_turnover(maker);
    if (view->options.sort != SEEP_SORT_TEMPORARY)
        show_by(&finding, "report", "--sort temporary", "who allocates only to free at once");
    const char *caller, *growing;
    error = seep_places_caller(maker->view, &view->leaders[SEEP_LEAD_TEMPORARY], &places, true, &caller);
    if (!error)
        error = name_growing(maker, &view->leaders[SEEP_LEAD_TEMPORARY], &places, &growing);
    if (error)
        return error;
    return add(maker, &finding, "%s of %s allocations freed at once, most (%s) from %s%s%s",
               seep_format_share(finding.value, all).text, seep_format_count(all).text,
               seep_format_count(finding.place_value).text, finding.place, caller, growing);
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

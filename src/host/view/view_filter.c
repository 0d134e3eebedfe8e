// SPDX-License-Identifier: BSD-2-Clause
//
// Filters of a view: which sites, threads and blocks pass, and whether what is kept of the heap is enough to
// tell.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "profile/marks.h"
#include "view/view_build.h"

static bool matches(const regex_t *regex, const char *text) {
    return text && regexec(regex, text, 0, NULL, 0) == 0;
}

// ---- blocks and threads ----

uint8_t seep_view_kind_of(const struct seep_view_part *part, const struct seep_block *block) {
    const struct seep_profile *profile = part->profile;
    return profile->block_kinds ? profile->block_kinds[block - profile->blocks] : SEEP_KIND_UNKNOWN;
}

static bool age_ok(const struct seep_view_options *options, const struct seep_view_part *part,
                   const struct seep_block *block) {
    int64_t born_ns = seep_time_less(part->profile->process.duration_ns, block->age_ns);
    if (options->older_ns >= 0 && block->age_ns < options->older_ns)
        return false;
    return block->age_ns >= 0 && born_ns >= part->born_least_ns && born_ns < part->born_most_ns;
}

bool seep_view_block_ok(const struct seep_view_build *build, const struct seep_view_part *part,
                        const struct seep_block *block) {
    const struct seep_view_options *options = &build->view->options;
    if (block->site >= part->profile->nr_sites || !part->site_ok[block->site])
        return false;
    if (block->size < options->min_size || block->size > options->max_size)
        return false;
    if (build->filter_ages && !age_ok(options, part, block))
        return false;
    uint8_t kind = build->kinds ? seep_view_kind_of(part, block) : SEEP_KIND_UNKNOWN;
    if (build->kinds &&
        (!(build->kinds >> kind & 1) ||
         seep_profile_block_suppressed(part->profile, (size_t)(block - part->profile->blocks))))
        return false;
    if (options->thread)
        return block->thread < part->profile->nr_threads && part->thread_ok[block->thread];
    return true;
}

static bool thread_matches(const regex_t *regex, const struct seep_thread *thread) {
    char tid[16];
    snprintf(tid, sizeof(tid), "%" PRIu32, thread->tid);
    return matches(regex, thread->name) || matches(regex, tid);
}

static struct seep_error *make_part(struct seep_view_build *build, struct seep_view_part *part) {
    const struct seep_profile *profile = part->profile;
    const struct seep_view_options *options = &build->view->options;
    size_t nr_sites = SEEP_MAX(profile->nr_sites, 1u);
    part->site_ok = calloc(nr_sites, sizeof(*part->site_ok));
    part->thread_ok = calloc(SEEP_MAX(profile->nr_threads, 1u), sizeof(*part->thread_ok));
    part->site_row = calloc(nr_sites, sizeof(*part->site_row));
    if (!part->site_ok || !part->thread_ok || !part->site_row)
        return seep_error_no_memory();
    for (uint32_t i = 1; i < profile->nr_sites; i++)
        part->site_ok[i] = (!options->site || i == options->site) &&
                           (!build->filter_frames || build->node_passes[part->nodes[profile->sites[i].node]]);
    for (uint32_t i = 0; i < profile->nr_threads; i++)
        part->thread_ok[i] = !options->thread || thread_matches(options->thread, &profile->threads[i]);
    return NULL;
}

static bool all_blocks_name_threads(const struct seep_view_build *build) {
    for (size_t p = 0; p < build->nr_parts; p++) {
        const struct seep_profile *profile = build->parts[p].profile;
        if (profile->nr_blocks < profile->totals.live_blocks)
            return false;
        for (size_t i = 0; i < profile->nr_blocks; i++)
            if (profile->blocks[i].thread >= profile->nr_threads)
                return false;
    }
    return true;
}

static struct seep_error *check_blocks_kept(const struct seep_view_build *build, const char *option,
                                            bool ages) {
    uint64_t live = 0, nr_blocks = 0, aged = 0;
    for (size_t p = 0; p < build->nr_parts; p++) {
        const struct seep_profile *profile = build->parts[p].profile;
        seep_add_up(&live, profile->totals.live_blocks);
        nr_blocks += profile->nr_blocks;
        for (size_t i = 0; ages && i < profile->nr_blocks; i++)
            aged += profile->blocks[i].age_ns >= 0;
    }
    if (live && !nr_blocks)
        return seep_error_hint(
            seep_error_create(SEEP_E_UNSUPPORTED,
                              "%s needs the live blocks one by one, which are not kept here", option),
            "their number and bytes per site are known: leave %s out", option);
    if (ages && nr_blocks && !aged)
        return seep_error_hint(
            seep_error_create(SEEP_E_UNSUPPORTED, "%s needs the ages of blocks, which are not kept here",
                              option),
            "they are kept by 'seep run --age' (SEEP_AGE=1) and in recordings; leave %s out%s", option,
            strcmp(option, "--since") == 0 || strcmp(option, "--until") == 0
                ? ", or let 'seep diff FILE@MARK FILE' show what changed since a mark"
                : "");
    return NULL;
}

static bool has_exit(const struct seep_view_build *build) {
    for (size_t p = 0; p < build->nr_parts; p++)
        if (seep_profile_exit_mark(build->parts[p].profile))
            return true;
    return false;
}

static bool has_snapshots(const struct seep_view_build *build) {
    for (size_t p = 0; p < build->nr_parts; p++)
        if (build->parts[p].profile->growth)
            return true;
    return false;
}

static bool is_running(const struct seep_view_build *build) {
    for (size_t p = 0; p < build->nr_parts; p++)
        if (build->parts[p].profile->process.exit_kind == SEEP_EXIT_RUNNING)
            return true;
    return false;
}

static struct seep_error *check_needs(const struct seep_view_build *build) {
    const struct seep_view_options *options = &build->view->options;
    struct seep_error *error = NULL;
    if (options->older_ns >= 0)
        error = check_blocks_kept(build, "--older", true);
    if (!error && options->ignore_last)
        error = check_blocks_kept(build, "--ignore-last", true);
    if (!error && (options->since || options->until))
        error = check_blocks_kept(build, options->since ? "--since" : "--until", true);
    if (!error && options->sort == SEEP_SORT_AGE)
        error = check_blocks_kept(build, "--sort age", true);
    if (!error && options->sort == SEEP_SORT_EXIT && !has_exit(build))
        error =
            seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED,
                                              "--sort exit needs to know when the program began to leave"),
                            "'seep run --age' (SEEP_AGE=1) keeps that; it is not known of a program that has "
                            "not, or that a signal killed");
    if (!error && options->sort == SEEP_SORT_GROWTH && !has_snapshots(build))
        error = seep_error_hint(
            seep_error_create(SEEP_E_UNSUPPORTED, "--sort growth needs snapshots, and there are none here"),
            "they are made by 'seep run --interval T', and of a running process by 'seep growth PID'");
    if (!error && options->min_size > 0)
        error = check_blocks_kept(build, "--min-size", false);
    if (!error && options->max_size < UINT64_MAX)
        error = check_blocks_kept(build, "--max-size", false);
    if (!error && build->kinds) {
        error = check_blocks_kept(build, "--kind", false);
        // Of processes that were not looked at, no block is of any class: the report says how many those are.
        if (!error && !build->scanned)
            error = seep_error_hint(
                seep_error_create(SEEP_E_UNSUPPORTED, "--kind needs a scan, and none was made here"),
                is_running(build) ? "use 'seep scan PID'"
                                  : "'seep run' makes one when a process leaves, and 'seep scan' of one that "
                                    "runs or of a core file; leave --kind out");
    }
    if (!error && options->blocks)
        error = check_blocks_kept(build, "--blocks", false);
    if (!error && options->by == SEEP_BY_SIZE)
        error = check_blocks_kept(build, "--by size", false);
    return error;
}

// The births that pass, by process.
static struct seep_error *find_births(struct seep_view_build *build) {
    const struct seep_view_options *options = &build->view->options;
    const struct seep_session *session = build->view->session;
    struct seep_error *error = NULL;
    for (size_t p = 0; !error && p < build->nr_parts; p++) {
        struct seep_view_part *part = &build->parts[p];
        part->born_least_ns = INT64_MIN;
        part->born_most_ns = INT64_MAX;
        if (options->since)
            error = seep_marks_time(session, options->since, part->process, &part->born_least_ns);
        if (!error && options->until)
            error = seep_marks_time(session, options->until, part->process, &part->born_most_ns);
        int64_t end_ns = seep_profile_late_ns(part->profile, options->ignore_last);
        part->born_most_ns = SEEP_MIN(part->born_most_ns, end_ns);
    }
    return error;
}

static struct seep_error *add_stacks(struct seep_view_build *build, size_t p) {
    const struct seep_view *like = build->view->options.like;
    struct seep_view_part *part = &build->parts[p];
    size_t nr = SEEP_MAX(part->profile->nr_nodes, 1u);
    if (!like)
        return seep_stacks_add(build->stacks, part->profile, &part->nodes);
    part->nodes = malloc(nr * sizeof(*part->nodes));
    if (!part->nodes)
        return seep_error_no_memory();
    memcpy(part->nodes, like->nodes[part->process - like->first_process], nr * sizeof(*part->nodes));
    return NULL;
}

struct seep_error *seep_view_build_parts(struct seep_view_build *build) {
    struct seep_view *view = build->view;
    const struct seep_view_options *options = &view->options;
    const struct seep_stacks_wanted wanted = {options->function, options->file, options->module,
                                              options->any};
    build->filter_frames = options->function || options->file || options->module || options->any;
    for (size_t p = 0; p < view->session->nr_profiles; p++)
        build->scanned |= view->session->profiles[p]->leaks.known;
    build->kinds = options->kinds;
    build->filter_ages = options->older_ns >= 0 || options->ignore_last || options->since || options->until;
    build->filter_blocks =
        options->min_size > 0 || options->max_size < UINT64_MAX || build->filter_ages || build->kinds;
    struct seep_error *error = check_needs(build);
    if (!error && build->filter_ages)
        error = find_births(build);
    for (size_t p = 0; !error && p < build->nr_parts; p++)
        error = add_stacks(build, p);
    seep_stacks_complete(build->stacks);
    if (!error && build->filter_frames)
        error = seep_stacks_match(build->stacks, &wanted, &build->node_passes);
    bool of_threads = options->thread;
    for (size_t p = 0; p < build->nr_parts; p++)
        of_threads |= seep_view_by_threads(options, build->parts[p].profile);
    build->blocks_of_thread = of_threads && all_blocks_name_threads(build);
    if (of_threads && !build->blocks_of_thread && build->filter_blocks)
        return error ? error
                     : seep_error_hint(
                           seep_error_create(SEEP_E_UNSUPPORTED,
                                             "the threads of live blocks are not kept here"),
                           "use --thread and --by thread without filters of blocks (--kind, --min-size, "
                           "--max-size, --older, --since, --until, --ignore-last), or trace it with --age");
    view->live_is_net = of_threads && !build->blocks_of_thread;
    view->filtered = build->filter_frames || build->filter_blocks || options->thread;
    for (size_t p = 0; !error && p < build->nr_parts; p++)
        error = make_part(build, &build->parts[p]);
    return error;
}

// SPDX-License-Identifier: BSD-2-Clause
// Draws advice from traits and tries it, see advice.h.
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replay/advice.h"
#include "replay/walk.h"

enum {
    TRIED_MAX = 24,
    FIRST_ROUNDS = 3,   // before these nothing is decided
    DECIDED_ROUNDS = 5, // before these nothing is taken for sure
    MEMORY_RUNS = 3,
    SMALL_BYTES = 4096,
    LARGE_BYTES = 32 << 10,
    STACK_EVENTS = 16, // of its thread within the life of a block
    FEW_BLOCKS = 4,
    OFTEN = 8,
    MANY = 1000,
    HEAP_BYTES = 16 << 20, // from there on huge pages may help
    MEMORY_LEAST_BYTES = 256 << 10,
};

static const char glibc_hugetlb[] = "glibc:hugetlb=1";
static const char glibc_one_arena[] = "glibc:arena_max=1";
static const char glibc_keep[] = "glibc:mmap_threshold=1073741824:glibc.malloc.trim_threshold=17179869184";
static const char glibc_tcache[] = "glibc:tcache_count=4000";

struct candidate {
    enum seep_advice_kind kind;
    enum seep_treatment treatment; // NONE: a setting, or one that cannot be tried
    const char *setting;
    uint32_t group;
    double potential;
};

struct adviser {
    const char *path;
    const struct seep_session *session;
    const struct seep_advise_options *options;
    struct seep_advices *advices;
    struct seep_plan base;
    struct seep_replay_figures base_figures;
    struct candidate *candidates;
    size_t nr_candidates;
    size_t capacity;
    struct seep_advice *found;
    size_t nr_found;
    size_t found_capacity;
};

const char *seep_advice_name(enum seep_advice_kind kind) {
    static const char *const names[SEEP_ADVICE_NR] = {[SEEP_ADVICE_STACK] = "stack",
                                                      [SEEP_ADVICE_RESERVE] = "reserve",
                                                      [SEEP_ADVICE_BUFFER] = "buffer",
                                                      [SEEP_ADVICE_ARENA] = "arena",
                                                      [SEEP_ADVICE_POOL] = "pool",
                                                      [SEEP_ADVICE_PACK] = "pack",
                                                      [SEEP_ADVICE_HUGE_PAGES] = "huge pages",
                                                      [SEEP_ADVICE_TUNABLE] = "tunable"};
    return names[kind];
}

// ---- which may help --------------------------------------------------------------------------------------

static bool add(struct adviser *adviser, struct candidate candidate) {
    if (!seep_grow(&adviser->candidates, &adviser->capacity, adviser->nr_candidates + 1,
                   sizeof(*adviser->candidates)))
        return false;
    adviser->candidates[adviser->nr_candidates++] = candidate;
    return true;
}

// The most of the run's time that could be saved: the group's share of all calls, or of all bytes, of what
// they take.
static double potential_time(const struct adviser *adviser, const struct seep_group_traits *group) {
    const struct seep_advices *advices = adviser->advices;
    const struct seep_traits *traits = &advices->traits;
    double calls =
        (double)(group->allocations + group->frees) / (double)SEEP_MAX(traits->nr_events, UINT64_C(1));
    double bytes = (double)group->allocated_bytes / (double)SEEP_MAX(traits->allocated_bytes, UINT64_C(1));
    return SEEP_MAX(calls, bytes) * advices->replay_ns / (double)SEEP_MAX(advices->run_ns, INT64_C(1));
}

static double potential_memory(const struct adviser *adviser, const struct seep_group_traits *group) {
    return (double)(group->peak_cost_bytes - group->peak_bytes) /
           (double)SEEP_MAX(adviser->advices->peak_rss_bytes, UINT64_C(1));
}

// Of nearly one size: rounding all up to the largest takes little.
static bool is_of_one_size(const struct seep_group_traits *group) {
    return group->size_max <= SMALL_BYTES &&
           group->size_max - group->size_min <= SEEP_MAX(group->size_max / 8, UINT64_C(8));
}

static bool is_like_stack(const struct seep_group_traits *group) {
    return group->size_max <= SMALL_BYTES && group->nested >= group->allocations - group->allocations / 100 &&
           group->nested_events <= group->nested * STACK_EVENTS;
}

static bool is_like_buffer(const struct seep_group_traits *group) {
    return group->allocated_bytes / group->allocations >= LARGE_BYTES && group->most_blocks <= FEW_BLOCKS &&
           group->allocations >= OFTEN * group->most_blocks;
}

static bool is_like_arena(const struct seep_group_traits *group) {
    return group->allocations >= MANY && group->allocated_bytes / group->allocations <= SMALL_BYTES &&
           group->generation_blocks >= group->allocations - group->allocations / 20;
}

static bool consider_group(struct adviser *adviser, uint32_t id) {
    const struct seep_group_traits *group = &adviser->advices->traits.groups[id];
    if (!id || !group->allocations)
        return true;
    double time = potential_time(adviser, group), memory = potential_memory(adviser, group);
    bool worth_time = time >= SEEP_ADVICE_LEAST, worth_memory = memory >= SEEP_ADVICE_LEAST;
    // What another thread frees, or resizes, cannot simply be on a stack, in a buffer or an arena.
    bool own = !group->elsewhere && !group->resized, good = true;
    struct candidate candidate = {.group = id, .potential = SEEP_MAX(time, memory)};
    if (worth_time && group->steps >= OFTEN && group->steps >= 2 * group->chains) {
        candidate.kind = SEEP_ADVICE_RESERVE;
        candidate.treatment = SEEP_TREAT_RESERVE;
        good = add(adviser, candidate);
    }
    if (good && worth_time && group->allocations >= OFTEN && is_like_stack(group) && own) {
        candidate.kind = SEEP_ADVICE_STACK;
        candidate.treatment = SEEP_TREAT_STACK;
        good = add(adviser, candidate);
    }
    if (good && worth_time && is_like_buffer(group) && !group->resized) {
        candidate.kind = SEEP_ADVICE_BUFFER;
        candidate.treatment = own ? SEEP_TREAT_BUFFER : SEEP_TREAT_NONE;
        good = add(adviser, candidate);
    }
    bool is_arena = is_like_arena(group);
    if (good && (worth_time || worth_memory) && is_arena && !group->resized) {
        candidate.kind = SEEP_ADVICE_ARENA;
        candidate.treatment = own ? SEEP_TREAT_ARENA : SEEP_TREAT_NONE;
        good = add(adviser, candidate);
    }
    bool one_size = is_of_one_size(group) && !group->resized && group->allocations >= MANY;
    if (good && (worth_time || worth_memory) && one_size) {
        candidate.kind = SEEP_ADVICE_POOL;
        candidate.treatment = SEEP_TREAT_POOL;
        good = add(adviser, candidate);
    }
    if (good && worth_memory && !one_size && !(is_arena && own)) {
        candidate.kind = SEEP_ADVICE_PACK;
        candidate.treatment = SEEP_TREAT_NONE;
        candidate.potential = memory;
        good = add(adviser, candidate);
    }
    return good;
}

static bool may_have_huge_pages(void) {
    char text[64] = "";
    int fd = open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC);
    ssize_t nr = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    return nr > 0 && !strstr(text, "[never]") && !strstr(text, "[always]");
}

static bool consider_settings(struct adviser *adviser) {
    const struct seep_advices *advices = adviser->advices;
    const struct seep_traits *traits = &advices->traits;
    double time = advices->replay_ns / (double)SEEP_MAX(advices->run_ns, INT64_C(1));
    bool good = true;
    if (time >= SEEP_ADVICE_LEAST && traits->peak_bytes >= HEAP_BYTES && may_have_huge_pages())
        good = add(adviser, (struct candidate){
                                .kind = SEEP_ADVICE_HUGE_PAGES, .setting = glibc_hugetlb, .potential = time});
    if (good && traits->nr_threads > 1)
        good = add(adviser, (struct candidate){
                                .kind = SEEP_ADVICE_TUNABLE, .setting = glibc_one_arena, .potential = time});
    if (good && time >= SEEP_ADVICE_LEAST)
        good =
            add(adviser,
                (struct candidate){.kind = SEEP_ADVICE_TUNABLE, .setting = glibc_keep, .potential = time}) &&
            add(adviser,
                (struct candidate){.kind = SEEP_ADVICE_TUNABLE, .setting = glibc_tcache, .potential = time});
    return good;
}

// Of one place the kinds in their order: what follows is tried where the one before does not save most of it.
static int by_potential(const void *left, const void *right) {
    const struct candidate *a = left, *b = right;
    if (a->potential != b->potential)
        return (a->potential < b->potential) - (a->potential > b->potential);
    return (int)a->kind - (int)b->kind;
}

// ---- trying ----------------------------------------------------------------------------------------------

// What rounds so far say, with which memory was measured before.
struct trial {
    const struct adviser *adviser;
    uint64_t peak_rss_bytes; // of the recording as it is
    bool is_of_base;         // the plan before the change is the recording as it is
};

// The time of the calls before the change, at most the time of all calls as reported: on a busy machine these
// rounds may be slower than the reported ones, and a change cannot save more than all calls take.
static double calls_ns(const struct trial *trial, double first_ns) {
    return trial->is_of_base ? SEEP_MIN(first_ns, trial->adviser->advices->replay_ns) : first_ns;
}

// A change that cannot become worth showing, or whose gain is known well enough.
static bool is_decided(void *data, uint32_t nr_rounds, double first_ns, const struct seep_interval *interval,
                       const struct seep_replay_figures *last) {
    const struct trial *trial = data;
    double run_ns = (double)SEEP_MAX(trial->adviser->advices->run_ns, INT64_C(1));
    first_ns = calls_ns(trial, first_ns);
    double saved = first_ns * (1 - interval->middle) / run_ns, most = first_ns * (1 - interval->low) / run_ns;
    double least = first_ns * (1 - interval->high) / run_ns;
    double memory = fabs((double)trial->peak_rss_bytes - (double)last->peak_rss_bytes) /
                    (double)SEEP_MAX(trial->peak_rss_bytes, UINT64_C(1));
    if (nr_rounds < FIRST_ROUNDS)
        return false;
    if (memory < SEEP_ADVICE_LEAST / 2 && (most < SEEP_ADVICE_LEAST || saved < SEEP_ADVICE_LEAST / 3))
        return true;
    bool is_sure = least >= SEEP_ADVICE_LEAST && most - least <= saved / 2;
    return nr_rounds >= DECIDED_ROUNDS && (is_sure || most < SEEP_ADVICE_LEAST);
}

static struct seep_error *measure(const struct adviser *adviser, const struct candidate *candidate,
                                  const struct seep_plan *before, const struct seep_plan *after,
                                  struct seep_advice *ret_advice) {
    const char *const names[] = {"glibc", candidate->setting ? candidate->setting : "glibc"};
    const struct seep_plan *const plans[] = {before, after};
    struct trial trial = {adviser, adviser->base_figures.peak_rss_bytes, before == &adviser->base};
    struct seep_compare_options options = {.names = names,
                                           .nr_names = 2,
                                           .plans = plans,
                                           .nr_rounds = adviser->options->nr_rounds,
                                           .nr_memory_runs = 1,
                                           .first = before == &adviser->base ? &adviser->base_figures : NULL,
                                           .touch = adviser->options->touch,
                                           .data = &trial,
                                           .is_enough = is_decided};
    struct seep_comparison comparison = {NULL, 0, 0};
    struct seep_error *error = seep_compare(before, &options, &comparison);
    if (error)
        return error;
    const struct seep_replay_figures *was = &comparison.rows[0], *is = &comparison.rows[1];
    const struct seep_advices *advices = adviser->advices;
    double before_ns = was->is_noise ? 0 : calls_ns(&trial, was->wall_ns);
    struct seep_advice advice = {.kind = candidate->kind,
                                 .group = candidate->group,
                                 .setting = candidate->setting,
                                 .is_tried = true,
                                 .saved_ns = before_ns * (1 - is->against.middle),
                                 .saved_least_ns = before_ns * (1 - is->against.high),
                                 .saved_most_ns = before_ns * (1 - is->against.low),
                                 .saved_least_bytes = (int64_t)(was->peak_rss_bytes - is->peak_most_bytes),
                                 .saved_most_bytes = (int64_t)(was->peak_most_bytes - is->peak_rss_bytes)};
    advice.saved_bytes = (advice.saved_least_bytes + advice.saved_most_bytes) / 2;
    advice.time_share = advice.saved_ns / (double)SEEP_MAX(advices->run_ns, INT64_C(1));
    advice.memory_share = (double)advice.saved_bytes / (double)SEEP_MAX(was->peak_rss_bytes, UINT64_C(1));
    seep_comparison_deinit(&comparison);
    *ret_advice = advice;
    return NULL;
}

static bool saves_time(const struct seep_advice *advice) {
    return advice->time_share >= SEEP_ADVICE_LEAST && advice->saved_least_ns > 0;
}

static bool saves_memory(const struct seep_advice *advice) {
    return advice->memory_share >= SEEP_ADVICE_LEAST && advice->saved_least_bytes >= MEMORY_LEAST_BYTES;
}

static bool takes_time(const struct seep_advice *advice) {
    return advice->time_share <= -SEEP_ADVICE_LEAST && advice->saved_most_ns < 0;
}

static bool takes_memory(const struct seep_advice *advice) {
    return advice->memory_share <= -SEEP_ADVICE_LEAST && advice->saved_most_bytes <= -MEMORY_LEAST_BYTES;
}

// What it saves less what it takes, in all: shares of different things, to say which of two is worth more.
static double worth(const struct seep_advice *advice) {
    return (saves_time(advice) || takes_time(advice) ? advice->time_share : 0) +
           (saves_memory(advice) || takes_memory(advice) ? advice->memory_share : 0);
}

static struct seep_error *make_plan(const struct adviser *adviser, const struct candidate *candidate,
                                    bool changes, struct seep_plan *ret_plan) {
    struct seep_plan_change change = {.treatment = changes ? candidate->treatment : SEEP_TREAT_NONE,
                                      .group = candidate->group,
                                      .groups = adviser->options->groups,
                                      .traits = &adviser->advices->traits,
                                      .copies = candidate->treatment == SEEP_TREAT_RESERVE};
    struct seep_plan_options options = {.change = &change, .pid = adviser->options->pid};
    return seep_plan_make(adviser->path, adviser->session, &options, ret_plan);
}

static struct seep_error *try_change(struct adviser *adviser, const struct candidate *candidate,
                                     struct seep_advice *ret_advice) {
    struct seep_plan before = {.fd = -1}, after = {.fd = -1};
    bool copies = candidate->treatment == SEEP_TREAT_RESERVE;
    struct seep_error *error = copies ? make_plan(adviser, candidate, false, &before) : NULL;
    if (!error)
        error = make_plan(adviser, candidate, true, &after);
    if (!error)
        error = measure(adviser, candidate, copies ? &before : &adviser->base, &after, ret_advice);
    seep_plan_deinit(&before);
    seep_plan_deinit(&after);
    return error;
}

// Small blocks that live on and take more than they hold: what is saved is memory.
static void name_by_gain(const struct seep_advices *advices, struct seep_advice *advice) {
    const struct seep_group_traits *group = &advices->traits.groups[advice->group];
    if ((advice->kind == SEEP_ADVICE_POOL || advice->kind == SEEP_ADVICE_ARENA) && saves_memory(advice) &&
        advice->memory_share > advice->time_share &&
        group->peak_cost_bytes > group->peak_bytes + group->peak_bytes / 4)
        advice->kind = SEEP_ADVICE_PACK;
}

static bool keep(struct adviser *adviser, struct seep_advice advice) {
    for (size_t i = 0; advice.group && i < adviser->nr_found; i++) {
        struct seep_advice *other = &adviser->found[i];
        if (other->group != advice.group)
            continue;
        bool is_better = advice.is_tried > other->is_tried ||
                         (advice.is_tried == other->is_tried &&
                          worth(&advice) > worth(other) * (advice.kind < other->kind ? 0.9 : 1.1));
        if (is_better)
            *other = advice;
        return true;
    }
    if (!seep_grow(&adviser->found, &adviser->found_capacity, adviser->nr_found + 1, sizeof(advice)))
        return false;
    adviser->found[adviser->nr_found++] = advice;
    return true;
}

// What was found of its place saves most of what there is to save.
static bool is_settled(const struct adviser *adviser, const struct candidate *candidate) {
    for (size_t i = 0; candidate->group && i < adviser->nr_found; i++) {
        const struct seep_advice *other = &adviser->found[i];
        if (other->group == candidate->group && other->is_tried && worth(other) >= 0.8 * candidate->potential)
            return true;
    }
    return false;
}

static struct seep_error *consider(struct adviser *adviser, const struct candidate *candidate) {
    struct seep_advices *advices = adviser->advices;
    if (is_settled(adviser, candidate))
        return NULL;
    struct seep_advice advice = {.kind = candidate->kind,
                                 .group = candidate->group,
                                 .time_share = candidate->potential,
                                 .saved_ns = candidate->potential * (double)advices->run_ns};
    if (candidate->kind == SEEP_ADVICE_PACK) {
        advice.memory_share = candidate->potential;
        advice.time_share = advice.saved_ns = 0;
        advice.saved_bytes = (int64_t)(candidate->potential * (double)advices->peak_rss_bytes);
    }
    struct seep_error *error = NULL;
    if (candidate->setting)
        error = measure(adviser, candidate, &adviser->base, &adviser->base, &advice);
    else if (candidate->treatment)
        error = try_change(adviser, candidate, &advice);
    if (error)
        return error;
    advices->nr_tried += advice.is_tried;
    if (advice.is_tried && worth(&advice) < SEEP_ADVICE_LEAST)
        return NULL;
    if (!advice.is_tried && advice.memory_share * (double)advices->peak_rss_bytes < MEMORY_LEAST_BYTES &&
        advice.time_share < SEEP_ADVICE_LEAST)
        return NULL;
    name_by_gain(advices, &advice);
    return keep(adviser, advice) ? NULL : seep_error_no_memory();
}

// What was tried comes before what was not.
static int by_worth(const void *left, const void *right) {
    const struct seep_advice *a = left, *b = right;
    if (a->is_tried != b->is_tried)
        return b->is_tried - a->is_tried;
    double x = SEEP_MAX(a->time_share, a->memory_share), y = SEEP_MAX(b->time_share, b->memory_share);
    return (x < y) - (x > y);
}

// ---- all of it -------------------------------------------------------------------------------------------

static struct seep_error *measure_base(struct adviser *adviser) {
    const char *const names[] = {"glibc"};
    struct seep_compare_options options = {.names = names,
                                           .nr_names = 1,
                                           .nr_rounds = FIRST_ROUNDS,
                                           .nr_memory_runs = MEMORY_RUNS,
                                           .touch = adviser->options->touch};
    struct seep_comparison comparison = {NULL, 0, 0};
    struct seep_error *error = seep_compare(&adviser->base, &options, &comparison);
    if (error)
        return error;
    adviser->advices->replay_ns = comparison.rows[0].wall_ns;
    adviser->advices->peak_rss_bytes = comparison.rows[0].peak_rss_bytes;
    adviser->advices->nr_calls = adviser->base.nr_calls;
    adviser->base_figures = comparison.rows[0];
    adviser->base_figures.rss = NULL;
    seep_comparison_deinit(&comparison);
    return NULL;
}

static struct seep_error *try_all(struct adviser *adviser) {
    bool good = consider_settings(adviser);
    for (uint32_t i = 0; good && i < adviser->advices->traits.nr_groups; i++)
        good = consider_group(adviser, i);
    if (!good)
        return seep_error_no_memory();
    if (adviser->nr_candidates)
        qsort(adviser->candidates, adviser->nr_candidates, sizeof(*adviser->candidates), by_potential);
    size_t nr = SEEP_MIN(adviser->nr_candidates, (size_t)TRIED_MAX);
    struct seep_error *error = NULL;
    for (size_t i = 0; !error && i < nr; i++) {
        if (adviser->options->progress)
            adviser->options->progress(adviser->options->data, (uint32_t)i + 1, (uint32_t)nr);
        error = consider(adviser, &adviser->candidates[i]);
    }
    if (!error && adviser->nr_found)
        qsort(adviser->found, adviser->nr_found, sizeof(*adviser->found), by_worth);
    for (size_t i = 0; !error && i < adviser->nr_found && i < SEEP_ADVICE_MAX; i++)
        adviser->advices->rows[adviser->advices->nr_rows++] = adviser->found[i];
    return error;
}

struct seep_error *seep_advise(const char *path, const struct seep_session *session,
                               const struct seep_advise_options *options, struct seep_advices *ret_advices) {
    struct seep_advices advices = {.traits = {NULL}};
    struct adviser adviser = {
        .path = path, .session = session, .options = options, .advices = &advices, .base = {.fd = -1}};
    struct seep_profile *profile;
    struct seep_residences residences = {.cpu_ns = 0};
    struct seep_plan_options plain = {.pid = options->pid};
    struct seep_error *error = seep_walk_choose(session, options->pid, path, &profile);
    if (!error)
        error = seep_plan_make(path, session, &plain, &adviser.base);
    if (!error)
        error = seep_traits_find(path, profile, options->groups, &advices.traits);
    if (!error) {
        error =
            seep_residences_read(path, profile->process.pid, profile->process.start_realtime_ns, &residences);
        advices.is_cpu_time = residences.cpu_ns != 0;
        advices.run_ns = advices.is_cpu_time
                             ? (int64_t)residences.cpu_ns
                             : SEEP_MAX(profile->process.duration_ns, adviser.base.duration_ns);
        seep_residences_deinit(&residences);
    }
    if (!error) {
        error = measure_base(&adviser);
        // Page faults may be dearer today than when it was recorded.
        advices.run_ns = SEEP_MAX(advices.run_ns, (int64_t)advices.replay_ns);
    }
    if (!error)
        error = try_all(&adviser);
    seep_plan_deinit(&adviser.base);
    free(adviser.candidates);
    free(adviser.found);
    if (error)
        seep_advices_deinit(&advices);
    else
        *ret_advices = advices;
    return error;
}

void seep_advices_deinit(struct seep_advices *advices) {
    seep_traits_deinit(&advices->traits);
}

// SPDX-License-Identifier: BSD-2-Clause
// Runs the replayer in rounds and makes figures of what it says, see compare.h.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/numbers.h"
#include "process/memory_limit.h"
#include "replay/allocator_choice.h"
#include "replay/compare.h"
#include "replay/replayer.h"

enum {
    THREAD_BYTES = 48 << 10, // of the kernel 30 KiB, and what is written of its stack
    OWN_ROUNDS_OF_LONG = 3,
};

// A replay that takes longer by itself, as one at recorded speed, is done without calls in few rounds only.
#define LONG_OWN_NS 1000000000.0

struct allocator {
    struct seep_allocator_choice choice;
    const struct seep_plan *plan;
    double own_ns;     // what the replayer takes by itself, in this round
    double *own_by_ns; // and by round, of the first one with this plan
    uint32_t nr_own;   // how many of them are known
    double *wall_ns;   // by round, less own_ns
    double *faults;
    uint64_t latency[SEEP_REPLAY_CALLS_NR][SEEP_REPLAY_BUCKETS]; // of all rounds
    double ns_per_tick;
    uint64_t nr_failed;
};

struct compared {
    const struct seep_compare_options *options;
    struct seep_replayer replayer;
    struct allocator *allocators;
    int64_t begun_ns;
};

static uint32_t most_rounds(const struct seep_compare_options *options) {
    return SEEP_MAX(options->nr_rounds, options->nr_rounds_most);
}

// ---- figures ----

// The middle of a bucket of seep_replay_bucket(), in ticks.
static double bucket_ticks(uint32_t bucket) {
    if (bucket < 8)
        return bucket;
    uint32_t power = bucket / 8 + 2;
    return ((double)(8 + bucket % 8) + 0.5) * (double)(UINT64_C(1) << (power - 3));
}

static double percentile(const uint64_t *buckets, double share, double ns_per_tick) {
    uint64_t all = 0, sum = 0;
    for (uint32_t i = 0; i < SEEP_REPLAY_BUCKETS; i++)
        all += buckets[i];
    for (uint32_t i = 0; all && i < SEEP_REPLAY_BUCKETS; i++)
        if ((double)(sum += buckets[i]) >= share * (double)all)
            return bucket_ticks(i) * ns_per_tick;
    return NAN;
}

static void take_memory(const struct compared *compared, const struct seep_plan *plan, bool is_first,
                        struct seep_replay_figures *row) {
    double sum = 0;
    uint64_t nr = 0, most_live = 0, peak = 0;
    for (uint32_t i = 0; i < plan->nr_samples; i++) {
        uint64_t rss = compared->replayer.results->rss[i], live = plan->sample_live[i];
        row->rss[i] = rss;
        peak = SEEP_MAX(peak, rss);
        if (live > most_live) {
            most_live = live;
            row->rss_over_live = (double)rss / (double)live;
        }
        if (live >= plan->peak_bytes / 16 && live) {
            sum += (double)rss / (double)live;
            nr++;
        }
    }
    row->peak_rss_bytes = is_first ? peak : SEEP_MIN(row->peak_rss_bytes, peak);
    row->peak_most_bytes = SEEP_MAX(row->peak_most_bytes, peak);
    row->mean_rss_over_live = nr ? sum / (double)nr : NAN;
    if (plan->nr_samples) {
        row->end_rss_bytes = row->rss[plan->nr_samples - 1];
        row->end_live_bytes = plan->sample_live[plan->nr_samples - 1];
    }
}

// The first allocator that has the same plan.
static const struct allocator *first_of_plan(const struct compared *compared, size_t index) {
    size_t i = 0;
    while (compared->allocators[i].plan != compared->allocators[index].plan)
        i++;
    return &compared->allocators[i];
}

static void fill_row(const struct compared *compared, size_t index, uint32_t nr,
                     struct seep_replay_figures *row) {
    static const double shares[] = {0.5, 0.99, 0.999};
    const struct allocator *own = &compared->allocators[index], *first = &compared->allocators[0];
    row->name = own->choice.name;
    const struct allocator *alone = first_of_plan(compared, index);
    row->own_ns = seep_median(alone->own_by_ns, alone->nr_own);
    row->wall_ns = seep_median(own->wall_ns, nr);
    row->is_noise = seep_is_noise(own->wall_ns, nr);
    row->faults = seep_median(own->faults, nr);
    row->nr_failed = own->nr_failed;
    row->is_known =
        !row->is_noise && !row->nr_failed && !seep_is_noise(first->wall_ns, nr) && !first->nr_failed;
    row->against = index ? seep_ratio_interval(own->wall_ns, first->wall_ns, nr)
                         : (struct seep_interval){1, 1, 1, false};
    row->differs = row->is_known && row->against.differs;
    for (size_t k = 0; k < SEEP_REPLAY_CALLS_NR; k++)
        for (size_t s = 0; s < SEEP_ARRAY_SIZE(shares); s++)
            row->latency_ns[k][s] = percentile(own->latency[k], shares[s], own->ns_per_tick);
}

// ---- rounds ----

static double time_of(const struct compared *compared, const struct allocator *allocator) {
    return (double)(allocator->plan->is_cpu_time ? compared->replayer.results->cpu_ns
                                                 : compared->replayer.results->wall_ns);
}

static void take_time(struct compared *compared, struct allocator *allocator, uint32_t round) {
    const struct seep_replay_results *results = compared->replayer.results;
    allocator->nr_failed = SEEP_MAX(allocator->nr_failed, results->nr_failed);
    if (round == 0)
        return; // warms the caches
    allocator->wall_ns[round - 1] = time_of(compared, allocator) - allocator->own_ns;
    allocator->faults[round - 1] = (double)results->faults;
    allocator->ns_per_tick = results->ns_per_tick;
    for (size_t k = 0; k < SEEP_REPLAY_CALLS_NR; k++)
        for (size_t i = 0; i < SEEP_REPLAY_BUCKETS; i++)
            allocator->latency[k][i] += results->latency[k][i];
}

// The time of the replayer itself, in a run that does everything but the calls: in the same round, as the
// machine is slower in one round than in another.
static struct seep_error *measure_own(struct compared *compared, size_t index, uint32_t round) {
    struct seep_replay_how how = {.touch = SEEP_REPLAY_TOUCH_NONE, .is_empty = 1};
    const struct seep_allocator_choice none = {.name = "no allocator"};
    struct allocator *own = &compared->allocators[index];
    if (first_of_plan(compared, index) != own)
        return NULL;
    if (own->nr_own >= OWN_ROUNDS_OF_LONG && seep_median(own->own_by_ns, own->nr_own) > LONG_OWN_NS) {
        own->own_ns = seep_median(own->own_by_ns, own->nr_own);
        return NULL;
    }
    struct seep_error *error = seep_replayer_run(&compared->replayer, &none, own->plan, how, round);
    if (error)
        return error;
    own->own_ns = time_of(compared, own);
    if (round)
        own->own_by_ns[own->nr_own++] = own->own_ns;
    return NULL;
}

static struct seep_error *measure_memory(struct compared *compared, size_t index,
                                         struct seep_replay_figures *row) {
    const struct allocator *own = &compared->allocators[index];
    struct seep_replay_how how = {.touch = compared->options->touch, .measures = 1};
    uint32_t nr = SEEP_MAX(compared->options->nr_memory_runs, 1u);
    const struct seep_replay_figures *known = index ? NULL : compared->options->first;
    struct seep_error *error = NULL;
    if (known) {
        row->peak_rss_bytes = known->peak_rss_bytes;
        row->peak_most_bytes = known->peak_most_bytes;
        return NULL;
    }
    for (uint32_t i = 0; !error && i < nr; i++) {
        error = seep_replayer_run(&compared->replayer, &own->choice, own->plan, how, i);
        if (!error)
            take_memory(compared, own->plan, i == 0, row);
    }
    return error;
}

// Only the width of the intervals decides: rounds that went on until two allocators differ would end with a
// difference between any two.
static bool are_narrow(const struct compared *compared, uint32_t nr_rounds) {
    const double narrow = 1.02; // high over low, of 95 %
    for (size_t i = 1; i < compared->options->nr_names; i++) {
        if (compared->allocators[i].nr_failed || compared->allocators[0].nr_failed)
            continue; // there is no ratio
        struct seep_interval interval =
            seep_ratio_interval(compared->allocators[i].wall_ns, compared->allocators[0].wall_ns, nr_rounds);
        if (!(interval.high / interval.low <= narrow))
            return false;
    }
    return true;
}

static bool is_enough(const struct compared *compared, const struct seep_comparison *comparison) {
    const struct seep_compare_options *options = compared->options;
    const struct allocator *first = &compared->allocators[0];
    const struct allocator *last = &compared->allocators[options->nr_names - 1];
    uint32_t nr = comparison->nr_rounds;
    enum { TOO_MANY_ROUNDS = 40, AT_ONCE = 10 };
    const int64_t long_ns = INT64_C(5000000000);
    bool is_late = nr >= TOO_MANY_ROUNDS && seep_monotonic_ns() - compared->begun_ns > long_ns;
    if (nr >= options->nr_rounds && (is_late || (nr % AT_ONCE == 0 && are_narrow(compared, nr))))
        return true;
    if (!options->is_enough || !nr)
        return false;
    struct seep_interval interval = {1, 1, 1, false}; // of noise nothing can be saved
    if (!seep_is_noise(first->wall_ns, nr))
        interval = seep_ratio_interval(last->wall_ns, first->wall_ns, nr);
    return options->is_enough(options->data, nr, seep_median(first->wall_ns, nr), &interval,
                              &comparison->rows[options->nr_names - 1]);
}

static struct seep_error *run_rounds(struct compared *compared, struct seep_comparison *comparison) {
    const struct seep_compare_options *options = compared->options;
    struct seep_error *error = NULL;
    for (size_t i = 0; !error && i < options->nr_names; i++)
        error = measure_memory(compared, i, &comparison->rows[i]);
    bool enough = false;
    for (uint32_t round = options->first ? 1 : 0; !error && !enough && round <= most_rounds(options);
         round++) {
        if (options->progress)
            options->progress(options->data, round, options->nr_rounds, most_rounds(options));
        for (size_t i = 0; !error && i < options->nr_names; i++)
            error = measure_own(compared, i, round);
        // Every other round in the reverse order, so that no allocator always runs after the same one.
        for (size_t k = 0; !error && k < options->nr_names; k++) {
            size_t i = round % 2 ? options->nr_names - 1 - k : k;
            struct allocator *own = &compared->allocators[i];
            own->own_ns = first_of_plan(compared, i)->own_ns;
            error = seep_replayer_run(&compared->replayer, &own->choice, own->plan,
                                      (struct seep_replay_how){.touch = options->touch}, round);
            if (!error)
                take_time(compared, own, round);
        }
        comparison->nr_rounds = round;
        enough = !error && is_enough(compared, comparison);
    }
    if (options->progress)
        options->progress(options->data, most_rounds(options) + 1, options->nr_rounds, most_rounds(options));
    return error;
}

// The replay writes to its blocks, so there must be memory for them. Refused before the first run, because
// the kernel would kill the replayer in the middle of one.
static struct seep_error *check_memory(const struct seep_plan *plan, enum seep_replay_touch touch) {
    struct seep_memory_limit limit;
    seep_memory_limit_find(getpid(), "", &limit);
    uint64_t used = seep_memory_limit_used(&limit), left = limit.bytes > used ? limit.bytes - used : 0;
    uint64_t of_threads = (uint64_t)plan->nr_threads * THREAD_BYTES;
    if (limit.bytes && of_threads > left)
        return seep_error_hint(
            seep_error_create(SEEP_E_UNSUPPORTED,
                              "%s had %" PRIu32 " threads, which take %s in a replay, and %s has %s left: "
                              "nothing was run",
                              plan->program, plan->nr_threads, seep_format_bytes(of_threads).text, limit.what,
                              seep_format_bytes(left).text),
            "take a larger machine");
    if (touch != SEEP_REPLAY_TOUCH_PAGES || !limit.bytes || plan->written_bytes <= left)
        return NULL;
    return seep_error_hint(
        seep_error_create(SEEP_E_UNSUPPORTED,
                          "%s wrote to %s that were live, and %s has %s left: nothing was run", plan->program,
                          seep_format_bytes(plan->written_bytes).text, limit.what,
                          seep_format_bytes(left).text),
        "take a larger machine, or --touch recorded, first or none, which write less");
}

static struct seep_error *prepare(struct compared *compared, const struct seep_plan *plan,
                                  struct seep_comparison *comparison) {
    const struct seep_compare_options *options = compared->options;
    compared->allocators = calloc(options->nr_names, sizeof(*compared->allocators));
    comparison->rows = calloc(options->nr_names, sizeof(*comparison->rows));
    if (!compared->allocators || !comparison->rows)
        return seep_error_no_memory();
    comparison->nr_rows = options->nr_names;
    uint32_t nr_threads = 0;
    for (size_t i = 0; i < options->nr_names; i++) {
        struct allocator *allocator = &compared->allocators[i];
        struct seep_error *error = seep_allocator_choose(options->names[i], false, &allocator->choice);
        if (error)
            return error;
        allocator->plan = options->plans ? options->plans[i] : plan;
        allocator->wall_ns = calloc(most_rounds(options), sizeof(double));
        allocator->own_by_ns = calloc(most_rounds(options), sizeof(double));
        allocator->faults = calloc(most_rounds(options), sizeof(double));
        comparison->rows[i].rss = calloc(allocator->plan->nr_samples + (size_t)1, sizeof(uint64_t));
        nr_threads = SEEP_MAX(nr_threads, allocator->plan->nr_threads);
        if (!allocator->wall_ns || !allocator->own_by_ns || !allocator->faults || !comparison->rows[i].rss)
            return seep_error_no_memory();
    }
    struct seep_error *error = check_memory(plan, options->touch);
    return error ? error : seep_replayer_init(&compared->replayer, nr_threads, options->patience_ns);
}

static void compared_deinit(struct compared *compared) {
    for (size_t i = 0; compared->allocators && i < compared->options->nr_names; i++) {
        seep_allocator_choice_deinit(&compared->allocators[i].choice);
        free(compared->allocators[i].wall_ns);
        free(compared->allocators[i].own_by_ns);
        free(compared->allocators[i].faults);
    }
    free(compared->allocators);
    seep_replayer_deinit(&compared->replayer);
}

void seep_comparison_deinit(struct seep_comparison *comparison) {
    for (size_t i = 0; i < comparison->nr_rows; i++)
        free(comparison->rows[i].rss);
    free(comparison->rows);
    *comparison = (struct seep_comparison){NULL, 0, 0};
}

struct seep_error *seep_compare(const struct seep_plan *plan, const struct seep_compare_options *options,
                                struct seep_comparison *ret_comparison) {
    struct compared compared = {
        .options = options, .replayer = {.results_fd = -1, .errors_fd = -1}, .begun_ns = seep_monotonic_ns()};
    struct seep_comparison comparison = {NULL, 0, 0};
    struct seep_error *error = prepare(&compared, plan, &comparison);
    if (!error)
        error = run_rounds(&compared, &comparison);
    for (size_t i = 0; !error && i < options->nr_names; i++)
        fill_row(&compared, i, comparison.nr_rounds, &comparison.rows[i]);
    compared_deinit(&compared);
    if (error)
        seep_comparison_deinit(&comparison);
    else
        *ret_comparison = comparison;
    return error;
}

// SPDX-License-Identifier: BSD-2-Clause
//
// What a new look changes, see live.h: the figures of each life at the last two looks and at the mark, and
// the history of the totals.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/search.h"
#include "base/sum.h"
#include "growth/trend.h"
#include "live/live.h"

void seep_live_init(struct seep_live *live) {
    *live = (struct seep_live){.totals = {.temporary_percent = -1, .seconds_left = -1}, .point_step = 1};
}

static void moment_deinit(struct seep_live_moment *moment) {
    free(moment->sites);
    free(moment->threads);
    *moment = (struct seep_live_moment){NULL};
}

static void life_destroy(struct seep_life *life) {
    moment_deinit(&life->before);
    moment_deinit(&life->last);
    moment_deinit(&life->mark);
    for (size_t i = 0; i < SEEP_LIVE_MARKS; i++)
        moment_deinit(&life->marks[i]);
    seep_series_deinit(&life->series);
    free(life);
}

bool seep_look_is_stopped(const struct seep_look *look) {
    for (size_t i = 0; look->session && i < look->session->nr_profiles; i++)
        if (look->session->profiles[i]->health.flags & SEEP_FLAG_STOPPED)
            return true;
    return false;
}

void seep_live_forget(struct seep_live *live) {
    seep_session_destroy(live->outdated);
    live->outdated = NULL;
}

void seep_live_deinit(struct seep_live *live) {
    seep_live_forget(live);
    seep_look_deinit(&live->look);
    for (size_t i = 0; i < live->nr_lives; i++)
        life_destroy(live->lives[i]);
    free(live->lives);
    free(live->life_of);
    seep_session_destroy(live->scanned);
    for (size_t i = 0; i < live->nr_log; i++)
        free(live->log[i]);
}

void seep_live_log(struct seep_live *live, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *line = NULL;
    if (vasprintf(&line, format, arguments) < 0)
        line = NULL;
    va_end(arguments);
    if (!line)
        return;
    if (live->nr_log == SEEP_LIVE_LOG) {
        free(live->log[0]);
        memmove(live->log, live->log + 1, (SEEP_LIVE_LOG - 1) * sizeof(*live->log));
        live->nr_log--;
    }
    live->log[live->nr_log++] = line;
}

// ---- figures ----

static struct seep_error *moment_take(const struct seep_profile *profile, struct seep_live_moment *moment) {
    struct seep_live_moment taken = {
        .sites = calloc(SEEP_MAX(profile->nr_sites, 1u), sizeof(*taken.sites)),
        .threads = calloc(SEEP_MAX(profile->nr_threads, 1u), sizeof(*taken.threads)),
        .nr_sites = profile->nr_sites,
        .nr_threads = profile->nr_threads,
    };
    if (!taken.sites || !taken.threads) {
        moment_deinit(&taken);
        return seep_error_no_memory();
    }
    for (uint32_t i = 0; i < profile->nr_sites; i++) {
        const struct seep_site *site = &profile->sites[i];
        taken.sites[i] = (struct seep_live_figures){
            .live_bytes = site->live_bytes,
            .live_blocks = site->live_blocks,
            .freed_bytes = site->counters.freed_bytes,
            .allocations = site->counters.allocations,
            .frees = site->counters.frees,
            .temporary = site->counters.temporary,
        };
    }
    for (uint32_t i = 0; i < profile->nr_threads; i++)
        taken.threads[i] = (struct seep_live_figures){
            .live_bytes = profile->threads[i].allocated_bytes,
            .live_blocks = profile->threads[i].allocations,
            .freed_bytes = profile->threads[i].freed_bytes,
            .allocations = profile->threads[i].allocations,
            .frees = profile->threads[i].frees,
        };
    moment_deinit(moment);
    *moment = taken;
    return NULL;
}

// `index`: of the process in the look. Lives are nearly in that order.
static struct seep_life *life_of(struct seep_live *live, size_t index, const struct seep_profile *profile,
                                 uint32_t *ret_index) {
    for (size_t i = 0; i < live->nr_lives; i++) {
        size_t at = seep_index_from(index, i, live->nr_lives);
        struct seep_life *life = live->lives[at];
        if (seep_process_is(&profile->process, life->pid, life->start_realtime_ns)) {
            *ret_index = (uint32_t)at;
            return life;
        }
    }
    return NULL;
}

static struct seep_error *life_begin(struct seep_live *live, const struct seep_profile *profile,
                                     struct seep_life **ret_life, uint32_t *ret_index) {
    struct seep_life *life = calloc(1, sizeof(*life));
    if (!life || !seep_grow(&live->lives, &live->lives_capacity, live->nr_lives + 1, sizeof(*live->lives))) {
        free(life);
        return seep_error_no_memory();
    }
    life->pid = profile->process.pid;
    life->start_realtime_ns = profile->process.start_realtime_ns;
    snprintf(life->name, sizeof(life->name), "%s", profile->process.name);
    if (live->nr_looks)
        seep_live_log(live, "process %u: %s", (unsigned)life->pid, life->name);
    *ret_index = (uint32_t)live->nr_lives;
    live->lives[live->nr_lives++] = life;
    *ret_life = life;
    return NULL;
}

// What the life had at the last look becomes what it had before.
static struct seep_error *life_go_on(struct seep_life *life, const struct seep_profile *profile,
                                     const struct seep_look *look) {
    moment_deinit(&life->before);
    life->before = life->last;
    life->before_ns = life->last_ns;
    life->last = (struct seep_live_moment){NULL};
    life->last_ns = look->at_ns;
    life->there = true;
    struct seep_series_memory memory = {.rss_bytes = look->rss_bytes, .cpu_ns = profile->process.cpu_ns};
    struct seep_error *error = moment_take(profile, &life->last);
    return error ? error : seep_series_add(&life->series, profile, &memory);
}

// `index`: of the life, which is nearly that of its process.
static bool is_in(const struct seep_life *life, size_t index, const struct seep_session *session) {
    return seep_profiles_find_from(session->profiles, session->nr_profiles, index, life->pid,
                                   life->start_realtime_ns) < session->nr_profiles;
}

static bool has_pid(const struct seep_session *session, uint32_t pid) {
    for (size_t i = 0; i < session->nr_profiles; i++)
        if (session->profiles[i]->process.pid == pid)
            return true;
    return false;
}

// Of one that has ended nothing is asked any more; of very many no more than the last is kept.
static void note_ends(struct seep_live *live, const struct seep_session *session) {
    for (size_t i = 0; i < live->nr_lives; i++) {
        struct seep_life *life = live->lives[i];
        if (!life->there || is_in(life, i, session))
            continue;
        life->there = false;
        seep_live_log(live, "process %u (%s) %s", (unsigned)life->pid, life->name,
                      has_pid(session, life->pid) ? "became another program, by exec" : "ended");
    }
    size_t nr = 0;
    for (size_t i = 0; i < live->nr_lives; i++) {
        struct seep_life *life = live->lives[i];
        if (life->there || is_in(life, i, session))
            live->lives[nr++] = life;
        else
            life_destroy(life);
    }
    live->nr_lives = nr;
}

// ---- totals ----

struct sums {
    struct seep_live_figures now, before, mark;
    bool rates;
};

static void add_figures(struct seep_live_figures *into, const struct seep_live_moment *moment) {
    for (uint32_t i = 0; i < moment->nr_sites; i++) {
        seep_add_up(&into->live_bytes, moment->sites[i].live_bytes);
        seep_add_up(&into->live_blocks, moment->sites[i].live_blocks);
    }
}

// Allocations of the whole process come from its threads: what is temporary only the sites know.
static void add_totals(struct seep_live_totals *totals, const struct seep_profile *profile) {
    seep_add_up(&totals->live_bytes, profile->totals.live_bytes);
    seep_add_up(&totals->live_blocks, profile->totals.live_blocks);
    seep_add_up(&totals->allocations, profile->totals.allocations);
    seep_add_up(&totals->frees, profile->totals.frees);
    seep_add_up(&totals->temporary, profile->totals.temporary);
    seep_add_up(&totals->peak_bytes, profile->totals.peak_bytes);
}

static double seconds_left(const struct seep_live *live, const struct seep_look *look) {
    double times[SEEP_TREND_MOST], values[SEEP_TREND_MOST];
    size_t nr = SEEP_MIN(live->nr_points, (size_t)SEEP_TREND_MOST);
    if (nr < SEEP_TREND_LEAST || !look->limit_bytes || !look->used_bytes ||
        look->used_bytes >= look->limit_bytes)
        return -1;
    for (size_t i = 0; i < nr; i++) {
        times[i] = (double)(live->points[i].at_ns - live->points[0].at_ns) / 1e9;
        values[i] = (double)live->points[i].rss_bytes;
    }
    struct seep_trend trend;
    seep_trend_judge(times, values, nr, &trend);
    if (trend.verdict != SEEP_TREND_GROWING || trend.slope <= 0)
        return -1;
    return (double)(look->limit_bytes - look->used_bytes) / trend.slope;
}

// Every so many are kept, so that they are of the whole time.
static void add_point(struct seep_live *live, const struct seep_look *look) {
    struct seep_live_point point = {.at_ns = look->at_ns,
                                    .live_bytes = live->totals.live_bytes,
                                    .rss_bytes = look->rss_bytes,
                                    .rates_known = live->totals.rates_known,
                                    .allocations_per_s = live->totals.allocations_per_s,
                                    .frees_per_s = live->totals.frees_per_s};
    if (++live->point_skipped < live->point_step && live->nr_points)
        return;
    live->point_skipped = 0;
    if (live->nr_points == SEEP_LIVE_POINTS) {
        for (size_t i = 0; i < SEEP_LIVE_POINTS / 2; i++)
            live->points[i] = live->points[2 * i + 1];
        live->nr_points = SEEP_LIVE_POINTS / 2;
        live->point_step *= 2;
    }
    live->points[live->nr_points++] = point;
}

static double per_second(uint64_t now, uint64_t before, double seconds) {
    return now >= before ? (double)(now - before) / seconds : -((double)(before - now) / seconds);
}

static void sum_up(struct seep_live *live, const struct seep_live_totals *before, int64_t before_ns) {
    const struct seep_session *session = live->look.session;
    struct seep_live_totals *totals = &live->totals;
    *totals = (struct seep_live_totals){.temporary_percent = -1, .seconds_left = -1};
    for (size_t i = 0; i < session->nr_profiles; i++)
        add_totals(totals, session->profiles[i]);
    totals->peak_exact = session->nr_profiles == 1 && session->profiles[0]->totals.peak_exact;
    totals->rss_bytes = live->look.rss_bytes;
    totals->nr_threads = live->look.nr_threads;
    totals->limit_bytes = live->look.limit_bytes;
    double seconds = (double)(live->look.at_ns - before_ns) / 1e9;
    uint64_t nr = totals->allocations, temporary = totals->temporary;
    if (before_ns && seconds >= 0.04 && !live->look.ended) {
        totals->rates_known = true;
        totals->bytes_per_s = per_second(totals->live_bytes, before->live_bytes, seconds);
        // Processes that ended take their counts along: that is no rate.
        totals->allocations_per_s =
            SEEP_MAX(per_second(totals->allocations, before->allocations, seconds), 0.0);
        totals->frees_per_s = SEEP_MAX(per_second(totals->frees, before->frees, seconds), 0.0);
        if (totals->allocations > before->allocations && totals->temporary >= before->temporary) {
            nr = totals->allocations - before->allocations;
            temporary = totals->temporary - before->temporary;
        }
    }
    if (nr)
        totals->temporary_percent = (int)(100.0 * (double)SEEP_MIN(temporary, nr) / (double)nr);
    struct seep_live_figures now = {0}, mark = {0};
    for (size_t i = 0; i < live->nr_lives; i++) {
        add_figures(&now, &live->lives[i]->last);
        add_figures(&mark, &live->lives[i]->mark);
    }
    totals->since_bytes = (int64_t)(now.live_bytes - mark.live_bytes);
    totals->since_blocks = (int64_t)(now.live_blocks - mark.live_blocks);
}

// ---- the whole ----

static struct seep_error *follow(struct seep_live *live, struct seep_look *look) {
    uint32_t *lives = calloc(SEEP_MAX(look->session->nr_profiles, (size_t)1), sizeof(*lives));
    if (!lives)
        return seep_error_no_memory();
    free(live->life_of);
    live->life_of = lives;
    if (live->look.session)
        note_ends(live, look->session);
    struct seep_error *error = NULL;
    for (size_t i = 0; !error && i < look->session->nr_profiles; i++) {
        const struct seep_profile *profile = look->session->profiles[i];
        struct seep_life *life = life_of(live, i, profile, &lives[i]);
        if (!life)
            error = life_begin(live, profile, &life, &lives[i]);
        if (!error)
            error = life_go_on(life, profile, look);
    }
    return error;
}

struct seep_error *seep_live_take(struct seep_live *live, struct seep_look *look) {
    if (look->error || !look->session) {
        struct seep_error *error = look->error;
        bool gone = look->ended;
        look->error = NULL;
        seep_look_deinit(look);
        if (!live->look.session)
            return error;
        if (gone && !live->look.ended) {
            live->look.ended = true;
            live->totals.seconds_left = -1;
            seep_live_log(live, "the program has ended: this is what was seen last");
        }
        if (error && (!live->nr_log || strcmp(live->log[live->nr_log - 1], error->message) != 0))
            seep_live_log(live, "%s", error->message);
        seep_error_destroy(error);
        return NULL;
    }
    // The server looked for somebody else a moment ago, and nothing came since.
    if (look->epoch && live->look.session && look->epoch == live->look.epoch &&
        look->ended == live->look.ended) {
        seep_look_deinit(look);
        return NULL;
    }
    bool ended = look->ended && !live->look.ended && live->look.session;
    struct seep_live_totals before = live->totals;
    int64_t before_ns = live->look.session ? live->look.at_ns : 0;
    struct seep_error *error = follow(live, look);
    seep_live_forget(live);
    if (live->keeps_look) {
        live->outdated = live->look.session;
        live->look.session = NULL;
    }
    seep_look_deinit(&live->look);
    live->look = *look;
    *look = (struct seep_look){NULL};
    if (error)
        return error;
    live->nr_looks++;
    sum_up(live, &before, before_ns);
    add_point(live, &live->look);
    live->totals.seconds_left = live->look.ended ? -1 : seconds_left(live, &live->look);
    if (ended)
        seep_live_log(live, "the program has ended: this is what it left");
    return NULL;
}

struct seep_error *seep_live_mark(struct seep_live *live, const char *name) {
    struct seep_error *error = NULL;
    size_t place = live->nr_marks % SEEP_LIVE_MARKS;
    for (size_t i = 0; i < live->nr_lives; i++)
        moment_deinit(&live->lives[i]->marks[place]);
    for (size_t i = 0; !error && i < live->look.session->nr_profiles; i++) {
        struct seep_life *life = live->lives[live->life_of[i]];
        error = moment_take(live->look.session->profiles[i], &life->mark);
        if (!error)
            error = moment_take(live->look.session->profiles[i], &life->marks[place]);
    }
    if (error)
        return error;
    live->nr_marks++;
    snprintf(live->marks[place].name, sizeof(live->marks[place].name), "%s", name);
    live->marks[place].at_ns = live->look.at_ns;
    snprintf(live->mark, sizeof(live->mark), "%s", name);
    live->mark_ns = live->look.at_ns;
    live->totals.since_bytes = live->totals.since_blocks = 0;
    return NULL;
}

static void count_since(struct seep_live *live) {
    struct seep_live_totals before = live->totals;
    sum_up(live, &before, 0);
}

static void *copy_of(const void *items, size_t nr_bytes) {
    void *copy = malloc(SEEP_MAX(nr_bytes, (size_t)1));
    if (copy && nr_bytes)
        memcpy(copy, items, nr_bytes);
    return copy;
}

// Counts from a mark that was made here. *ret_found false: there is none of this name.
static struct seep_error *back_to_mark(struct seep_live *live, const char *name, bool *ret_found) {
    size_t place = SEEP_LIVE_MARKS;
    uint64_t nr = SEEP_MIN(live->nr_marks, (uint64_t)SEEP_LIVE_MARKS);
    for (uint64_t i = live->nr_marks; place == SEEP_LIVE_MARKS && i > live->nr_marks - nr; i--)
        if (strcmp(live->marks[(i - 1) % SEEP_LIVE_MARKS].name, name) == 0)
            place = (i - 1) % SEEP_LIVE_MARKS;
    *ret_found = place < SEEP_LIVE_MARKS;
    for (size_t i = 0; *ret_found && i < live->nr_lives; i++) {
        struct seep_live_moment copy = live->lives[i]->marks[place];
        copy.sites = copy_of(copy.sites, copy.nr_sites * sizeof(*copy.sites));
        copy.threads = copy_of(copy.threads, copy.nr_threads * sizeof(*copy.threads));
        if (!copy.sites || !copy.threads) {
            moment_deinit(&copy);
            return seep_error_no_memory();
        }
        moment_deinit(&live->lives[i]->mark);
        live->lives[i]->mark = copy;
    }
    if (*ret_found) {
        snprintf(live->mark, sizeof(live->mark), "%s", name);
        live->mark_ns = live->marks[place].at_ns;
        count_since(live);
    }
    return NULL;
}

// ---- marks of the profiles ----

static const struct seep_mark *last_mark(const struct seep_profile *profile, const char *name) {
    for (uint32_t i = profile->nr_marks; i > 0; i--)
        if (profile->marks[i - 1].counted && (!*name || strcmp(profile->marks[i - 1].name, name) == 0))
            return &profile->marks[i - 1];
    return NULL;
}

static struct seep_error *moment_of_mark(const struct seep_profile *profile, const struct seep_mark *mark,
                                         struct seep_live_moment *moment) {
    struct seep_live_figures *sites = calloc(SEEP_MAX(profile->nr_sites, 1u), sizeof(*sites));
    if (!sites)
        return seep_error_no_memory();
    for (uint32_t i = 0; i < mark->nr_sites; i++) {
        const struct seep_mark_site *site = &mark->sites[i];
        if (site->site < profile->nr_sites)
            sites[site->site] = (struct seep_live_figures){
                .live_bytes = seep_above(site->allocated_bytes, site->freed_bytes),
                .live_blocks = seep_above(site->allocations, site->frees),
                .freed_bytes = site->freed_bytes,
                .allocations = site->allocations,
                .frees = site->frees,
                .temporary = site->temporary,
            };
    }
    moment_deinit(moment);
    *moment = (struct seep_live_moment){.sites = sites, .nr_sites = profile->nr_sites};
    return NULL;
}

struct seep_error *seep_live_mark_of_profile(struct seep_live *live, const char *name) {
    const char *found = NULL;
    for (size_t i = 0; i < live->look.session->nr_profiles; i++) {
        const struct seep_profile *profile = live->look.session->profiles[i];
        const struct seep_mark *mark = last_mark(profile, name);
        if (!mark)
            continue;
        struct seep_error *error = moment_of_mark(profile, mark, &live->lives[live->life_of[i]]->mark);
        if (error)
            return error;
        found = mark->name;
    }
    bool here = false;
    struct seep_error *error = found || !*name ? NULL : back_to_mark(live, name, &here);
    if (error || here)
        return error;
    if (!found)
        return *name ? seep_error_create(SEEP_E_NOT_FOUND, "there is no mark '%s'", name)
                     : seep_error_create(SEEP_E_NOT_FOUND, "there is no mark yet");
    snprintf(live->mark, sizeof(live->mark), "%s", found);
    live->mark_ns = 0;
    count_since(live);
    return NULL;
}

void seep_live_take_scan(struct seep_live *live, struct seep_session *session, int64_t at_ns) {
    seep_session_destroy(live->scanned);
    live->scanned = session;
    live->scanned_ns = at_ns;
}

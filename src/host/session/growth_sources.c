// SPDX-License-Identifier: BSD-2-Clause
// Snapshots of several traces, and of a process, see growth_sources.h.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "process/memory_limit.h"
#include "session/growth_sources.h"
#include "growth/series.h"
#include "session/session_open.h"

// ---- several traces ---------------------------------------------------------------------------------

struct moment {
    struct seep_session *session;
    const char *name;
    int64_t at_ns; // realtime
};

static int compare_moments(const void *left, const void *right) {
    const struct moment *a = left, *b = right;
    return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

static const struct seep_profile *same_process(const struct seep_session *session,
                                               const struct seep_profile *other) {
    for (size_t i = 0; i < session->nr_profiles; i++) {
        const struct seep_process *a = &session->profiles[i]->process, *b = &other->process;
        if (a->pid == b->pid && a->start_realtime_ns == b->start_realtime_ns && a->exe && b->exe &&
            strcmp(a->exe, b->exe) == 0)
            return session->profiles[i];
    }
    return NULL;
}

// Sites keep their numbers while a process lives, and stay what they are.
static bool continues(const struct seep_profile *earlier, const struct seep_profile *later) {
    if (earlier->nr_sites > later->nr_sites || earlier->nr_nodes > later->nr_nodes)
        return false;
    for (uint32_t i = 1; i < earlier->nr_sites; i++)
        if (earlier->sites[i].node != later->sites[i].node || earlier->sites[i].via != later->sites[i].via)
            return false;
    for (uint32_t i = 1; i < earlier->nr_nodes; i++)
        if (earlier->nodes[i].parent != later->nodes[i].parent ||
            earlier->nodes[i].offset != later->nodes[i].offset)
            return false;
    return true;
}

static struct seep_error *not_one_process(const struct moment *a, const struct moment *b) {
    return seep_error_hint(
        seep_error_create(SEEP_E_UNSUPPORTED, "%s and %s are not of one run of one process", a->name,
                          b->name),
        "growth needs snapshots of one process (seep snap PID, now and then); 'seep diff' compares runs");
}

static struct seep_error *gather_series(const struct moment *moments, size_t nr,
                                        struct seep_profile *profile) {
    struct seep_series series = {0};
    struct seep_error *error = NULL;
    for (size_t i = 0; !error && i < nr; i++) {
        const struct seep_profile *then = same_process(moments[i].session, profile);
        if (then && !continues(then, profile))
            error = not_one_process(&moments[i], &moments[nr - 1]);
        struct seep_series_memory memory = {0};
        if (then && then->account.known)
            memory.rss_bytes = then->account.rss_bytes;
        if (then && !error)
            error = seep_series_add(&series, then, &memory);
    }
    if (!error)
        error = seep_series_give(&series, profile);
    seep_series_deinit(&series);
    return error;
}

static struct seep_error *join(struct moment *moments, size_t nr) {
    qsort(moments, nr, sizeof(*moments), compare_moments);
    struct seep_session *last = moments[nr - 1].session;
    for (size_t i = 0; i + 1 < nr; i++)
        if (!same_process(moments[i].session, last->profiles[0]))
            return not_one_process(&moments[i], &moments[nr - 1]);
    struct seep_error *error = NULL;
    for (size_t p = 0; !error && p < last->nr_profiles; p++)
        error = gather_series(moments, nr, last->profiles[p]);
    return error;
}

struct seep_error *seep_growth_of_files(char *const *names, size_t nr, struct seep_session **ret_session) {
    struct moment *moments = calloc(nr, sizeof(*moments));
    struct seep_error *error = moments ? NULL : seep_error_no_memory();
    for (size_t i = 0; !error && i < nr; i++) {
        moments[i].name = names[i];
        error = seep_session_open(names[i], &moments[i].session);
        if (!error) {
            const struct seep_process *process = &moments[i].session->profiles[0]->process;
            moments[i].at_ns = process->start_realtime_ns + process->duration_ns;
        }
    }
    if (!error)
        error = join(moments, nr);
    for (size_t i = 0; moments && i < nr; i++) {
        if (!error && i == nr - 1)
            *ret_session = moments[i].session;
        else
            seep_session_destroy(moments[i].session);
    }
    free(moments);
    return error;
}

// ---- a process --------------------------------------------------------------------------------------

static void sleep_until(int64_t then_ns, const volatile sig_atomic_t *stop) {
    struct timespec then = {then_ns / 1000000000, then_ns % 1000000000};
    while (!*stop && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL) == EINTR)
        continue;
}

static struct seep_error *add_look(const struct seep_growth_look *look, struct seep_series *series,
                                   struct seep_session **session) {
    struct seep_session *now = NULL;
    struct seep_error *error = seep_session_from_pid(look->pid, &now);
    if (error)
        return error;
    seep_session_destroy(*session);
    *session = now;
    struct seep_memory_limit limit;
    seep_memory_limit_find(look->pid, "", &limit);
    struct seep_series_memory memory = {.rss_bytes = seep_process_rss(look->pid),
                                        .used_bytes = seep_memory_limit_used(&limit),
                                        .limit_bytes = limit.bytes,
                                        .limit = limit.what};
    return seep_series_add(series, now->profiles[0], &memory);
}

struct seep_error *seep_growth_of_process(const struct seep_growth_look *look,
                                          struct seep_session **ret_session) {
    struct seep_series series = {0};
    struct seep_session *session = NULL;
    struct seep_error *error = NULL;
    int64_t next_ns = seep_monotonic_ns();
    for (uint64_t nr = 1; !error; nr++) {
        error = add_look(look, &series, &session);
        if (!error && look->looked)
            look->looked(look->data, nr);
        if (error || *look->stop || nr == look->count)
            break;
        next_ns += look->interval_ns;
        sleep_until(next_ns, look->stop);
        if (*look->stop)
            break;
    }
    // It has ended: what was seen before is all there is.
    if (error && session) {
        seep_error_destroy(error);
        error = NULL;
    }
    if (!error)
        error = seep_series_give(&series, session->profiles[0]);
    seep_series_deinit(&series);
    if (error)
        seep_session_destroy(session);
    else
        *ret_session = session;
    return error;
}

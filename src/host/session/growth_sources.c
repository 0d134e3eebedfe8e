// SPDX-License-Identifier: BSD-2-Clause
// Snapshots of several traces, and of a process, see growth_sources.h.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/memory_limit.h"
#include "process/process_group.h"
#include "base/map.h"
#include "session/growth_sources.h"
#include "growth/series.h"
#include "growth/trend.h"
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
        if (seep_process_is(a, b->pid, b->start_realtime_ns) && a->exe && b->exe &&
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

// ---- processes --------------------------------------------------------------------------------------

// Of more processes only the first ones are looked at.
#define PROCESSES_MAX 256u

// From one exec to the next, or to its end.
struct watched {
    struct seep_session *session; // of the last look
    struct seep_series series;
    bool seen; // in the look at hand
};

struct watching {
    const struct seep_growth_look *look;
    struct watched *items;
    size_t nr_items;
    size_t capacity;
    struct seep_growth_left_out left_out;
};

static void watched_deinit(struct watched *watched) {
    seep_series_deinit(&watched->series);
    seep_session_destroy(watched->session);
}

static void watching_deinit(struct watching *watching) {
    for (size_t i = 0; i < watching->nr_items; i++)
        watched_deinit(&watching->items[i]);
    free(watching->items);
}

static struct seep_error *list_pids(const struct seep_growth_look *look, struct seep_pids *ret_pids) {
    if (look->pid)
        return seep_pids_add_family(ret_pids, look->pid);
    int folder = open(look->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || faccessat(folder, "cgroup.procs", R_OK, 0) != 0) {
        struct seep_error *error = seep_error_hint(
            seep_error_system(folder < 0 ? errno : ENOENT, "--cgroup: %s", look->cgroup),
            "name the folder of a control group, such as /sys/fs/cgroup/system.slice/app.service");
        if (folder >= 0)
            close(folder);
        return error;
    }
    return seep_pids_add_group(ret_pids, folder);
}

// NULL: out of memory.
static struct watched *find(struct watching *watching, const struct seep_profile *profile) {
    for (size_t i = 0; i < watching->nr_items; i++) {
        const struct seep_profile *before = watching->items[i].session->profiles[0];
        if (seep_process_is(&before->process, profile->process.pid, profile->process.start_realtime_ns) &&
            continues(before, profile))
            return &watching->items[i];
    }
    if (!seep_grow(&watching->items, &watching->capacity, watching->nr_items + 1, sizeof(*watching->items)))
        return NULL;
    watching->items[watching->nr_items] = (struct watched){NULL};
    return &watching->items[watching->nr_items++];
}

static struct seep_error *look_at(struct watching *watching, pid_t pid) {
    struct seep_session *now = NULL;
    struct seep_error *error = seep_session_from_pid(pid, &now);
    if (error)
        return error;
    struct watched *watched = find(watching, now->profiles[0]);
    if (!watched) {
        seep_session_destroy(now);
        return seep_error_no_memory();
    }
    seep_session_destroy(watched->session);
    watched->session = now;
    watched->seen = true;
    now->profiles[0]->process.is_main = pid == watching->look->pid || watched == watching->items;
    struct seep_memory_limit limit;
    seep_memory_limit_find(pid, "", &limit);
    struct seep_series_memory memory = {.rss_bytes = seep_process_rss(pid),
                                        .used_bytes = seep_memory_limit_used(&limit),
                                        .limit_bytes = limit.bytes,
                                        .limit = limit.what,
                                        .cpu_ns = seep_process_cpu_ns(pid)};
    return seep_series_add(&watched->series, now->profiles[0], &memory);
}

// Processes that lived for only a few looks tell nothing, and there may be very many.
static void leave_out(struct watching *watching) {
    for (size_t i = watching->nr_items; i-- > 1;) {
        struct watched *watched = &watching->items[i];
        if (watched->seen || watched->series.nr_snapshots >= SEEP_TREND_LEAST)
            continue;
        watched_deinit(watched);
        memmove(watched, watched + 1, (--watching->nr_items - i) * sizeof(*watched));
        watching->left_out.nr_short++;
    }
}

// *ret_any: one was seen. The error is that of the process that was named, or of the whole look.
static struct seep_error *look_at_all(struct watching *watching, bool *ret_any) {
    struct seep_pids pids = {NULL};
    struct seep_error *error = list_pids(watching->look, &pids), *first = NULL;
    *ret_any = false;
    for (size_t i = 0; i < watching->nr_items; i++)
        watching->items[i].seen = false;
    for (size_t i = 0, nr = 0; !error && i < pids.nr_items; i++) {
        if (nr == PROCESSES_MAX) {
            watching->left_out.nr_beyond = SEEP_MAX(watching->left_out.nr_beyond, pids.nr_items - i);
            break;
        }
        struct seep_error *trouble = look_at(watching, pids.items[i]);
        *ret_any |= !trouble;
        nr += !trouble;
        if (trouble && (trouble->code == SEEP_E_MEMORY || pids.items[i] == watching->look->pid))
            error = trouble;
        else if (trouble && !first)
            first = trouble;
        else
            seep_error_destroy(trouble);
    }
    seep_pids_deinit(&pids);
    leave_out(watching);
    if (error || *ret_any) {
        seep_error_destroy(first);
        return error;
    }
    return first ? first
                 : seep_error_hint(
                       seep_error_create(SEEP_E_NOT_FOUND, "no process in %s", watching->look->cgroup),
                       "start one first, with 'seep run' or LD_PRELOAD=libseep.so");
}

// One session of all of them.
static struct seep_error *join_all(struct watching *watching, struct seep_session **ret_session) {
    struct seep_session *session = watching->items[0].session;
    struct seep_error *error = seep_series_give(&watching->items[0].series, session->profiles[0]);
    for (size_t i = 1; !error && i < watching->nr_items; i++) {
        struct watched *watched = &watching->items[i];
        struct seep_profile *profile = watched->session->profiles[0];
        error = seep_series_give(&watched->series, profile);
        if (error)
            break;
        watched->session->nr_profiles = 0;
        error = seep_session_add(session, profile);
    }
    if (error)
        return error;
    watching->items[0].session = NULL;
    *ret_session = session;
    return NULL;
}

struct seep_error *seep_growth_of_processes(const struct seep_growth_look *look,
                                            struct seep_session **ret_session,
                                            struct seep_growth_left_out *ret_left_out) {
    struct watching watching = {.look = look};
    struct seep_error *error = NULL;
    int64_t next_ns = seep_monotonic_ns();
    for (uint64_t nr = 1; !error; nr++) {
        bool any;
        error = look_at_all(&watching, &any);
        if (!error && look->looked)
            look->looked(look->data, nr);
        if (error || *look->stop || nr == look->count)
            break;
        next_ns += look->interval_ns;
        seep_sleep_until(next_ns, look->stop);
        if (*look->stop)
            break;
    }
    // The processes have ended: the looks so far are the result.
    if (error && watching.nr_items && error->code != SEEP_E_MEMORY) {
        seep_error_destroy(error);
        error = NULL;
    }
    if (!error)
        error = join_all(&watching, ret_session);
    if (!error)
        *ret_left_out = watching.left_out;
    watching_deinit(&watching);
    return error;
}

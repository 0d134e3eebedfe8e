// SPDX-License-Identifier: BSD-2-Clause
// Looking on while a program runs, see run_watch.h.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/numbers.h"
#include "base/words.h"
#include "base/map.h"
#include "process/memory_limit.h"
#include "analysis/account.h"
#include "profile/verdict.h"
#include "source/image/profile_image.h"
#include "session/run_watch.h"

#define MS INT64_C(1000000)
// Memory is asked for as often as it may take to get there, within these.
#define ASK_LEAST_NS (5 * MS)
#define ASK_MOST_NS  (25 * MS)
// Beyond half of the way there: memory comes by a page fault each 4 KiB, some 10 MiB in that time.
#define ASK_NEAR_NS (10 * MS)
// The trace so far is kept as often as --interval looks, or twice a minute, in at most a hundredth of the
// time.
#define KEEP_FIRST_NS (10000 * MS)
#define KEEP_NS       (30000 * MS)
#define KEEP_SHARE    100
// Which group and which limit is a matter of several files.
#define LIMIT_NS (1000 * MS)

void seep_watching_init(struct seep_watching *watching, const struct seep_run_watch *watch) {
    bool keeps = watch && watch->keep, looks = watch && watch->interval_ns,
         asks = watch && (watch->snap_bytes || watch->snap_percent);
    struct seep_memory_limit limit; // of the tool itself: the program begins in the same group
    seep_memory_limit_find(getpid(), "", &limit);
    *watching = (struct seep_watching){.limit = limit,
                                       .killed_before = seep_memory_limit_killed(&limit),
                                       .watch = looks || asks || keeps ? watch : NULL,
                                       .keep_ns = keeps ? 0 : INT64_MAX,
                                       .look_ns = looks ? 0 : INT64_MAX,
                                       .ask_ns = asks ? 0 : INT64_MAX};
}

void seep_watching_deinit(struct seep_watching *watching) {
    for (size_t i = 0; i < watching->nr_images; i++) {
        seep_series_deinit(&watching->images[i]->series);
        free(watching->images[i]);
    }
    free(watching->images);
    free(watching->trouble);
}

// A look that fails costs that look and nothing else.
static void keep_trouble(struct seep_watching *watching, struct seep_error *error) {
    if (!error)
        return;
    watching->nr_failed++;
    if (!watching->trouble)
        watching->trouble = strdup(error->message);
    seep_error_destroy(error);
}

static bool is_live(const struct seep_run_image *image) {
    return image->fd >= 0 && !image->replaced && !image->reused && !seep_run_image_ended(image);
}

// A process that is gone tells of no group, or of a wrong one: what was known of it stays.
static const struct seep_memory_limit *limit_of(struct seep_watching *watching, pid_t pid) {
    struct seep_memory_limit limit;
    int64_t now_ns = seep_monotonic_ns();
    if (watching->limit_ns && now_ns - watching->limit_ns < LIMIT_NS)
        return &watching->limit;
    seep_memory_limit_find(pid, "", &limit);
    if (!limit.is_known || !seep_process_rss(pid)) // one that ends is put into the root group
        return &watching->limit;
    if (strcmp(limit.own, watching->limit.own) != 0)
        watching->killed_before = seep_memory_limit_killed(&limit);
    watching->limit = limit;
    watching->limit_ns = now_ns;
    return &watching->limit;
}

// The one of those that live; NULL: there is none.
static const struct seep_run_image *image_of(const struct seep_run *run, uint32_t pid) {
    for (size_t i = 0; i < run->nr_images; i++)
        if (is_live(&run->images[i]) && (uint32_t)run->images[i].pid == pid)
            return &run->images[i];
    return NULL;
}

// ---- what is there now ------------------------------------------------------------------------------

static struct seep_error *read_now(const struct seep_run *run, const struct seep_run_image *image,
                                   struct seep_profile **ret_profile) {
    struct seep_error *error = seep_profile_from_fd(image->fd, image->pid, ret_profile);
    if (!error)
        (*ret_profile)->process.is_main = image->pid == run->main_pid;
    return error;
}

// The main one first. Owner: a profile that is added is the session's.
static struct seep_error *add_first(struct seep_session *session, struct seep_profile *profile) {
    struct seep_error *error = seep_session_add(session, profile);
    if (!error && profile->process.is_main) {
        memmove(session->profiles + 1, session->profiles,
                (session->nr_profiles - 1) * sizeof(*session->profiles));
        session->profiles[0] = profile;
    }
    return error;
}

static struct seep_error *add_snapshot(struct seep_watching *watching, const struct seep_run_image *image,
                                       const struct seep_profile *profile) {
    struct seep_watched *found = NULL;
    for (size_t i = 0; i < watching->nr_images && !found; i++)
        found = watching->images[i]->order == image->order ? watching->images[i] : NULL;
    if (!found) {
        if (!seep_grow(&watching->images, &watching->capacity, watching->nr_images + 1,
                       sizeof(*watching->images)) ||
            !(found = calloc(1, sizeof(*found))))
            return seep_error_no_memory();
        found->order = image->order;
        watching->images[watching->nr_images++] = found;
    }
    const struct seep_memory_limit *limit = limit_of(watching, image->pid);
    struct seep_series_memory memory = {.rss_bytes = seep_process_rss(image->pid),
                                        .used_bytes = seep_memory_limit_used(limit),
                                        .limit_bytes = limit->bytes,
                                        .limit = limit->what,
                                        .cpu_ns = seep_process_cpu_ns(image->pid)};
    return seep_series_add(&found->series, profile, &memory);
}

// A process that ends meanwhile, or is just starting, is left out.
static struct seep_error *gather(struct seep_watching *watching, const struct seep_run *run, bool snapshots,
                                 bool accounts, struct seep_session **ret_session) {
    struct seep_session *session = NULL;
    struct seep_error *error = seep_session_create(&session);
    for (size_t i = 0; !error && i < run->nr_images; i++) {
        struct seep_profile *profile = NULL;
        if (!is_live(&run->images[i]))
            continue;
        error = read_now(run, &run->images[i], &profile);
        if (error) {
            keep_trouble(watching, error);
            error = NULL;
            continue;
        }
        if (accounts)
            seep_error_destroy(seep_account_take(profile, run->images[i].pid));
        if (snapshots)
            error = add_snapshot(watching, &run->images[i], profile);
        if (error)
            seep_profile_destroy(profile);
        else
            error = add_first(session, profile);
    }
    if (error)
        seep_session_destroy(session);
    else
        *ret_session = session;
    return error;
}

static void look(struct seep_watching *watching, const struct seep_run *run, int64_t now_ns) {
    const struct seep_run_watch *watch = watching->watch;
    bool first = watching->look_ns == 0; // when the program has just started: nothing is there yet
    watching->look_ns = (first ? now_ns : watching->look_ns) + watch->interval_ns;
    if (watching->look_ns <= now_ns)
        watching->look_ns = now_ns + watch->interval_ns; // the machine was busy: some are left out
    if (first)
        return;
    if (++watching->nr_looks == watch->count)
        watching->look_ns = INT64_MAX;
    struct seep_session *session = NULL;
    struct seep_error *error = gather(watching, run, true, false, &session);
    if (!error && session->nr_profiles && watch->looked)
        watch->looked(watch->data, session);
    seep_session_destroy(session);
    keep_trouble(watching, error);
}

// ---- what outlives us -------------------------------------------------------------------------------

static struct seep_error *note_kept(struct seep_profile *profile) {
    return seep_profile_note(profile, SEEP_NOTE_KEPT_MEANWHILE,
                             "kept %s after its start: seep was killed before the program had ended, and "
                             "processes that had ended by then are not in it",
                             seep_format_duration(profile->process.duration_ns).text);
}

static void keep(struct seep_watching *watching, const struct seep_run *run, int64_t now_ns) {
    const struct seep_run_watch *watch = watching->watch;
    int64_t pause_ns = watch->interval_ns ? SEEP_MIN(watch->interval_ns, KEEP_NS) : KEEP_NS;
    bool first = watching->keep_ns == 0;
    watching->keep_ns = now_ns + (first ? SEEP_MIN(pause_ns, KEEP_FIRST_NS) : pause_ns);
    if (first)
        return;
    struct seep_session *session = NULL;
    struct seep_error *error = gather(watching, run, false, false, &session);
    for (size_t i = 0; !error && i < session->nr_profiles; i++) {
        struct seep_profile *profile = session->profiles[i];
        const struct seep_run_image *image = image_of(run, profile->process.pid);
        error = image ? seep_watching_give(watching, image->order, profile) : NULL;
        if (!error && i == 0)
            error = note_kept(profile);
    }
    if (!error && session->nr_profiles)
        watch->keep(watch->data, session);
    seep_session_destroy(session);
    keep_trouble(watching, error);
    watching->keep_ns = SEEP_MAX(watching->keep_ns, now_ns + (seep_monotonic_ns() - now_ns) * KEEP_SHARE);
}

// ---- memory -----------------------------------------------------------------------------------------

struct asked {
    uint64_t bytes; // now
    uint64_t bound; // where to snap
    uint64_t limit_bytes;
    char what[192];
};

static uint64_t rss_of_all(const struct seep_run *run, size_t *ret_nr) {
    uint64_t sum = 0;
    bool main_counted = false;
    *ret_nr = 0;
    for (size_t i = 0; i < run->nr_images; i++) {
        if (!is_live(&run->images[i]))
            continue;
        sum += seep_process_rss(run->images[i].pid);
        main_counted |= run->images[i].pid == run->main_pid;
        ++*ret_nr;
    }
    return main_counted ? sum : sum + seep_process_rss(run->main_pid);
}

// The program, or where it has ended a process that runs on.
static pid_t first_live(const struct seep_run *run) {
    for (size_t i = 0; run->main_ended && i < run->nr_images; i++)
        if (is_live(&run->images[i]))
            return run->images[i].pid;
    return run->main_pid;
}

static struct asked ask(struct seep_watching *watching, const struct seep_run *run) {
    const struct seep_run_watch *watch = watching->watch;
    struct asked asked = {.bound = watch->snap_bytes};
    if (watch->snap_bytes) {
        size_t nr;
        asked.bytes = rss_of_all(run, &nr);
        snprintf(asked.what, sizeof(asked.what), "resident memory of %zu process%s", nr, seep_plural_es(nr));
        return asked;
    }
    const struct seep_memory_limit *limit = limit_of(watching, first_live(run));
    asked.bytes = seep_memory_limit_used(limit);
    asked.limit_bytes = limit->bytes;
    asked.bound = (uint64_t)((double)limit->bytes / 100 * watch->snap_percent);
    snprintf(asked.what, sizeof(asked.what), "%s", limit->what);
    return asked;
}

static void snap(struct seep_watching *watching, const struct seep_run *run, const struct asked *asked) {
    struct seep_session *session = NULL;
    struct seep_error *error = gather(watching, run, false, true, &session);
    if (!error && session->nr_profiles) {
        struct seep_run_reached reached = {asked->bytes, asked->limit_bytes, asked->what};
        watching->reached = true;
        watching->ask_ns = INT64_MAX;
        watching->watch->reached(watching->watch->data, session, &reached);
    }
    seep_session_destroy(session);
    keep_trouble(watching, error);
}

// Asks again when a third of the way may have been made, at the rate of late.
static void ask_again(struct seep_watching *watching, const struct asked *asked, int64_t now_ns) {
    double most_ns = asked->bytes > asked->bound / 2 ? ASK_NEAR_NS : ASK_MOST_NS;
    double pause_ns = most_ns, grown = (double)asked->bytes - (double)watching->asked_bytes;
    if (watching->asked_ns && grown > 0)
        pause_ns =
            ((double)asked->bound - (double)asked->bytes) / grown * (double)(now_ns - watching->asked_ns) / 3;
    if (!watching->asked_ns)
        pause_ns = ASK_LEAST_NS;
    watching->asked_bytes = asked->bytes;
    watching->asked_ns = now_ns;
    watching->ask_ns = now_ns + (int64_t)SEEP_MIN(SEEP_MAX(pause_ns, (double)ASK_LEAST_NS), most_ns);
}

void seep_watching_look_on(struct seep_watching *watching, const struct seep_run *run, int64_t now_ns,
                           int64_t *ret_next_ns) {
    if (now_ns >= watching->ask_ns) {
        struct asked asked = ask(watching, run);
        ask_again(watching, &asked, now_ns);
        if (asked.bound && asked.bytes >= asked.bound)
            snap(watching, run, &asked);
    }
    if (now_ns >= watching->look_ns)
        look(watching, run, now_ns);
    if (now_ns >= watching->keep_ns)
        keep(watching, run, now_ns);
    *ret_next_ns = SEEP_MIN(SEEP_MIN(watching->look_ns, watching->ask_ns), watching->keep_ns);
}

struct seep_error *seep_watching_note_memory(const struct seep_watching *watching, const struct seep_run *run,
                                             struct seep_profile *profile) {
    uint64_t killed = seep_memory_limit_killed(&watching->limit);
    killed = killed > watching->killed_before ? killed - watching->killed_before : 0;
    bool by_signal = WIFSIGNALED(run->wait_status) && WTERMSIG(run->wait_status) == SIGKILL;
    struct seep_error *error = NULL;
    if (killed && by_signal)
        error = seep_profile_note(profile, SEEP_NOTE_OUT_OF_MEMORY,
                                  "killed by the OOM killer of its control group: %s, %s",
                                  watching->limit.what, seep_format_bytes(watching->limit.bytes).text);
    else if (killed)
        error =
            seep_profile_note(profile, SEEP_NOTE_OUT_OF_MEMORY,
                              "the OOM killer of its control group (%s, %s) killed %llu process%s meanwhile",
                              watching->limit.what, seep_format_bytes(watching->limit.bytes).text,
                              (unsigned long long)killed, seep_plural_es(killed));
    const struct seep_run_watch *watch = watching->watch;
    bool asks = watch && (watch->snap_bytes || watch->snap_percent) && !watching->reached;
    bool is_missed = killed || (asks && watch->snap_bytes && run->most_resident_bytes >= watch->snap_bytes);
    if (!error && asks && is_missed)
        error = seep_profile_note(
            profile, SEEP_NOTE_SNAPSHOT_MISSED,
            "--snap-at: memory came there within %lld ms, between two looks, and no snapshot was "
            "made; this has what was live in the end",
            (long long)(ASK_MOST_NS / MS));
    return error;
}

struct seep_error *seep_watching_give(const struct seep_watching *watching, size_t order,
                                      struct seep_profile *profile) {
    for (size_t i = 0; i < watching->nr_images; i++) {
        if (watching->images[i]->order != order)
            continue;
        struct seep_error *error = seep_series_give(&watching->images[i]->series, profile);
        if (error)
            return error;
    }
    return NULL;
}

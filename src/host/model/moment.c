// SPDX-License-Identifier: BSD-2-Clause
// A session as it was at a mark, see moment.h.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/moment.h"
#include "model/profile_image.h"
#include "model/session_open.h"

// "name#2" as name and which; 0: the last.
struct wanted {
    const char *name;
    size_t length;
    unsigned long which;
};

static struct wanted parse(const char *text) {
    struct wanted wanted = {.name = text, .length = strlen(text)};
    const char *hash = strrchr(text, '#');
    if (hash && hash[1] && strlen(hash + 1) < 10 && hash[1 + strspn(hash + 1, "0123456789")] == 0) {
        wanted.which = strtoul(hash + 1, NULL, 10);
        wanted.length = wanted.which ? (size_t)(hash - text) : wanted.length;
    }
    return wanted;
}

static const struct seep_mark *find(const struct seep_profile *profile, struct wanted wanted) {
    const struct seep_mark *found = NULL;
    unsigned long nr = 0;
    for (uint32_t i = 0; i < profile->nr_marks; i++) {
        const struct seep_mark *mark = &profile->marks[i];
        if (strlen(mark->name) != wanted.length || memcmp(mark->name, wanted.name, wanted.length) != 0)
            continue;
        nr++;
        if (!wanted.which || nr == wanted.which)
            found = mark;
    }
    return found;
}

static struct seep_error *not_found(const struct seep_session *session, const char *name) {
    char list[512] = "";
    size_t used = 0;
    for (size_t p = 0; p < session->nr_profiles; p++)
        for (uint32_t i = 0; i < session->profiles[p]->nr_marks && used < sizeof(list); i++)
            used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "",
                                     session->profiles[p]->marks[i].name);
    struct seep_error *error = seep_error_create(SEEP_E_NOT_FOUND, "there is no mark '%s' in it", name);
    if (!used)
        return seep_error_hint(
            error, "it has no marks: make them with 'seep mark PID NAME', or seep_mark() of seep.h");
    return seep_error_hint(error, "its marks are %s%s", list, used >= sizeof(list) ? "..." : "");
}

static void drop_details(struct seep_profile *profile) {
    profile->nr_blocks = 0;
    profile->nr_thread_sites = 0;
    profile->nr_threads = 0;
    profile->block_kinds = NULL;
    profile->leaders = profile->let_go = NULL;
    profile->leaks = (struct seep_leaks){.known = false};
    profile->nr_map_sites = profile->nr_mappings = 0;
    profile->map_totals = (struct seep_map_counts){0};
    profile->nr_wrong_releases = 0;
    profile->nr_pools = profile->nr_pieces = 0;
    profile->account = (struct seep_account){.known = false};
    profile->nr_snapshots = 0;
    profile->growth = NULL;
    memset(profile->totals.size_class, 0, sizeof(profile->totals.size_class));
    memset(profile->totals.releases, 0, sizeof(profile->totals.releases));
    profile->totals.peak_bytes = 0;
    profile->totals.peak_exact = false;
}

// Sizes stay: they are of all that the site ever allocated, and tell it apart from its neighbours.
static void set_counts(struct seep_profile *profile, const struct seep_mark *mark) {
    for (uint32_t i = 0; i < profile->nr_sites; i++) {
        struct seep_counters *counters = &profile->sites[i].counters;
        *counters = (struct seep_counters){.size_min = counters->size_min, .size_max = counters->size_max};
        profile->sites[i].kind = SEEP_KIND_UNKNOWN;
        profile->sites[i].held = NULL;
    }
    for (uint32_t i = 0; mark && i < mark->nr_sites; i++) {
        struct seep_counters *counters = &profile->sites[mark->sites[i].site].counters;
        counters->allocations = mark->sites[i].allocations;
        counters->allocated_bytes = mark->sites[i].allocated_bytes;
        counters->frees = mark->sites[i].frees;
        counters->freed_bytes = mark->sites[i].freed_bytes;
        counters->temporary = mark->sites[i].temporary;
    }
    profile->process.duration_ns = mark ? mark->at_ns : 0;
    profile->process.exit_kind = SEEP_EXIT_RUNNING;
    drop_details(profile);
    seep_profile_derive(profile);
    profile->totals.peak_bytes = profile->totals.live_bytes; // at least
}

struct seep_error *seep_moment_time(const struct seep_session *session, const char *name, size_t process,
                                    int64_t *ret_ns) {
    struct wanted wanted = parse(name);
    const struct seep_profile *profile = session->profiles[process];
    const struct seep_mark *mark = find(profile, wanted);
    if (mark) {
        *ret_ns = mark->at_ns;
        return NULL;
    }
    for (size_t p = 0; p < session->nr_profiles; p++) {
        const struct seep_profile *other = session->profiles[p];
        mark = find(other, wanted);
        // In this order nothing is out of range where the starts are times of a clock.
        if (mark &&
            !__builtin_sub_overflow(other->process.start_realtime_ns, profile->process.start_realtime_ns,
                                    ret_ns) &&
            !__builtin_add_overflow(*ret_ns, mark->at_ns, ret_ns))
            return NULL;
    }
    return not_found(session, name);
}

struct seep_error *seep_moment_go(struct seep_session *session, const char *name) {
    struct wanted wanted = parse(name);
    const struct seep_mark *first = NULL;
    int64_t moment_ns = 0;
    for (size_t p = 0; p < session->nr_profiles && !first; p++) {
        first = find(session->profiles[p], wanted);
        if (first)
            moment_ns = session->profiles[p]->process.start_realtime_ns + first->at_ns;
    }
    if (!first)
        return not_found(session, name);
    for (size_t p = 0; p < session->nr_profiles; p++) {
        struct seep_profile *profile = session->profiles[p];
        const struct seep_mark *mark = find(profile, wanted);
        if (mark && !mark->counted && mark->nr_sites == 0 && profile->totals.allocations)
            return seep_error_hint(
                seep_error_create(SEEP_E_UNSUPPORTED, "of the mark '%s' only the name was kept", name),
                "there was no room for its counts: make fewer marks, or take snapshots (seep snap)");
        struct seep_error *error = NULL;
        if (!mark && profile->process.start_realtime_ns < moment_ns)
            error = seep_profile_note(profile, "has no mark '%s': it counts as empty then", name);
        if (error)
            return error;
        set_counts(profile, mark);
    }
    return NULL;
}

struct seep_error *seep_moment_open(const char *source, struct seep_session **ret_session) {
    const char *at = strrchr(source, '@');
    if (!at || !at[1] || at == source || access(source, F_OK) == 0)
        return seep_session_open(source, ret_session);
    char *file = strndup(source, (size_t)(at - source));
    if (!file)
        return seep_error_no_memory();
    struct seep_session *session = NULL;
    struct seep_error *error = seep_session_open(file, &session);
    free(file);
    if (!error)
        error = seep_moment_go(session, at + 1);
    if (error) {
        seep_session_destroy(session);
        return error;
    }
    *ret_session = session;
    return NULL;
}

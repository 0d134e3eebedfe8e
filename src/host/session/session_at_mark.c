// SPDX-License-Identifier: BSD-2-Clause
// A session as it was at a mark or a snapshot, see session_at_mark.h.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/numbers.h"
#include "base/sum.h"
#include "base/text_copy.h"
#include "base/words.h"
#include "growth/snapshots.h"
#include "profile/verdict.h"
#include "profile/marks.h"
#include "session/session_at_mark.h"
#include "session/recording_rebuild.h"
#include "session/session_open.h"

static bool is_of_scan(uint32_t code) {
    return code == SEEP_NOTE_SCAN_UNREAD || code == SEEP_NOTE_SCAN_NOT_KEPT ||
           code == SEEP_NOTE_SCAN_STOPPED || code == SEEP_NOTE_SCAN_WOKEN || code == SEEP_NOTE_LOST_CYCLES ||
           code == SEEP_NOTE_HEADERS;
}

// What a scan of the end said beside its classes.
static void drop_notes_of_scan(struct seep_health *health) {
    size_t nr = 0;
    for (size_t i = 0; i < health->nr_notes; i++)
        if (!is_of_scan(health->notes[i].code))
            health->notes[nr++] = health->notes[i];
    health->nr_notes = nr;
}

void seep_at_mark_drop_details(struct seep_profile *profile) {
    drop_notes_of_scan(&profile->health);
    profile->nr_blocks = 0;
    profile->nr_thread_sites = 0;
    profile->nr_threads = 0;
    profile->block_kinds = NULL;
    profile->leaders = profile->let_go = NULL;
    profile->leaks = (struct seep_leaks){.known = false};
    profile->nr_mapping_sites = profile->nr_mappings = 0;
    profile->mapping_totals = (struct seep_mapping_counts){0};
    profile->nr_wrong_releases = 0;
    profile->nr_pools = profile->nr_pieces = 0;
    profile->account = (struct seep_account){.known = false};
    profile->nr_snapshots = 0;
    profile->growth = NULL;
    memset(profile->totals.size_class, 0, sizeof(profile->totals.size_class));
    memset(profile->totals.releases, 0, sizeof(profile->totals.releases));
    profile->at_peak.counted = false;
    profile->totals.peak_bytes = 0;
    profile->totals.peak_exact = false;
    profile->totals.peak_error_bytes = 0;
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
    profile->process.is_past = true;
    seep_at_mark_drop_details(profile);
    seep_profile_derive(profile);
    profile->totals.peak_bytes = profile->totals.live_bytes; // at least
}

struct seep_error *seep_at_mark_go(struct seep_session *session, const char *name) {
    const struct seep_mark *first = NULL;
    int64_t moment_ns = 0;
    for (size_t p = 0; p < session->nr_profiles && !first; p++) {
        first = seep_marks_find(session->profiles[p], name);
        if (first)
            moment_ns = seep_time_plus(session->profiles[p]->process.start_realtime_ns, first->at_ns);
    }
    if (!first)
        return seep_marks_missing(session, name);
    for (size_t p = 0; p < session->nr_profiles; p++) {
        struct seep_profile *profile = session->profiles[p];
        const struct seep_mark *mark = seep_marks_find(profile, name);
        if (mark && !mark->counted && mark->nr_sites == 0 && profile->totals.allocations)
            return seep_error_hint(
                seep_error_create(SEEP_E_UNSUPPORTED, "of the mark '%s' only the name was kept", name),
                "there was no room for its counts: make fewer marks, or take snapshots (seep snap)");
        struct seep_error *error = NULL;
        if (!mark && profile->process.start_realtime_ns < moment_ns)
            error = seep_profile_note(profile, SEEP_NOTE_NO_MARK, "has no mark '%s': it counts as empty then",
                                      name);
        if (error)
            return error;
        set_counts(profile, mark);
    }
    return NULL;
}

// ---- snapshots ----

// Of a snapshot only what was live is known: the allocations are those.
static struct seep_error *go_to_snapshot(struct seep_profile *profile, uint32_t index) {
    struct seep_snapshot_live *sites = seep_snapshots_sites(profile, index);
    if (!sites)
        return seep_error_no_memory();
    int64_t at_ns = profile->snapshots[index].at_ns;
    uint32_t nr = profile->nr_snapshots; // none are left of the moment
    set_counts(profile, NULL);
    for (uint32_t i = 0; i < profile->nr_sites; i++) {
        profile->sites[i].counters.allocations = sites[i].blocks;
        profile->sites[i].counters.allocated_bytes = sites[i].bytes;
    }
    free(sites);
    profile->process.duration_ns = at_ns;
    seep_profile_derive(profile);
    profile->totals.peak_bytes = profile->totals.live_bytes; // at least
    return seep_profile_note(profile, SEEP_NOTE_OF_SNAPSHOT,
                             "snapshot %u of %u, at %s: only what was live is known, so its allocations "
                             "are those",
                             index + 1, nr, seep_format_duration(at_ns).text);
}

static struct seep_error *no_snapshot(const struct seep_profile *profile, const char *name) {
    struct seep_error *error =
        seep_error_create(SEEP_E_NOT_FOUND, "there is no mark and no snapshot '%s' in it", name);
    uint32_t nr = profile->nr_snapshots;
    if (name[strspn(name, "0123456789")] == 0 && !nr)
        return seep_error_hint(error, "it has no snapshots, and a time needs a unit: %ss, or %sms", name,
                               name);
    if (!nr)
        return seep_error_hint(error,
                               "it has no snapshots: 'seep run --interval TIME' takes them, and 'seep run "
                               "--mode record' keeps every moment");
    return seep_error_hint(error, "it has %u snapshot%s, from %s to %s", nr, seep_plural(nr),
                           seep_format_duration(profile->snapshots[0].at_ns).text,
                           seep_format_duration(profile->snapshots[nr - 1].at_ns).text);
}

// `which` from 1; 0: the last one until at_ns. All processes go to that moment; those that have no snapshot
// until then had nothing yet.
static struct seep_error *snapshot_go(struct seep_session *session, const char *name, uint64_t which,
                                      int64_t at_ns) {
    size_t first = 0;
    while (first + 1 < session->nr_profiles && !session->profiles[first]->nr_snapshots)
        first++;
    const struct seep_profile *of = session->profiles[first];
    if (which ? which > of->nr_snapshots : !seep_snapshots_until(of, at_ns))
        return no_snapshot(of, name);
    if (which)
        at_ns = of->snapshots[which - 1].at_ns;
    int64_t moment_ns = seep_time_plus(of->process.start_realtime_ns, at_ns);
    struct seep_error *error = NULL;
    for (size_t p = 0; !error && p < session->nr_profiles; p++) {
        struct seep_profile *profile = session->profiles[p];
        int64_t own_ns = seep_time_less(moment_ns, profile->process.start_realtime_ns);
        uint32_t nr = seep_snapshots_until(profile, p == first ? at_ns : own_ns);
        if (nr)
            error = go_to_snapshot(profile, nr - 1);
        else
            set_counts(profile, NULL);
    }
    return error;
}

static bool is_number(const char *text, uint64_t *ret_value) {
    size_t nr = strspn(text, "0123456789");
    *ret_value = strtoull(text, NULL, 10);
    return nr && nr < 10 && !text[nr] && *ret_value;
}

// Of a recording the events say more than the counts of a mark do.
static bool time_of_mark(const struct seep_session *session, const char *name, int64_t *ret_at_ns) {
    for (size_t p = 0; p < session->nr_profiles; p++) {
        const struct seep_profile *profile = session->profiles[p];
        const struct seep_mark *mark = seep_marks_find(profile, name);
        if (!mark)
            continue;
        *ret_at_ns = seep_time_plus(seep_time_less(profile->process.start_realtime_ns,
                                                   session->profiles[0]->process.start_realtime_ns),
                                    mark->at_ns);
        return true;
    }
    return false;
}

// Of the last process, since the start of the first.
static int64_t end_of(const struct seep_session *session) {
    int64_t end_ns = 0;
    for (size_t p = 0; p < session->nr_profiles; p++) {
        const struct seep_process *process = &session->profiles[p]->process;
        int64_t start_ns =
            seep_time_less(process->start_realtime_ns, session->profiles[0]->process.start_realtime_ns);
        end_ns = SEEP_MAX(end_ns, seep_time_plus(start_ns, process->duration_ns));
    }
    return end_ns;
}

static struct seep_error *go_to_time(struct seep_session *session, const char *source, const char *when,
                                     int64_t at_ns, bool counts_only) {
    int64_t end_ns = end_of(session);
    struct seep_error *error = seep_rebuild_is_recording(source)
                                   ? seep_rebuild_go(session, source, at_ns, counts_only)
                                   : snapshot_go(session, when, 0, at_ns);
    if (error || at_ns <= end_ns || !session->nr_profiles)
        return error;
    return seep_profile_note(session->profiles[0], SEEP_NOTE_AFTER_END,
                             "%s is after the end, at %s: this is what there was then", when,
                             seep_format_duration(end_ns).text);
}

static struct seep_error *go_in(struct seep_session *session, const char *source, const char *when,
                                bool counts_only) {
    int64_t at_ns = 0;
    bool recorded = seep_rebuild_is_recording(source);
    bool is_peak = recorded && strcmp(when, "peak") == 0; // which the events know better than a mark
    bool is_mark = !is_peak && time_of_mark(session, when, &at_ns);
    bool is_time = !is_mark && seep_rebuild_parse(when, &at_ns);
    if (recorded && is_time && at_ns != SEEP_REBUILD_PEAK)
        return go_to_time(session, source, when, at_ns, counts_only);
    if (recorded && (is_mark || is_time))
        return seep_rebuild_go(session, source, at_ns, counts_only);
    uint64_t which = 0;
    if (!is_mark && is_number(when, &which))
        return snapshot_go(session, when, which, 0);
    if (is_time && at_ns != SEEP_REBUILD_PEAK)
        return go_to_time(session, source, when, at_ns, counts_only);
    return seep_at_mark_go(session, when);
}

// Not a mark of that name.
static bool is_peak_of_each(const struct seep_session *session, const char *source, const char *when) {
    if (strcmp(when, "peak") != 0)
        return false;
    bool is_mark = false;
    for (size_t p = 0; p < session->nr_profiles; p++)
        for (uint32_t i = 0; i < session->profiles[p]->nr_marks; i++)
            is_mark |= strcmp(session->profiles[p]->marks[i].name, when) == 0;
    return !is_mark || seep_rebuild_is_recording(source);
}

// At a moment most processes still run. How one ended stays where each is at a moment of its own; that it
// became another program stays always, for that is where the next one comes from.
struct seep_error *seep_at_mark_go_in(struct seep_session *session, const char *source, const char *when,
                                      bool counts_only) {
    bool is_peak = is_peak_of_each(session, source, when);
    enum seep_exit_kind *kinds = calloc(session->nr_profiles + 1, sizeof(*kinds));
    if (!kinds)
        return seep_error_no_memory();
    for (size_t p = 0; p < session->nr_profiles; p++)
        kinds[p] = session->profiles[p]->process.exit_kind;
    struct seep_error *error = go_in(session, source, when, counts_only);
    for (size_t p = 0; !error && p < session->nr_profiles; p++)
        if ((is_peak && session->nr_profiles > 1) || kinds[p] == SEEP_EXIT_EXEC)
            session->profiles[p]->process.exit_kind = kinds[p];
    free(kinds);
    if (error && error->code == SEEP_E_NOT_FOUND && !error->sys_errno) // which of two it is
        error = seep_error_prefix(error, "%s", source);
    if (error || !is_peak || session->nr_profiles < 2)
        return error;
    return seep_profile_note(session->profiles[0], SEEP_NOTE_PEAKS_APART,
                             "each process at its own peak; they were not at the same moment");
}

struct seep_error *seep_at_mark_open(const char *source, struct seep_session **ret_session) {
    return seep_at_mark_open_some(source, 0, NULL, ret_session);
}

struct seep_error *seep_at_mark_open_some(const char *source, uint64_t only_pid, const regex_t *program,
                                          struct seep_session **ret_session) {
    const char *at = strrchr(source, '@');
    if (!at || !at[1] || at == source || access(source, F_OK) == 0)
        return seep_session_open_some(source, only_pid, program, ret_session);
    char *file = seep_text_copy(source, (size_t)(at - source));
    if (!file)
        return seep_error_no_memory();
    struct seep_session *session = NULL;
    struct seep_error *error = seep_session_open_some(file, only_pid, program, &session);
    if (!error)
        error = seep_at_mark_go_in(session, file, at + 1, false);
    free(file);
    if (error) {
        seep_session_destroy(session);
        return error;
    }
    *ret_session = session;
    return NULL;
}

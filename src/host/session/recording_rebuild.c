// SPDX-License-Identifier: BSD-2-Clause
// From a file of events to moments, see recording_rebuild.h.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/numbers.h"
#include "base/words.h"
#include "base/sum.h"
#include "file/event_file.h"
#include "file/event_stacks.h"
#include "file/session_file.h"
#include "profile/verdict.h"
#include "session/recording_rebuild.h"
#include "session/rebuilt_heap.h"

bool seep_rebuild_parse(const char *text, int64_t *ret_at_ns) {
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
    if (strcmp(text, "peak") == 0) {
        *ret_at_ns = SEEP_REBUILD_PEAK;
        return true;
    }
    if (text[strspn(text, "0123456789.")] == 0 || text[0] < '0' || text[0] > '9')
        return false;
    char *end;
    double value = strtod(text, &end);
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(units); i++) {
        if (strcmp(end, units[i].name) != 0 || value * units[i].ns > 9e18)
            continue;
        *ret_at_ns = (int64_t)(value * units[i].ns);
        return true;
    }
    return false;
}

bool seep_rebuild_is_recording(const char *path) {
    return seep_event_file_is_one(path);
}

// ---- processes -------------------------------------------------------------------------------------

struct past {
    struct seep_session *session;
    struct seep_rebuilt_heap *heaps;
    uint64_t *stop;      // by process: after so many events
    int64_t *at_ns;      // by process: the moment, from its own start; below 0: it was not there
    uint64_t *begin;     // by process: the place in the file from where on its events are still to come
    int64_t *first_ns;   // by process: of its first event in the file; INT64_MAX: it has none
    bool *reached;       // by process: an event behind its moment was seen
    bool *shrunk;        // by process: pairs of events between others were dropped
    uint64_t nr_foreign; // events of processes that the file has nothing else of
};

static bool is_done(const struct past *past) {
    bool done = true;
    for (size_t i = 0; done && i < past->session->nr_profiles; i++)
        done = past->heaps[i].nr_events >= past->stop[i];
    return done;
}

// One way through all events. `stops`: each process only up to its moment.
static struct seep_error *walk(struct past *past, struct seep_event_file *file, bool stops) {
    int64_t last_ns = INT64_MIN;
    uint64_t begin = UINT64_MAX;
    for (size_t i = 0; stops && i < past->session->nr_profiles; i++) {
        last_ns = SEEP_MAX(last_ns, past->at_ns[i]);
        begin = SEEP_MIN(begin, past->begin[i]);
    }
    struct seep_error *error = seep_event_file_seek(file, INT64_MIN, stops ? last_ns : INT64_MAX);
    if (!error && stops && begin)
        seep_event_file_go_to(file, begin);
    past->nr_foreign = stops ? past->nr_foreign : 0; // all of them
    while (!error) {
        const struct seep_chunk *chunk;
        error = seep_event_file_next(file, &chunk);
        if (error || !chunk)
            break;
        if (stops && is_done(past))
            break;
        const struct seep_recorded *events = seep_event_file_events(file);
        size_t nr = past->session->nr_profiles;
        size_t p = seep_profiles_find(past->session->profiles, nr, chunk->pid, chunk->start_realtime_ns);
        if (p == nr) {
            past->nr_foreign += stops ? 0 : chunk->nr_events;
            continue;
        }
        if (stops && seep_event_file_place(file) < past->begin[p])
            continue;
        struct seep_rebuilt_heap *heap = &past->heaps[p];
        struct seep_chunk_scale scale = seep_chunk_scale_of(chunk);
        past->shrunk[p] |= !chunk->nr_events; // shrink.c ends the rest with such a chunk
        if (chunk->nr_events && past->first_ns[p] == INT64_MAX)
            past->first_ns[p] = seep_chunk_scaled_ns(&scale, events[0].stamp);
        for (uint64_t i = 0; !error && i < chunk->nr_events; i++) {
            int64_t at_ns = seep_chunk_scaled_ns(&scale, events[i].stamp);
            seep_rebuilt_heap_fetch(heap, events, i, chunk->nr_events);
            if (stops && (heap->nr_events >= past->stop[p] || at_ns > past->at_ns[p])) {
                past->reached[p] = true;
                break;
            }
            if (!seep_rebuilt_heap_step(heap, &events[i], at_ns))
                error = seep_error_no_memory();
        }
    }
    return error;
}

static struct seep_error *heaps_init(struct past *past) {
    for (size_t i = 0; i < past->session->nr_profiles; i++) {
        seep_rebuilt_heap_deinit(&past->heaps[i]);
        if (!seep_rebuilt_heap_init(&past->heaps[i], past->session->profiles[i]->nr_sites))
            return seep_error_no_memory();
        past->heaps[i].counts_threads = true;
    }
    return NULL;
}

// From their beginning, with all that they count.
static struct seep_error *heaps_again(struct past *past) {
    for (size_t i = 0; i < past->session->nr_profiles; i++)
        past->begin[i] = 0;
    return heaps_init(past);
}

// Whether nothing was live in the process before its first event. If so, figures at the end that the events
// do not account for came later than the events, where the recording is damaged.
static bool process_begins_empty(const struct seep_profile *profile, struct seep_event_file *file) {
    return seep_event_file_is_whole(file) && !(profile->health.flags & SEEP_FLAG_FORKED) &&
           !profile->health.lost[SEEP_LOST_EVENT];
}

static struct seep_error *note_first_events(struct seep_profile *profile) {
    return seep_profile_note(profile, SEEP_NOTE_RECORDED_LATE,
                             "the recording lacks the first events (--keep-last): their effect is placed "
                             "before the first kept event");
}

// A flight recorder lacks only events before its first one, so the heap at later moments is known. Shrinking
// drops events between others.
static struct seep_error *note_late(const struct past *past, size_t p,
                                    const struct seep_rebuilt_before *before) {
    struct seep_profile *profile = past->session->profiles[p];
    bool is_peak = past->stop[p] != UINT64_MAX;
    bool is_end = !is_peak && past->at_ns[p] >= profile->process.duration_ns;
    bool lacks_between = past->shrunk[p] && before->lacks;
    bool is_before = past->at_ns[p] < past->first_ns[p] ||
                     (is_peak && past->heaps[p].live_bytes < (int64_t)profile->totals.peak_bytes);
    if (!is_end && (lacks_between || (before->late && is_before)))
        return seep_profile_note(
            profile, SEEP_NOTE_EVENTS_DROPPED,
            "the recording lacks events (%s), so what was live at that moment is not known: "
            "only the end is exact",
            lacks_between ? "'seep shrink' dropped what was freed again" : "--keep-last");
    return before->late && !past->shrunk[p] ? note_first_events(profile) : NULL;
}

// The second time up to the moment, and from what there was before the first event.
static struct seep_error *again(struct past *past, struct seep_event_file *file) {
    size_t nr = past->session->nr_profiles;
    struct seep_rebuilt_before *before = calloc(nr ? nr : 1, sizeof(*before));
    struct seep_error *error = before ? NULL : seep_error_no_memory();
    for (size_t i = 0; !error && i < nr; i++)
        if (process_begins_empty(past->session->profiles[i], file))
            continue;
        else if (!seep_rebuilt_heap_before(&past->heaps[i], past->session->profiles[i], &before[i]))
            error = seep_error_no_memory();
    if (!error)
        error = heaps_init(past);
    for (size_t i = 0; !error && i < nr; i++)
        if (before[i].sites && !seep_rebuilt_heap_begin(&past->heaps[i], &before[i]))
            error = seep_error_no_memory();
    if (!error)
        error = walk(past, file, true);
    for (size_t i = 0; !error && i < nr; i++)
        error = note_late(past, i, &before[i]);
    for (size_t i = 0; before && i < nr; i++)
        seep_rebuilt_before_deinit(&before[i]);
    free(before);
    return error;
}

// The events behind the damage may belong to any process.
static struct seep_error *note_unread(struct past *past, size_t p, const struct seep_event_file *file) {
    struct seep_profile *profile = past->session->profiles[p];
    const char *trouble = seep_event_file_trouble(file);
    bool is_not_begun = past->at_ns[p] < 0 && !(profile->health.flags & SEEP_FLAG_FORKED);
    bool all = is_not_begun || past->reached[p];
    if (!trouble || all || past->heaps[p].nr_events >= profile->health.events ||
        seep_profile_verdict(profile) != SEEP_VERDICT_COMPLETE)
        return NULL;
    return seep_profile_note(profile, SEEP_NOTE_EVENTS_DAMAGED,
                             "%s: events of the process from there on are not known", trouble);
}

static struct seep_error *show(struct past *past, size_t p, int64_t at_ns) {
    struct seep_profile *profile = past->session->profiles[p];
    const struct seep_rebuilt_heap *heap = &past->heaps[p];
    if (past->at_ns[p] < 0)
        at_ns = 0;
    // Blocks grow no older than the process.
    at_ns = SEEP_MIN(at_ns, SEEP_MAX(profile->process.duration_ns, heap->latest_ns));
    struct seep_error *error = seep_rebuilt_heap_show(heap, at_ns, profile);
    if (!error && heap->nr_strange)
        error = seep_profile_note(profile, SEEP_NOTE_EVENTS_STRANGE,
                                  "%s event%s of the recording follow%s from nothing before %s",
                                  seep_format_count(heap->nr_strange).text, seep_plural(heap->nr_strange),
                                  heap->nr_strange == 1 ? "s" : "", heap->nr_strange == 1 ? "it" : "them");
    return error;
}

// The reader has already noted a file without an end or a cut one.
static struct seep_error *note_trouble(const struct past *past, const struct seep_event_file *file) {
    const char *trouble = seep_event_file_trouble(file);
    bool is_told = seep_profile_has_note(past->session->profiles[0], SEEP_NOTE_TRACE_CUT) ||
                   seep_profile_has_note(past->session->profiles[0], SEEP_NOTE_EVENTS_DAMAGED);
    return trouble && !is_told
               ? seep_profile_note(past->session->profiles[0], SEEP_NOTE_TRACE_CUT,
                                   "the recording ends before its time: %s; what precedes is shown", trouble)
               : NULL;
}

// Whether nothing was live before the first event, so that one way to the moment is enough.
static bool begins_empty(const struct past *past, struct seep_event_file *file) {
    bool empty = seep_event_file_is_whole(file);
    for (size_t i = 0; empty && i < past->session->nr_profiles; i++)
        empty = process_begins_empty(past->session->profiles[i], file);
    return empty;
}

// ---- sums ------------------------------------------------------------------------------------------------

// The sums of a process up to `last`, from the last whole ones on.
static struct seep_error *add_sums(struct past *past, size_t p, struct seep_event_file *file,
                                   const struct seep_event_sums_place *places, size_t last, bool *ret_good) {
    const struct seep_process *process = &past->session->profiles[p]->process;
    size_t first = last;
    while (first && !(places[first].pid == process->pid && places[first].whole))
        first--;
    *ret_good = places[first].pid == process->pid && places[first].whole;
    for (size_t i = first; *ret_good && i <= last; i++) {
        struct seep_event_sums sums;
        if (places[i].pid != process->pid)
            continue;
        struct seep_error *error = seep_event_file_sums_at(file, places[i].place, &sums);
        if (error)
            return error;
        bool fits = seep_rebuilt_heap_add_sums(&past->heaps[p], &sums);
        *ret_good = sums.start_realtime_ns == process->start_realtime_ns; // else it had the same pid
        seep_event_sums_deinit(&sums);
        if (!fits)
            return seep_error_no_memory();
    }
    past->begin[p] = places[last].place;
    return NULL;
}

// Each process at the last sums before its moment. *ret_done false: it has to be gone all the way.
static struct seep_error *go_on_from_sums(struct past *past, struct seep_event_file *file, bool is_peak,
                                          bool *ret_done) {
    struct seep_event_sums_place *places = NULL;
    size_t nr;
    struct seep_error *error = seep_event_file_sums(file, &places, &nr);
    bool good = nr;
    for (size_t p = 0; !error && good && p < past->session->nr_profiles; p++) {
        size_t last = SIZE_MAX, latest = SIZE_MAX;
        uint32_t pid = past->session->profiles[p]->process.pid;
        past->heaps[p].counts_only = true;
        past->heaps[p].counts_threads = false;
        for (size_t i = 0; i < nr; i++)
            if (places[i].pid == pid)
                latest = i;
        if (latest == SIZE_MAX) {
            good = !is_peak; // of a short process its peak is not known yet
            continue;
        }
        if (is_peak) {
            struct seep_event_sums sums;
            error = seep_event_file_sums_at(file, places[latest].place, &sums);
            if (error)
                break;
            past->stop[p] = sums.peak_event;
            seep_event_sums_deinit(&sums);
        }
        for (size_t i = 0; i < nr; i++)
            if (places[i].pid == pid &&
                (is_peak ? places[i].nr_events <= past->stop[p] : places[i].most_ns <= past->at_ns[p]))
                last = i;
        if (last != SIZE_MAX)
            error = add_sums(past, p, file, places, last, &good);
    }
    free(places);
    if (error && error->code == SEEP_E_FORMAT) { // what they say is in the events too
        seep_error_destroy(error);
        error = NULL;
        good = false;
    }
    *ret_done = good;
    return error ? error : good ? NULL : heaps_again(past);
}

static struct seep_error *go_from_sums(struct past *past, struct seep_event_file *file, bool is_peak,
                                       bool *ret_done) {
    struct seep_session *session = past->session;
    struct seep_error *error = go_on_from_sums(past, file, is_peak, ret_done);
    if (!error && *ret_done)
        error = walk(past, file, true);
    for (size_t i = 0; !error && *ret_done && i < session->nr_profiles; i++) {
        if (!(error = note_unread(past, i, file)))
            error = show(past, i, is_peak ? past->heaps[i].latest_ns : past->at_ns[i]);
        if (!error)
            error =
                seep_profile_note(session->profiles[i], SEEP_NOTE_OF_SUMS,
                                  "of a long recording blocks, their ages and what each thread did are made "
                                  "out only where they are asked for: --blocks, --by thread");
    }
    return error;
}

static void set_moments(struct past *past, int64_t at_ns) {
    struct seep_session *session = past->session;
    int64_t start_ns = session->profiles[0]->process.start_realtime_ns;
    bool is_peak = at_ns == SEEP_REBUILD_PEAK;
    for (size_t i = 0; i < session->nr_profiles; i++) {
        int64_t later_ns = seep_time_less(session->profiles[i]->process.start_realtime_ns, start_ns);
        past->stop[i] = is_peak ? past->heaps[i].peak_event : UINT64_MAX;
        past->at_ns[i] = is_peak ? INT64_MAX : seep_time_less(at_ns, later_ns);
    }
}

static struct seep_error *go(struct past *past, struct seep_event_file *file, int64_t at_ns,
                             bool counts_only) {
    struct seep_session *session = past->session;
    bool is_peak = at_ns == SEEP_REBUILD_PEAK;
    struct seep_error *error = heaps_init(past);
    bool empty = !error && begins_empty(past, file), done = false;
    set_moments(past, at_ns);
    if (!error && counts_only && empty)
        error = go_from_sums(past, file, is_peak, &done);
    if (error || done)
        return error ? error : note_trouble(past, file);
    bool once = !is_peak && empty;
    if (!error && !once)
        error = walk(past, file, false);
    bool is_told = !error && seep_event_file_trouble(file); // a second walk may end earlier
    if (is_told)
        error = note_trouble(past, file);
    // What a process began with is what its end has beyond all of its events.
    for (size_t i = 0; !error && is_told && i < session->nr_profiles; i++)
        if (is_peak || !process_begins_empty(session->profiles[i], file))
            error = note_unread(past, i, file);
    set_moments(past, at_ns);
    if (!error)
        error = once ? walk(past, file, true) : again(past, file);
    for (size_t i = 0; !error && i < session->nr_profiles; i++)
        if (!(error = note_unread(past, i, file)))
            error = show(past, i, is_peak ? past->heaps[i].latest_ns : past->at_ns[i]);
    if (!error && past->nr_foreign)
        error = seep_profile_note(session->profiles[0], SEEP_NOTE_EVENTS_FOREIGN,
                                  "%s event%s of processes that the file has nothing else of",
                                  seep_format_count(past->nr_foreign).text,
                                  past->nr_foreign == 1 ? " is" : "s are");
    return error || is_told ? error : note_trouble(past, file);
}

static struct seep_error *past_init(struct past *past, struct seep_session *session) {
    size_t nr = session->nr_profiles;
    *past = (struct past){.session = session,
                          .heaps = calloc(nr, sizeof(*past->heaps)),
                          .stop = calloc(nr, sizeof(*past->stop)),
                          .at_ns = calloc(nr, sizeof(*past->at_ns)),
                          .begin = calloc(nr, sizeof(*past->begin)),
                          .first_ns = calloc(nr, sizeof(*past->first_ns)),
                          .reached = calloc(nr, sizeof(*past->reached)),
                          .shrunk = calloc(nr, sizeof(*past->shrunk))};
    for (size_t i = 0; past->first_ns && i < nr; i++)
        past->first_ns[i] = INT64_MAX;
    bool fits = past->heaps && past->stop && past->at_ns && past->begin && past->first_ns && past->reached &&
                past->shrunk;
    return fits ? NULL : seep_error_no_memory();
}

static void past_deinit(struct past *past) {
    for (size_t i = 0; past->heaps && i < past->session->nr_profiles; i++)
        seep_rebuilt_heap_deinit(&past->heaps[i]);
    free(past->heaps);
    free(past->stop);
    free(past->at_ns);
    free(past->begin);
    free(past->first_ns);
    free(past->reached);
    free(past->shrunk);
}

struct seep_error *seep_rebuild_go(struct seep_session *session, const char *path, int64_t at_ns,
                                   bool counts_only) {
    struct seep_event_file *file = NULL;
    struct seep_error *error = seep_event_file_open(path, &file);
    if (error)
        return error;
    seep_event_file_index_at(file, session->event_index_off);
    struct past past;
    error = past_init(&past, session);
    if (!error)
        error = go(&past, file, at_ns, counts_only);
    past_deinit(&past);
    seep_event_file_close(file);
    return error;
}

// ---- the births of what is live at the end -------------------------------------------------------------

static bool lacks_births(const struct seep_session *session) {
    for (size_t p = 0; p < session->nr_profiles; p++)
        for (size_t i = 0; i < session->profiles[p]->nr_blocks; i++)
            if (session->profiles[p]->blocks[i].age_ns < 0)
                return true;
    return false;
}

// A block without an event was there before the first one, if the recording begins late or with a fork.
static struct seep_error *give_births(struct seep_profile *profile, struct seep_rebuilt_heap *heap,
                                      bool is_whole) {
    int64_t end_ns = SEEP_MAX(profile->process.duration_ns, heap->latest_ns);
    bool forked = profile->health.flags & SEEP_FLAG_FORKED, late = false;
    bool had_some = (forked || !is_whole) && !profile->health.lost[SEEP_LOST_EVENT];
    for (size_t i = 0; i < profile->nr_blocks; i++) {
        struct seep_block *block = &profile->blocks[i];
        const struct seep_rebuilt_block *born =
            block->age_ns < 0 ? seep_rebuilt_heap_find(heap, block->address) : NULL;
        if (born && born->site == block->site && born->size == block->size) {
            block->age_ns = SEEP_MAX(end_ns - born->at_ns, INT64_C(0));
            block->thread = born->slot < profile->nr_threads ? born->slot : UINT32_MAX;
        } else if (block->age_ns < 0 && had_some) {
            block->age_ns = end_ns;
            late |= !forked;
        }
    }
    return late ? note_first_events(profile) : NULL;
}

struct seep_error *seep_rebuild_births(struct seep_session *session, const char *path) {
    if (!lacks_births(session) || !seep_rebuild_is_recording(path))
        return NULL;
    struct seep_event_file *file = NULL;
    struct seep_error *error = seep_event_file_open(path, &file);
    if (error)
        return error;
    if (session->event_index_off) // else the session has just been recorded
        seep_event_file_index_at(file, session->event_index_off);
    struct past past;
    error = past_init(&past, session);
    if (!error)
        error = heaps_init(&past);
    if (!error)
        error = walk(&past, file, false);
    for (size_t i = 0; !error && i < session->nr_profiles; i++)
        if (!(error = note_unread(&past, i, file)))
            error = give_births(session->profiles[i], &past.heaps[i], seep_event_file_is_whole(file));
    if (!error)
        error = note_trouble(&past, file);
    past_deinit(&past);
    seep_event_file_close(file);
    return error;
}

// ---- a recording without its end ---------------------------------------------------------------------

struct recovery {
    struct seep_session *session;
    struct seep_recorded_growing *growing; // by process
    size_t capacity;
};

static struct seep_error *find_process(struct recovery *recovery, const struct seep_process *process,
                                       size_t *ret_index) {
    struct seep_session *session = recovery->session;
    *ret_index =
        seep_profiles_find(session->profiles, session->nr_profiles, process->pid, process->start_realtime_ns);
    if (*ret_index < session->nr_profiles)
        return NULL;
    struct seep_profile *profile = NULL;
    struct seep_error *error = seep_profile_create(&profile);
    if (!error &&
        !seep_grow(&recovery->growing, &recovery->capacity, *ret_index + 1, sizeof(*recovery->growing))) {
        seep_profile_destroy(profile);
        error = seep_error_no_memory();
    }
    if (error)
        return error;
    recovery->growing[*ret_index] = (struct seep_recorded_growing){.profile = profile};
    return seep_session_add(session, profile);
}

static struct seep_error *add_stacks(struct recovery *recovery, struct seep_take *take, const char *path) {
    struct seep_recorded_stacks part;
    const char *wrong = seep_recorded_stacks_take(take, &part);
    if (wrong)
        return seep_error_create(SEEP_E_FORMAT, "%s: section STACKS: %s", path, wrong);
    size_t index;
    struct seep_error *error = find_process(recovery, &part.process, &index);
    if (!error && (wrong = seep_recorded_stacks_add(&recovery->growing[index], &part)))
        error = seep_error_create(SEEP_E_FORMAT, "%s: section STACKS: %s", path, wrong);
    seep_recorded_stacks_deinit(&part);
    return error;
}

static struct seep_error *gather_stacks(struct recovery *recovery, struct seep_event_file *file,
                                        const char *path) {
    for (;;) {
        uint32_t type;
        struct seep_take take;
        struct seep_error *error = seep_event_file_section(file, &type, &take);
        if (error || !type)
            return error;
        if (type == SEEP_TRACE_STACKS && (error = add_stacks(recovery, &take, path)))
            return error;
    }
}

// The library has written how a process ended, besides what the trace lacks: into a file of its own.
static struct seep_error *take_rest(struct recovery *recovery, const char *path, int64_t start_realtime_ns) {
    struct seep_session *rest = NULL;
    struct seep_error *error = seep_session_load(path, &rest);
    if (error &&
        error->code == SEEP_E_FORMAT) { // it is still being written: its events are there all the same
        seep_error_destroy(error);
        return NULL;
    }
    if (error)
        return error;
    size_t index;
    rest->profiles[0]->process.start_realtime_ns = start_realtime_ns;
    error = find_process(recovery, &rest->profiles[0]->process, &index);
    if (!error) {
        struct seep_profile **place = &recovery->session->profiles[index];
        bool is_main = (*place)->process.is_main;
        seep_profile_destroy(*place);
        *place = rest->profiles[0];
        (*place)->process.is_main = is_main;
        rest->nr_profiles = 0;
        error = seep_profile_note(*place, SEEP_NOTE_RECORDED_REST,
                                  "seep ended before the program did: what came then is from %s, where the "
                                  "library went on",
                                  path);
    }
    seep_session_destroy(rest);
    return error;
}

static bool is_of_rest(const struct seep_profile *profile) {
    return seep_profile_has_note(profile, SEEP_NOTE_RECORDED_REST) &&
           !seep_profile_has_note(profile, SEEP_NOTE_IMAGE_CUT);
}

// Of a flight recorder without its end, which would say what was live before the first kept event: at least
// the blocks whose frees are kept.
static struct seep_error *walk_from_frees(struct past *past, struct seep_event_file *file) {
    size_t nr = past->session->nr_profiles;
    struct seep_rebuilt_before *before = calloc(nr ? nr : 1, sizeof(*before));
    bool fits = before;
    for (size_t i = 0; fits && i < nr; i++)
        fits = seep_rebuilt_heap_before_by_frees(&past->heaps[i], &before[i]);
    struct seep_error *error = fits ? heaps_init(past) : seep_error_no_memory();
    for (size_t i = 0; !error && i < nr; i++)
        if (!seep_rebuilt_heap_begin(&past->heaps[i], &before[i]))
            error = seep_error_no_memory();
    for (size_t i = 0; before && i < nr; i++)
        seep_rebuilt_before_deinit(&before[i]);
    free(before);
    return error ? error : walk(past, file, false);
}

static struct seep_error *note_first_events_gone(const struct past *past, size_t p) {
    struct seep_profile *profile = past->session->profiles[p];
    int64_t first_ns = past->first_ns[p];
    if (first_ns == INT64_MAX)
        return seep_profile_note(profile, SEEP_NOTE_EVENTS_DROPPED,
                                 "all events of the process were dropped (--keep-last)");
    return seep_profile_note(
        profile, SEEP_NOTE_EVENTS_DROPPED,
        "events before %s were dropped (--keep-last): blocks that the process had then and "
        "has not freed since are missing",
        seep_format_duration(first_ns).text);
}

static struct seep_error *show_recovered(struct past *past, struct seep_event_file *file) {
    struct seep_session *session = past->session;
    struct seep_error *error = heaps_init(past);
    bool whole = true;
    for (size_t i = 0; i < session->nr_profiles; i++) {
        session->profiles[i]->process.is_main = i == 0;
        whole &= is_of_rest(session->profiles[i]);
    }
    if (!error && whole)
        return NULL;
    if (!error)
        error = walk(past, file, false);
    if (!error && seep_event_file_has_gap(file))
        error = walk_from_frees(past, file);
    int64_t known_ns = 0; // how far the recording goes, from the start of the first process
    for (size_t i = 0; !error && i < session->nr_profiles; i++) {
        struct seep_process *process = &session->profiles[i]->process;
        int64_t begun_ns =
            seep_time_less(process->start_realtime_ns, session->profiles[0]->process.start_realtime_ns);
        known_ns = SEEP_MAX(known_ns, seep_time_plus(begun_ns, past->heaps[i].latest_ns));
        if (is_of_rest(session->profiles[i]))
            continue;
        process->duration_ns = past->at_ns[i] = past->heaps[i].latest_ns;
        bool forked = session->profiles[i]->health.flags & SEEP_FLAG_FORKED;
        if (forked) // frees of blocks that no event allocated: those of the fork parent
            past->heaps[i].nr_strange -= past->heaps[i].nr_earlier;
        error = show(past, i, process->duration_ns);
        if (!error && seep_event_file_has_gap(file))
            error = note_first_events_gone(past, i);
        if (!error && forked)
            error = seep_profile_note(session->profiles[i], SEEP_NOTE_TRACE_CUT,
                                      "the recording has no end: the blocks that the process had from its "
                                      "fork parent are missing");
        process->exit_kind = SEEP_EXIT_UNKNOWN;
    }
    return error ? error
                 : seep_profile_note(
                       session->profiles[0], SEEP_NOTE_TRACE_CUT,
                       "the recording has no end: it is still being written, or was cut, or found no "
                       "room, or seep was killed; what is in it is shown, up to %s",
                       seep_format_duration(known_ns).text);
}

struct seep_error *seep_rebuild_fill(struct seep_session *session, const char *path) {
    struct seep_event_file *file = NULL;
    struct past past;
    struct seep_error *error = seep_event_file_open(path, &file);
    if (error)
        return error;
    error = past_init(&past, session);
    if (!error)
        error = show_recovered(&past, file);
    past_deinit(&past);
    seep_event_file_close(file);
    return error;
}

struct seep_error *seep_rebuild_recover(const char *path, struct seep_session **ret_session) {
    struct seep_event_file *file = NULL;
    struct recovery recovery = {NULL};
    struct past past = {NULL};
    struct seep_error *error = seep_event_file_open(path, &file);
    if (!error)
        error = seep_session_create(&recovery.session);
    if (!error)
        error = gather_stacks(&recovery, file, path);
    int64_t start_ns;
    for (size_t i = 0; !error && seep_event_file_rest(file, i, &start_ns); i++)
        error = take_rest(&recovery, seep_event_file_rest(file, i, &start_ns), start_ns);
    if (!error && !recovery.session->nr_profiles)
        error = seep_error_create(SEEP_E_FORMAT, "%s: no process in the recording", path);
    if (!error)
        error = past_init(&past, recovery.session);
    if (!error)
        error = show_recovered(&past, file);
    if (past.session)
        past_deinit(&past);
    free(recovery.growing);
    seep_event_file_close(file);
    if (error)
        seep_session_destroy(recovery.session);
    else
        *ret_session = recovery.session;
    return error;
}

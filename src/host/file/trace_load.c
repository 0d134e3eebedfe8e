// SPDX-License-Identifier: BSD-2-Clause
//
// Loads a session from a trace, see docs/trace-format.md; trace_save.c is the other half.
//
// Everything in the file is hostile. Invariant: an array of the profile is allocated only when its
// sections have been unpacked, for as many elements as those bytes can hold, and an id is stored
// only after it was compared with the array it points into.
#include <zstd.h>

#include "base/map.h"
#include "growth/growth.h"
#include "source/image/image_decode.h"
#include "source/image/profile_image.h"
#include "file/session_file.h"
#include "file/sections.h"
#include "file/trace_index.h"
#include "source/image/unseen_allocators.h"
#include "file/trace.h"
#include "file/trace_same.h"
#include "profile/verdict.h"

struct loader {
    struct seep_trace_reader reader;
    ZSTD_DCtx *unpacker; // of a trace of several processes
    struct seep_session *session;
    uint64_t nr_processes; // as the SESSION section promises
    uint64_t *group_offs;  // malloc'ed: where the PROCESS sections begin, in the file
    size_t nr_groups;
    size_t groups_capacity;
    bool has_index;
    bool has_session;
    bool said_cut; // in a note of some process

    struct seep_trace_same same;

    // The process at work.
    struct seep_trace_arrays arrays;
    struct seep_trace_section process_section;
    struct seep_health health; // derived figures as they were saved
    struct seep_totals totals;
};

static struct seep_error *section_error(struct loader *loader, const struct seep_trace_section *section,
                                        const char *text) {
    return seep_trace_section_error(&loader->reader, section, "%s", text);
}

// Fields may be appended by a later minor version, and by no other.
static struct seep_error *check_take(struct loader *loader, const struct seep_trace_section *section,
                                     const struct seep_take *take) {
    if (take->failed)
        return section_error(loader, section, "cut short, or a number is out of range");
    if (take->at != take->end && loader->reader.minor <= SEEP_TRACE_MINOR)
        return seep_trace_section_error(&loader->reader, section, "bytes left over: %zu",
                                        seep_take_left(take));
    return NULL;
}

// ---- Sections of one record.

static struct seep_error *load_session(struct loader *loader, const struct seep_trace_section *section,
                                       struct seep_take *take) {
    if (loader->has_session || loader->arrays.profile || loader->session->nr_profiles)
        return section_error(loader, section, "out of order");
    loader->has_session = true;
    loader->nr_processes = seep_take_leb(take);
    struct seep_error *error = check_take(loader, section, take);
    if (error || loader->nr_processes < 2)
        return error;
    loader->reader.unpacker = loader->unpacker = ZSTD_createDCtx();
    return loader->unpacker ? seep_trace_same_init(&loader->same) : seep_error_no_memory();
}

static struct seep_error *load_args(struct loader *loader, const struct seep_trace_section *section,
                                    struct seep_take *take) {
    struct seep_process *process = &loader->arrays.profile->process;
    uint32_t nr_args = seep_take_u32(take);
    if (take->failed || nr_args > seep_take_left(take))
        return section_error(loader, section, "cut short, or a number is out of range");
    const char **args = seep_arena_alloc(&loader->arrays.profile->arena, nr_args, sizeof(*args));
    if (!args)
        return seep_error_no_memory();
    for (uint32_t i = 0; i < nr_args; i++) {
        if (!seep_trace_take_text(&loader->arrays.profile->arena, take, &args[i]))
            return seep_error_no_memory();
        if (!args[i])
            return section_error(loader, section, "an argument is missing");
    }
    process->args = args;
    process->nr_args = nr_args;
    return NULL;
}

static struct seep_error *load_process(struct loader *loader, const struct seep_trace_section *section,
                                       struct seep_take *take) {
    struct seep_error *error = seep_profile_create_sharing(loader->same.shared, &loader->arrays.profile);
    if (error)
        return error;
    struct seep_process *process = &loader->arrays.profile->process;
    process->pid = seep_take_u32(take);
    process->ppid = seep_take_u32(take);
    process->forked_from = seep_take_u32(take);
    process->is_main = seep_take_bool(take);
    if (!seep_trace_take_text(&loader->arrays.profile->arena, take, &process->exe))
        return seep_error_no_memory();
    if (!process->exe) // "none" in the file; never NULL in a profile
        process->exe = "";
    process->nr_args_all = seep_take_u32(take);
    error = load_args(loader, section, take);
    if (error)
        return error;
    process->start_realtime_ns = seep_take_zigzag(take);
    process->duration_ns = seep_take_zigzag(take);
    uint64_t exit_kind = seep_take_leb(take);
    process->exit_kind = exit_kind <= SEEP_EXIT_EXEC ? (enum seep_exit_kind)exit_kind : SEEP_EXIT_UNKNOWN;
    int64_t exit_value = seep_take_zigzag(take);
    if (exit_value < INT32_MIN || exit_value > INT32_MAX)
        take->failed = true;
    process->exit_value = (int)exit_value;
    for (uint32_t type = SEEP_TRACE_MODULES; type <= SEEP_TRACE_BLOCKS; type++) {
        loader->arrays.promised[type] = seep_take_leb(take);
        loader->arrays.loaded[type] = 0;
    }
    loader->process_section = *section;
    return check_take(loader, section, take);
}

// Minor version 1 has no codes, and a text begins with its lead.
static void derive_note(struct seep_note *note) {
    for (uint32_t flag = SEEP_NOTE_UNTRACED; flag <= SEEP_NOTE_UNSCANNED; flag <<= 1) {
        const char *lead = seep_note_lead(&(struct seep_note){.flags = flag});
        size_t nr = strlen(lead);
        if (nr && strncmp(note->text, lead, nr) == 0) {
            note->flags = flag;
            note->text += nr;
            return;
        }
    }
}

static struct seep_error *load_notes(struct loader *loader, const struct seep_trace_section *section,
                                     struct seep_take *take, size_t nr_notes) {
    struct seep_health *health = &loader->arrays.profile->health;
    health->notes = NULL;
    if (!seep_arena_more(&loader->arrays.profile->arena, &health->notes, 0, nr_notes, sizeof(*health->notes)))
        return seep_error_no_memory();
    for (size_t i = 0; i < nr_notes; i++) {
        if (!seep_trace_take_text(&loader->arrays.profile->arena, take, &health->notes[i].text))
            return seep_error_no_memory();
        if (!health->notes[i].text)
            return section_error(loader, section, "a note is missing");
    }
    bool has_codes = loader->reader.minor >= 2;
    for (size_t i = 0; i < nr_notes; i++) {
        health->notes[i].code = has_codes ? seep_take_u32(take) : SEEP_NOTE_OTHER;
        health->notes[i].flags = has_codes ? seep_take_u32(take) & SEEP_NOTE_FLAGS : 0;
        if (!has_codes)
            derive_note(&health->notes[i]);
    }
    health->nr_notes = nr_notes;
    if (!has_codes && nr_notes && health->flags & SEEP_HEALTH_MISSING)
        health->notes[0].flags |= SEEP_NOTE_MISSING;
    return NULL;
}

static struct seep_error *load_health(struct loader *loader, const struct seep_trace_section *section,
                                      struct seep_take *take) {
    struct seep_health *health = &loader->arrays.profile->health;
    health->events = seep_take_leb(take);
    seep_take_list(take, health->lost, SEEP_LOST_NR);
    seep_take_list(take, health->cut, SEEP_CUT_NR);
    health->stacks_cut = seep_take_leb(take);
    health->state = seep_take_u32(take);
    health->passive_reason = seep_take_u32(take);
    health->flags = seep_take_u32(take);
    if (!seep_trace_take_text(&loader->arrays.profile->arena, take, &health->preempted_by))
        return seep_error_no_memory();
    health->depth_limit = seep_take_u32(take);
    health->sample_bytes = seep_take_leb(take);
    uint64_t nr_notes = seep_take_leb(take);
    if (take->failed || nr_notes > seep_take_left(take))
        return section_error(loader, section, "cut short, or a number is out of range");
    struct seep_error *error = load_notes(loader, section, take, (size_t)nr_notes);
    if (error)
        return error;
    loader->health = *health;
    return check_take(loader, section, take);
}

static struct seep_error *load_totals(struct loader *loader, const struct seep_trace_section *section,
                                      struct seep_take *take) {
    struct seep_totals *totals = &loader->arrays.profile->totals;
    totals->allocations = seep_take_leb(take);
    totals->allocated_bytes = seep_take_leb(take);
    totals->frees = seep_take_leb(take);
    totals->freed_bytes = seep_take_leb(take);
    totals->live_blocks = seep_take_leb(take);
    totals->live_bytes = seep_take_leb(take);
    totals->peak_bytes = seep_take_leb(take);
    totals->peak_exact = seep_take_bool(take);
    totals->peak_error_bytes = seep_take_leb(take);
    totals->temporary = seep_take_leb(take);
    totals->failed = seep_take_leb(take);
    totals->unknown_frees = seep_take_leb(take);
    seep_take_list(take, totals->by_function, SEEP_VIA_HEAP_NR);
    seep_take_list(take, totals->releases, SEEP_RELEASE_NR);
    seep_take_list(take, totals->size_class, SEEP_IMAGE_SIZE_CLASSES);
    if (loader->reader.minor >= 1) {
        totals->inherited_blocks = seep_take_leb(take);
        totals->inherited_bytes = seep_take_leb(take);
    }
    loader->totals = *totals;
    return check_take(loader, section, take);
}

static struct seep_error *load_with(struct loader *loader, const struct seep_trace_section *section,
                                    struct seep_take *take, const struct seep_section *codec) {
    struct seep_profile *profile = loader->arrays.profile;
    if (!seep_trace_same_own(&loader->same, profile, section->type))
        return seep_error_no_memory();
    struct seep_arena *arena = seep_trace_same_arena(&loader->same, profile, section->type);
    struct seep_arena own = profile->arena;
    if (arena != &profile->arena)
        profile->arena = *arena;
    bool no_memory_left;
    const char *wrong = codec->take(take, profile, &no_memory_left);
    if (arena != &profile->arena) {
        *arena = profile->arena;
        profile->arena = own;
    }
    if (no_memory_left)
        return seep_error_no_memory();
    struct seep_error *error =
        wrong ? section_error(loader, section, wrong) : check_take(loader, section, take);
    if (!error && !seep_trace_same_add(&loader->same, profile, section))
        error = seep_error_no_memory();
    return error;
}

// ---- Processes.

static bool same_derived(const struct loader *loader) {
    const struct seep_totals *a = &loader->totals;
    const struct seep_totals *b = &loader->arrays.profile->totals;
    return loader->health.events == loader->arrays.profile->health.events &&
           loader->health.stacks_cut == loader->arrays.profile->health.stacks_cut &&
           a->allocations == b->allocations && a->allocated_bytes == b->allocated_bytes &&
           a->frees == b->frees && a->freed_bytes == b->freed_bytes && a->live_blocks == b->live_blocks &&
           a->live_bytes == b->live_bytes && a->temporary == b->temporary &&
           memcmp(a->by_function, b->by_function, sizeof(a->by_function)) == 0;
}

// A process can be shown when its totals, stacks and sites are whole; threads and blocks may lack.
static bool is_usable(const struct loader *loader) {
    if (loader->arrays.type < SEEP_TRACE_TOTALS)
        return false;
    for (uint32_t type = SEEP_TRACE_MODULES; type <= SEEP_TRACE_SITES; type++)
        if (loader->arrays.loaded[type] != loader->arrays.promised[type])
            return false;
    return true;
}

static struct seep_error *check_complete(struct loader *loader) {
    if (loader->arrays.type < SEEP_TRACE_TOTALS)
        return section_error(loader, &loader->process_section, "its HEALTH or TOTALS section is missing");
    for (uint32_t type = SEEP_TRACE_MODULES; type <= SEEP_TRACE_BLOCKS; type++)
        if (loader->arrays.loaded[type] != loader->arrays.promised[type])
            return seep_trace_section_error(
                &loader->reader, &loader->process_section, "promises %llu elements in %s, and there are %llu",
                (unsigned long long)loader->arrays.promised[type], seep_trace_type_name(type),
                (unsigned long long)loader->arrays.loaded[type]);
    return NULL;
}

static struct seep_error *note_cut(struct loader *loader, struct seep_profile *profile) {
    loader->said_cut = true;
    return seep_profile_note(
        profile, SEEP_NOTE_TRACE_CUT,
        "the trace was cut at offset %llu and what precedes is shown: %llu of %llu blocks of "
        "this process",
        (unsigned long long)loader->reader.cut_at,
        (unsigned long long)loader->arrays.loaded[SEEP_TRACE_BLOCKS],
        (unsigned long long)loader->arrays.promised[SEEP_TRACE_BLOCKS]);
}

// Ends the group at work and hands its profile to the session.
static struct seep_error *finish_process(struct loader *loader) {
    if (!loader->arrays.profile)
        return NULL;
    struct seep_error *error = seep_trace_arrays_finish(&loader->arrays);
    if (!error && !loader->reader.cut)
        error = check_complete(loader);
    if (error)
        return error;
    if (!is_usable(loader)) {
        seep_profile_destroy(loader->arrays.profile);
        loader->arrays.profile = NULL;
        seep_arena_deinit(&loader->same.decoded);
        return NULL;
    }
    error = seep_trace_same_finish(&loader->same, loader->arrays.profile);
    if (error)
        return error;
    seep_profile_derive(loader->arrays.profile);
    error = seep_growth_judge(loader->arrays.profile, SEEP_GROWTH_LEAST_NS);
    if (error)
        return error;
    if (!same_derived(loader))
        error = seep_profile_note(
            loader->arrays.profile, SEEP_NOTE_TOTALS_DIFFER,
            "the totals saved in the trace differ from the sum over its sites: the sum is shown");
    bool incomplete = false;
    for (uint32_t type = SEEP_TRACE_THREADS; type <= SEEP_TRACE_BLOCKS; type++)
        incomplete |= loader->arrays.loaded[type] != loader->arrays.promised[type];
    if (!error && incomplete)
        error = note_cut(loader, loader->arrays.profile);
    if (error)
        return error;
    struct seep_profile *profile = loader->arrays.profile;
    loader->arrays.profile = NULL;
    return seep_session_add(loader->session, profile);
}

// ---- The whole.

// The index must be of this very file: else a reader that trusts it would show something else.
static struct seep_error *load_index(struct loader *loader, const struct seep_trace_section *section,
                                     struct seep_take *take) {
    struct seep_index index = {.nr = 0};
    bool no_memory_left;
    const char *wrong = seep_index_take(take, section->off, &index, &no_memory_left);
    bool same = index.nr == loader->nr_groups && index.nr == loader->session->nr_profiles;
    for (size_t i = 0; !wrong && same && i < index.nr; i++) {
        const struct seep_process *process = &loader->session->profiles[i]->process;
        uint64_t end = i + 1 < index.nr ? loader->group_offs[i + 1] : section->off;
        same = index.entries[i].off == loader->group_offs[i] &&
               index.entries[i].off + index.entries[i].bytes == end && index.entries[i].pid == process->pid &&
               strcmp(index.entries[i].exe, process->exe) == 0;
    }
    seep_index_deinit(&index);
    loader->has_index = true;
    if (no_memory_left)
        return seep_error_no_memory();
    if (!wrong && !same)
        wrong = "does not agree with the processes";
    return wrong ? section_error(loader, section, wrong) : check_take(loader, section, take);
}

static struct seep_error *note_group(struct loader *loader, const struct seep_trace_section *section) {
    if (!seep_grow(&loader->group_offs, &loader->groups_capacity, loader->nr_groups + 1,
                   sizeof(*loader->group_offs)))
        return seep_error_no_memory();
    loader->group_offs[loader->nr_groups++] = section->off;
    return NULL;
}

static struct seep_error *check_order(struct loader *loader, const struct seep_trace_section *section) {
    uint32_t type = section->type;
    if (loader->has_index)
        return section_error(loader, section, "out of order");
    if (type == SEEP_TRACE_SESSION)
        return NULL;
    if (!loader->has_session)
        return section_error(loader, section, "stands before the SESSION section");
    if (type == SEEP_TRACE_PROCESS)
        return NULL;
    if (!loader->arrays.profile)
        return section_error(loader, section, "stands before the first PROCESS section");
    if (type == SEEP_TRACE_INDEX)
        return NULL;
    const struct seep_section *codec = seep_section_of(type);
    bool may_repeat = codec ? codec->repeats : type >= SEEP_TRACE_MODULES && type <= SEEP_TRACE_BLOCKS;
    // HEALTH and TOTALS must be there, each once; arrays without elements have no section.
    uint32_t least = type <= SEEP_TRACE_TOTALS ? type - 1 : SEEP_TRACE_TOTALS;
    if (loader->arrays.type < least || loader->arrays.type > type ||
        (loader->arrays.type == type && !may_repeat))
        return section_error(loader, section, "out of order");
    return NULL;
}

static struct seep_error *load_section(struct loader *loader, const struct seep_trace_section *section) {
    struct seep_error *error = check_order(loader, section);
    if (!error && (section->type == SEEP_TRACE_PROCESS || section->type == SEEP_TRACE_INDEX))
        error = finish_process(loader);
    else if (!error && section->type != loader->arrays.type)
        error = seep_trace_arrays_finish(&loader->arrays);
    unsigned char *raw = NULL;
    bool is_there = !error && seep_trace_same_take(&loader->same, &loader->arrays, section);
    if (is_there)
        loader->arrays.type = section->type;
    else if (!error)
        error = seep_trace_section_unpack(&loader->reader, section, &raw);
    if (error || is_there)
        return error;
    struct seep_take take = {raw, raw + section->raw_bytes, false};
    const struct seep_section *codec = seep_section_of(section->type);
    switch (section->type) {
    case SEEP_TRACE_SESSION:
        error = load_session(loader, section, &take);
        break;
    case SEEP_TRACE_PROCESS:
        error = note_group(loader, section);
        if (!error)
            error = load_process(loader, section, &take);
        break;
    case SEEP_TRACE_INDEX:
        error = load_index(loader, section, &take);
        break;
    case SEEP_TRACE_HEALTH:
        error = load_health(loader, section, &take);
        break;
    case SEEP_TRACE_TOTALS:
        error = load_totals(loader, section, &take);
        break;
    default:
        if (codec)
            error = load_with(loader, section, &take, codec);
        else if (!(error = seep_trace_arrays_add(&loader->arrays, section, raw)))
            raw = NULL; // the part has it
    }
    free(raw);
    loader->arrays.type = section->type;
    return error;
}

static struct seep_error *load_sections(struct loader *loader) {
    for (;;) {
        struct seep_trace_section section;
        bool more = false;
        struct seep_error *error = seep_trace_reader_next(&loader->reader, &section, &more);
        bool wanted = more && section.type != SEEP_TRACE_EVENTS && section.type != SEEP_TRACE_STACKS &&
                      section.type != SEEP_TRACE_EVENT_INDEX && section.type != SEEP_TRACE_RESIDENCE &&
                      section.type != SEEP_TRACE_EVENT_SUMS && seep_trace_type_is_known(section.type);
        if (!error && wanted)
            error = load_section(loader, &section);
        if (error)
            return error;
        if (!more)
            return finish_process(loader);
    }
}

// Says in the main process that others are missing: each other note stands at the process it is about.
static struct seep_error *check_session(struct loader *loader) {
    const struct seep_trace_reader *reader = &loader->reader;
    size_t nr = loader->session->nr_profiles;
    if (!nr && reader->cut)
        return seep_error_hint(seep_error_create(SEEP_E_FORMAT,
                                                 "%s: cut at offset %llu, before its first process "
                                                 "is complete",
                                                 reader->name, (unsigned long long)reader->cut_at),
                               "nothing of the trace is left: record it again");
    if (!nr)
        return seep_error_hint(seep_error_create(SEEP_E_FORMAT, "%s: no process in the trace", reader->name),
                               "record it again");
    if (nr == loader->nr_processes && (!reader->cut || loader->said_cut))
        return NULL;
    if (!reader->cut)
        return seep_error_hint(seep_error_create(SEEP_E_FORMAT,
                                                 "%s: %llu processes are promised, and there are %zu",
                                                 reader->name, (unsigned long long)loader->nr_processes, nr),
                               "the file is damaged: copy it again from where it was made");
    struct seep_profile *main_profile = loader->session->profiles[0];
    return seep_profile_note(
        main_profile, SEEP_NOTE_TRACE_CUT,
        "the trace was cut at offset %llu and what precedes is shown: %zu of %llu processes",
        (unsigned long long)reader->cut_at, nr, (unsigned long long)loader->nr_processes);
}

static void loader_deinit(struct loader *loader) {
    seep_trace_arrays_deinit(&loader->arrays);
    seep_profile_destroy(loader->arrays.profile);
    seep_trace_same_deinit(&loader->same);
    free(loader->group_offs);
    ZSTD_freeDCtx(loader->unpacker);
}

static struct seep_error *load_trace(const void *bytes, size_t size, const char *name,
                                     const struct seep_trace_passed *passed,
                                     struct seep_session **ret_session) {
    struct loader loader = {.arrays = {.reader = &loader.reader, .same = &loader.same}};
    struct seep_error *error = seep_trace_reader_init(bytes, size, name, &loader.reader);
    if (!error)
        seep_trace_reader_pass(&loader.reader, passed);
    if (!error)
        error = seep_session_create(&loader.session);
    if (!error)
        error = load_sections(&loader);
    if (!error)
        error = check_session(&loader);
    if (!error && passed->damaged_off)
        error = seep_profile_note(loader.session->profiles[0], SEEP_NOTE_EVENTS_DAMAGED,
                                  "section %s at offset %llu is damaged: events from there on are not known",
                                  seep_trace_type_name(passed->damaged_type),
                                  (unsigned long long)passed->damaged_off);
    loader_deinit(&loader);
    if (!error)
        loader.session->event_index_off = passed->event_index_off;
    if (error)
        seep_session_destroy(loader.session);
    else
        *ret_session = loader.session;
    return error;
}

struct seep_error *seep_profile_load(const struct seep_trace_reader *part,
                                     struct seep_profile **ret_profile) {
    struct loader loader = {
        .reader = *part, .has_session = true, .arrays = {.reader = &loader.reader, .same = &loader.same}};
    struct seep_error *error = seep_session_create(&loader.session);
    if (error)
        return error;
    error = load_sections(&loader);
    bool is_one = !error && loader.session->nr_profiles == 1 && !loader.reader.cut && !loader.has_index;
    if (!error && !is_one)
        error = seep_error_hint(seep_error_create(SEEP_E_FORMAT,
                                                  "%s: at offset %llu there is not the one process that the "
                                                  "index has there",
                                                  part->name, (unsigned long long)part->part_off),
                                "the file is damaged: copy it again from where it was made");
    loader_deinit(&loader);
    if (!error) {
        *ret_profile = loader.session->profiles[0];
        loader.session->nr_profiles = 0;
    }
    seep_session_destroy(loader.session);
    return error;
}

static bool is_raw(const void *bytes, size_t size) {
    bool is_swapped;
    return seep_image_is_raw(bytes, size, &is_swapped);
}

struct seep_error *seep_session_load_bytes(const void *bytes, size_t size, const char *name,
                                           struct seep_session **ret_session) {
    struct seep_trace_passed nothing = {0};
    return is_raw(bytes, size) ? seep_session_from_raw(bytes, size, name, ret_session)
                               : load_trace(bytes, size, name, &nothing, ret_session);
}

struct seep_error *seep_session_load(const char *path, struct seep_session **ret_session) {
    unsigned char *bytes = NULL;
    size_t size = 0;
    struct seep_session *session;
    struct seep_trace_passed passed;
    struct seep_error *error = seep_trace_slurp(path, &bytes, &size, &passed);
    if (error)
        return error;
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    error = passed.nr_sections ? load_trace(bytes, size, name, &passed, &session)
                               : seep_session_load_bytes(bytes, size, name, &session);
    // A trace has it from when it was made; what the library wrote alone has not.
    bool raw = is_raw(bytes, size);
    free(bytes);
    if (!error && raw && (error = seep_profile_note_allocators(session->profiles[0], 0)))
        seep_session_destroy(session);
    if (!error)
        *ret_session = session;
    return error;
}

// SPDX-License-Identifier: BSD-2-Clause
//
// Making and ending profiles and sessions, the figures that follow from others, and the words for
// the enums of the image, see profile.h.
//
// Invariant: element 0 of modules, nodes and sites exists from the start, so that index 0 is valid
// in every profile.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/sum.h"
#include "profile/profile.h"
#include "profile/shared.h"

struct seep_error *seep_profile_create(struct seep_profile **ret_profile) {
    return seep_profile_create_sharing(NULL, ret_profile);
}

struct seep_error *seep_profile_create_sharing(struct seep_shared *shared,
                                               struct seep_profile **ret_profile) {
    struct seep_profile *profile = calloc(1, sizeof(*profile));
    if (!profile)
        return seep_error_no_memory();
    if (shared) {
        profile->arena.from = &shared->arena;
        profile->shared = shared;
        shared->nr_owners++;
    }
    profile->modules = seep_arena_alloc(&profile->arena, 1, sizeof(*profile->modules));
    profile->nodes = seep_arena_alloc(&profile->arena, 1, sizeof(*profile->nodes));
    profile->sites = seep_arena_alloc(&profile->arena, 1, sizeof(*profile->sites));
    if (!profile->modules || !profile->nodes || !profile->sites) {
        seep_profile_destroy(profile);
        return seep_error_no_memory();
    }
    profile->modules[0].path = "(no module)";
    profile->modules[0].unloaded_ns = -1;
    profile->sites[0].counters.size_min = UINT64_MAX;
    profile->nr_modules = 1;
    profile->nr_nodes = 1;
    profile->nr_sites = 1;
    profile->process.exe = "";
    profile->process.name = "";
    *ret_profile = profile;
    return NULL;
}

void seep_profile_destroy(struct seep_profile *profile) {
    if (!profile)
        return;
    seep_arena_deinit(&profile->arena);
    seep_shared_release(profile->shared);
    free(profile);
}

struct seep_error *seep_session_create(struct seep_session **ret_session) {
    struct seep_session *session = calloc(1, sizeof(*session));
    if (!session)
        return seep_error_no_memory();
    *ret_session = session;
    return NULL;
}

struct seep_error *seep_session_add(struct seep_session *session, struct seep_profile *profile) {
    // The capacity is not kept: it is the power of two at or above nr, so room runs out only there.
    size_t nr = session->nr_profiles;
    if ((nr & (nr - 1)) == 0) {
        size_t need = nr ? nr * 2 : 1;
        struct seep_profile **larger =
            need > SIZE_MAX / sizeof(*larger) ? NULL : realloc(session->profiles, need * sizeof(*larger));
        if (!larger) {
            seep_profile_destroy(profile);
            return seep_error_no_memory();
        }
        session->profiles = larger;
    }
    session->profiles[session->nr_profiles++] = profile;
    return NULL;
}

struct seep_error *seep_session_of(struct seep_profile *profile, struct seep_session **ret_session) {
    struct seep_session *session = NULL;
    struct seep_error *err = seep_session_create(&session);
    if (err) {
        seep_profile_destroy(profile);
        return err;
    }
    err = seep_session_add(session, profile);
    if (err)
        seep_session_destroy(session);
    else
        *ret_session = session;
    return err;
}

void seep_session_destroy(struct seep_session *session) {
    if (!session)
        return;
    for (size_t i = 0; i < session->nr_profiles; i++)
        seep_profile_destroy(session->profiles[i]);
    free(session->profiles);
    free(session);
}

bool seep_process_is_selected(uint32_t own_pid, const char *exe, const char *first_arg, uint64_t pid,
                              const regex_t *program) {
    if (pid && own_pid != pid)
        return false;
    return !program || regexec(program, exe, 0, NULL, 0) == 0 ||
           (first_arg && regexec(program, first_arg, 0, NULL, 0) == 0);
}

struct seep_error *seep_session_none_selected(size_t nr_processes) {
    return seep_error_hint(
        nr_processes == 1 ? seep_error_create(SEEP_E_NOT_FOUND, "its only process is not the one asked for")
                          : seep_error_create(SEEP_E_NOT_FOUND,
                                              "none of the %zu processes is the one asked for", nr_processes),
        "without --pid and --program the report lists them all");
}

size_t seep_profiles_find(struct seep_profile *const *profiles, size_t nr, uint32_t pid,
                          int64_t start_realtime_ns) {
    return seep_profiles_find_from(profiles, nr, 0, pid, start_realtime_ns);
}

size_t seep_profiles_find_from(struct seep_profile *const *profiles, size_t nr, size_t from, uint32_t pid,
                               int64_t start_realtime_ns) {
    for (size_t i = 0; i < nr; i++) {
        size_t at = seep_index_from(from, i, nr);
        if (seep_process_is(&profiles[at]->process, pid, start_realtime_ns))
            return at;
    }
    return nr;
}

struct seep_error *seep_session_select(const struct seep_session *session, uint64_t pid,
                                       const regex_t *program, struct seep_session *ret_some) {
    struct seep_session some = *session; // its suppressions, too
    some.nr_profiles = 0;
    some.profiles = calloc(session->nr_profiles + 1, sizeof(*some.profiles));
    if (!some.profiles)
        return seep_error_no_memory();
    for (size_t i = 0; i < session->nr_profiles; i++) {
        const struct seep_process *process = &session->profiles[i]->process;
        if (seep_process_is_selected(process->pid, process->exe, process->nr_args ? process->args[0] : NULL,
                                     pid, program))
            some.profiles[some.nr_profiles++] = session->profiles[i];
    }
    if (some.nr_profiles) {
        *ret_some = some;
        return NULL;
    }
    free(some.profiles);
    return seep_session_none_selected(session->nr_profiles);
}

bool seep_profile_is_kernel(const struct seep_profile *profile) {
    return profile->nr_sites > 1 && profile->sites[1].via == SEEP_VIA_KERNEL;
}

const char *seep_kernel_process_name(const struct seep_thread *process, char text[SEEP_KERNEL_PROCESS_NAME]) {
    if (!process->name[0])
        return "(process not recorded)";
    bool is_process = process->tid || process->name[0] != '[';
    if (is_process)
        snprintf(text, SEEP_KERNEL_PROCESS_NAME, "%" PRIu32 " %s", process->tid, process->name);
    else
        snprintf(text, SEEP_KERNEL_PROCESS_NAME, "%s", process->name);
    return text;
}

static struct seep_mapping_site *map_site_of(const struct seep_profile *profile, uint32_t site) {
    const uint32_t low =
        SEEP_FIRST_WHERE(at, profile->nr_mapping_sites, profile->mapping_sites[at].site >= site);
    return low < profile->nr_mapping_sites && profile->mapping_sites[low].site == site
               ? &profile->mapping_sites[low]
               : NULL;
}

static void add_to_pools(struct seep_pool_totals *totals, const struct seep_site *site) {
    seep_add_up(&totals->allocations, site->counters.allocations);
    seep_add_up(&totals->allocated_bytes, site->counters.allocated_bytes);
    seep_add_up(&totals->frees, site->counters.frees);
    seep_add_up(&totals->freed_bytes, site->counters.freed_bytes);
    seep_add_up(&totals->live_blocks, site->live_blocks);
    seep_add_up(&totals->live_bytes, site->live_bytes);
}

struct seep_error *seep_profile_add_mark(struct seep_profile *profile, const struct seep_mark *mark) {
    if (!seep_arena_more(&profile->arena, &profile->marks, profile->nr_marks, 1, sizeof(*profile->marks)))
        return seep_error_no_memory();
    struct seep_mark *added = &profile->marks[profile->nr_marks];
    *added = *mark;
    added->order = profile->nr_marks++;
    return NULL;
}

static int compare_marks(const void *left, const void *right) {
    const struct seep_mark *a = left, *b = right;
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

// Pools are a class of their own.
static void derive_peak(struct seep_profile *profile) {
    profile->at_peak_bytes = 0;
    for (uint32_t i = 1; i < profile->nr_sites; i++)
        profile->sites[i].counters.at_peak_blocks = profile->sites[i].counters.at_peak_bytes = 0;
    for (uint32_t i = 0; profile->at_peak.counted && i < profile->at_peak.nr_sites; i++) {
        const struct seep_mark_site *then = &profile->at_peak.sites[i];
        struct seep_site *site = &profile->sites[then->site];
        site->counters.at_peak_blocks = seep_above(then->allocations, then->frees);
        site->counters.at_peak_bytes = seep_above(then->allocated_bytes, then->freed_bytes);
        if (seep_via_is_heap(site->via))
            seep_add_up(&profile->at_peak_bytes, site->counters.at_peak_bytes);
    }
}

void seep_profile_derive(struct seep_profile *profile) {
    seep_process_name_derive(profile);
    derive_peak(profile);
    if (profile->nr_marks)
        qsort(profile->marks, profile->nr_marks, sizeof(*profile->marks), compare_marks);
    struct seep_totals *totals = &profile->totals;
    totals->allocations = totals->allocated_bytes = 0;
    totals->frees = totals->freed_bytes = 0;
    totals->live_blocks = totals->live_bytes = 0;
    totals->temporary = 0;
    struct seep_pool_totals *pools = &profile->pool_totals;
    pools->allocations = pools->allocated_bytes = pools->frees = pools->freed_bytes = 0;
    pools->live_blocks = pools->live_bytes = 0;
    for (size_t i = 0; i < SEEP_VIA_HEAP_NR; i++)
        totals->by_function[i] = 0;

    // Whose block was freed is not known there.
    bool calls_only = profile->health.flags & SEEP_FLAG_CALLS;
    for (uint32_t i = 1; i < profile->nr_sites; i++) {
        struct seep_site *site = &profile->sites[i];
        const struct seep_counters *counters = &site->counters;
        site->live_blocks = calls_only ? 0 : seep_above(counters->allocations, counters->frees);
        site->live_bytes = calls_only ? 0 : seep_above(counters->allocated_bytes, counters->freed_bytes);
        if (seep_via_is_pool(site->via))
            add_to_pools(&profile->pool_totals, site);
        if (!seep_via_is_heap(site->via))
            continue;
        seep_add_up(&totals->allocations, counters->allocations);
        seep_add_up(&totals->allocated_bytes, counters->allocated_bytes);
        seep_add_up(&totals->frees, counters->frees);
        seep_add_up(&totals->freed_bytes, counters->freed_bytes);
        seep_add_up(&totals->temporary, counters->temporary);
        // Summed over sites, so that the parts add up to the whole even where a live snapshot saw
        // more frees than allocations at a site.
        seep_add_up(&totals->live_blocks, site->live_blocks);
        seep_add_up(&totals->live_bytes, site->live_bytes);
        seep_add_up(&totals->by_function[site->via < SEEP_VIA_HEAP_NR ? site->via : SEEP_VIA_NONE],
                    counters->allocations);
    }

    if (calls_only)
        totals->live_blocks = seep_above(totals->allocations, totals->frees);

    for (uint32_t i = 0; i < profile->nr_mapping_sites; i++) {
        struct seep_mapping_site *site = &profile->mapping_sites[i];
        site->live_bytes = seep_above(site->counts.mapped_bytes, site->counts.unmapped_bytes);
        site->nr_live = 0;
    }
    for (uint32_t i = 0; i < profile->nr_mappings; i++) {
        struct seep_mapping_site *site = map_site_of(profile, profile->mappings[i].site);
        if (site)
            site->nr_live++;
    }
    seep_profile_derive_health(profile);
}

void seep_profile_derive_health(struct seep_profile *profile) {
    struct seep_totals *totals = &profile->totals;
    struct seep_health *health = &profile->health;
    health->events = 0;
    totals->inherited_blocks = SEEP_MIN(totals->inherited_blocks, totals->allocations);
    totals->inherited_bytes = SEEP_MIN(totals->inherited_bytes, totals->allocated_bytes);
    seep_add_up(&health->events, totals->allocations - totals->inherited_blocks);
    seep_add_up(&health->events, totals->frees);
    health->stacks_cut = 0;
    for (size_t i = 0; i < SEEP_CUT_NR; i++)
        seep_add_up(&health->stacks_cut, health->cut[i]);
}

static const char *const via_names[SEEP_VIA_NR] = {
    [SEEP_VIA_MALLOC] = "malloc",
    [SEEP_VIA_CALLOC] = "calloc",
    [SEEP_VIA_REALLOC] = "realloc",
    [SEEP_VIA_REALLOCARRAY] = "reallocarray",
    [SEEP_VIA_POSIX_MEMALIGN] = "posix_memalign",
    [SEEP_VIA_ALIGNED_ALLOC] = "aligned_alloc",
    [SEEP_VIA_MEMALIGN] = "memalign",
    [SEEP_VIA_VALLOC] = "valloc",
    [SEEP_VIA_PVALLOC] = "pvalloc",
    [SEEP_VIA_NEW] = "operator new",
    [SEEP_VIA_NEW_ARRAY] = "operator new[]",
    [SEEP_VIA_INHERITED] = "inherited",
    [SEEP_VIA_KERNEL] = "kernel",
    [SEEP_VIA_OTEL] = "otel_memory",
    [SEEP_VIA_MMAP] = "mmap",
    [SEEP_VIA_MREMAP] = "mremap",
    [SEEP_VIA_BRK] = "brk",
    [SEEP_VIA_SBRK] = "sbrk",
    [SEEP_VIA_POOL_ALLOC] = "seep_pool_alloc",
    [SEEP_VIA_FAULT] = "page fault",
    [SEEP_VIA_POOL_RESIZE] = "seep_pool_resize",
    [SEEP_VIA_FREE + SEEP_RELEASE_FREE] = "free",
    [SEEP_VIA_FREE + SEEP_RELEASE_REALLOC] = "realloc",
    [SEEP_VIA_FREE + SEEP_RELEASE_DELETE] = "operator delete",
    [SEEP_VIA_FREE + SEEP_RELEASE_DELETE_ARRAY] = "operator delete[]",
};

static const char *const release_names[SEEP_RELEASE_NR] = {
    [SEEP_RELEASE_FREE] = "free",
    [SEEP_RELEASE_REALLOC] = "realloc",
    [SEEP_RELEASE_DELETE] = "operator delete",
    [SEEP_RELEASE_DELETE_ARRAY] = "operator delete[]",
    [SEEP_RELEASE_IMPLICIT] = "implicit",
};

static const char *word(const char *const *words, uint32_t nr_words, uint32_t value, const char *otherwise) {
    return value < nr_words && words[value] ? words[value] : otherwise;
}

const char *seep_via_name(uint32_t via) {
    return word(via_names, SEEP_VIA_NR, via, "unknown");
}

const char *seep_misuse_name(uint32_t misuse) {
    static const char *const names[SEEP_MISUSE_NR] = {
        [SEEP_MISUSE_MISMATCH] = "mismatch", [SEEP_MISUSE_DOUBLE_FREE] = "double_free",
        [SEEP_MISUSE_INSIDE] = "inside",     [SEEP_MISUSE_STACK] = "stack",
        [SEEP_MISUSE_STATIC] = "static",     [SEEP_MISUSE_WILD] = "wild",
    };
    return word(names, SEEP_MISUSE_NR, misuse, "unknown");
}

const char *seep_release_name(uint32_t release) {
    return word(release_names, SEEP_RELEASE_NR, release, "unknown");
}

int seep_thread_site_compare(const void *left, const void *right) {
    const struct seep_thread_site *a = left;
    const struct seep_thread_site *b = right;
    if (a->site != b->site)
        return a->site < b->site ? -1 : 1;
    return (a->thread > b->thread) - (a->thread < b->thread);
}

// SPDX-License-Identifier: BSD-2-Clause
// The counters of a look: only chunks whose bytes have changed are added up again. See image_look.h.
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/sum.h"
#include "source/image/image_look_parts.h"

#define COUNTER_BYTES ((size_t)SEEP_LOOK_GROUP * sizeof(struct seep_image_counters))

// ---- counters ----

struct work {
    struct seep_image_look *look;
    struct seep_image_reader reader;
    struct seep_page_claims claims; // of chunks, by group, then by thread
    struct seep_look_seen *seen;    // as many
    size_t nr_before;               // items of look->seen that are passed
    uint32_t *dir;
    struct seep_image_counters *counters; // of a chunk
    struct seep_counters *sums;
    struct seep_look_site *sites;
    struct seep_put now, differences;
};

// A thread has no more chunks than its table, however many sites the image counts.
static struct seep_error *find_chunks(struct work *work, size_t nr_groups) {
    size_t nr_chunks = SEEP_MIN(nr_groups, (size_t)SEEP_CHUNKS_PER_THREAD);
    struct seep_image_reader *reader = &work->reader;
    struct seep_page_claims dirs = {NULL, 0, 0};
    bool fits = true;
    struct seep_error *error = NULL;
    for (uint32_t i = 0; fits && i < reader->profile->nr_threads; i++) {
        struct seep_image_thread thread;
        seep_image_element(reader->copy, SEEP_AREA_THREADS, i, &thread);
        if (thread.chunk_dir_page)
            fits = seep_page_claim_add(&dirs, thread.chunk_dir_page, i, 0);
    }
    seep_page_claims_settle(reader, &dirs, SEEP_CHUNKS_PER_THREAD * sizeof(uint32_t) / SEEP_IMAGE_PAGE);
    for (size_t i = 0; fits && !error && i < dirs.nr_items; i++) {
        error = seep_image_look_read(work->look, seep_image_page_off(reader->copy, dirs.items[i].page),
                                     work->dir, nr_chunks * sizeof(*work->dir));
        for (uint32_t c = 0; fits && !error && c < nr_chunks; c++) {
            uint32_t page = seep_image_u32(&reader->copy->head, &work->dir[c]);
            if (page)
                fits = seep_page_claim_add(&work->claims, page, dirs.items[i].owner, c);
        }
    }
    free(dirs.items);
    if (error || !fits)
        return error ? error : seep_error_no_memory();
    seep_page_claims_settle(reader, &work->claims, COUNTER_BYTES / SEEP_IMAGE_PAGE);
    return NULL;
}

static int compare_claims(const void *left, const void *right) {
    const struct seep_page_claim *a = left, *b = right;
    if (a->index != b->index)
        return a->index < b->index ? -1 : 1;
    return (a->owner > b->owner) - (a->owner < b->owner);
}

// A sum for each kind of counter, which does not wait for the others. The multiplier is odd: a change of one
// counter changes its sum.
static uint64_t hash_counters(const struct seep_image_counters *counters, size_t nr) {
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
    _Static_assert(sizeof(*counters) == 8 * sizeof(a), "all of it");
    for (const struct seep_image_counters *at = counters; at < counters + nr; at++) {
        a = a * odd + at->allocations;
        b = b * odd + at->allocated_bytes;
        c = c * odd + at->frees;
        d = d * odd + at->freed_bytes;
        e = e * odd + at->temporary;
        f = f * odd + at->peak_bytes;
        g = g * odd + at->size_min_inverted;
        h = h * odd + at->size_max;
    }
    const uint64_t sums[] = {a, b, c, d, e, f, g, h};
    return seep_hash_bytes(sums, sizeof(sums));
}

static struct seep_error *read_chunk(const struct work *work, const struct seep_page_claim *claim,
                                     uint32_t nr_sites) {
    return seep_image_look_read(work->look, seep_image_page_off(work->reader.copy, claim->page),
                                work->counters, nr_sites * sizeof(*work->counters));
}

// What the take before saw of the same chunk; NULL: it did not see the chunk.
static const struct seep_look_seen *seen_before(struct work *work, const struct seep_page_claim *claim) {
    const struct seep_image_look *look = work->look;
    while (work->nr_before < look->nr_seen) {
        const struct seep_look_seen *seen = &look->seen[work->nr_before];
        if (seen->group > claim->index || (seen->group == claim->index && seen->thread >= claim->owner))
            return seen->group == claim->index && seen->thread == claim->owner && seen->page == claim->page
                       ? seen
                       : NULL;
        work->nr_before++;
    }
    return NULL;
}

static struct seep_error *add_thread_figures(struct seep_look_threads *threads, uint32_t site,
                                             uint32_t thread, const struct seep_counters *c) {
    if (threads->is_many)
        return NULL;
    if (threads->nr == SEEP_THREAD_FIGURES_MOST) {
        threads->is_many = true;
        threads->nr = 0;
        return NULL;
    }
    if (!seep_grow(&threads->items, &threads->capacity, threads->nr + 1, sizeof(*threads->items)))
        return seep_error_no_memory();
    threads->items[threads->nr++] = (struct seep_thread_figures){
        .site = site,
        .thread = thread,
        .values = {c->allocations, c->allocated_bytes, c->frees, c->freed_bytes, c->temporary}};
    return NULL;
}

// Adds what is in `counters`, of one thread, to the sums of the group.
static struct seep_error *add_chunk(struct work *work, uint32_t base, uint32_t nr_sites,
                                    struct seep_look_seen *seen) {
    static const struct seep_image_counters none;
    struct seep_error *error = NULL;
    seen->allocations = seen->allocated_bytes = seen->frees = seen->freed_bytes = 0;
    for (uint32_t i = base ? 0 : 1; !error && i < nr_sites; i++) {
        struct seep_image_counters *from = &work->counters[i];
        if (memcmp(from, &none, sizeof(none)) == 0)
            continue;
        seep_image_swap_counters(&work->reader.copy->head, from);
        struct seep_counters c = seep_image_counters_of(work->reader.copy, from);
        seep_counters_add(&work->sums[i], &c);
        error = add_thread_figures(&work->look->threads, base + i, seen->thread, &c);
        if (!seep_via_is_heap(work->sites[i].via))
            continue;
        seep_add_up(&seen->allocations, c.allocations);
        seep_add_up(&seen->allocated_bytes, c.allocated_bytes);
        seep_add_up(&seen->frees, c.frees);
        seep_add_up(&seen->freed_bytes, c.freed_bytes);
    }
    return error;
}

// What a site lacks goes to the first of the group's threads.
static void add_lacking(struct work *work, uint32_t nr_sites, struct seep_look_seen *first) {
    for (uint32_t i = 0; i < nr_sites; i++) {
        struct seep_counters lacking = seep_counters_lacking(&work->sums[i]);
        seep_counters_add(&work->sums[i], &lacking);
        if (!seep_via_is_heap(work->sites[i].via))
            continue;
        seep_add_up(&first->allocations, lacking.allocations);
        seep_add_up(&first->allocated_bytes, lacking.allocated_bytes);
    }
}

static void add_to_sums(struct seep_look_sums *sums, uint32_t via, const struct seep_counters *c,
                        bool calls_only) {
    if (!seep_via_is_heap(via))
        return;
    seep_add_up(&sums->allocations, c->allocations);
    seep_add_up(&sums->allocated_bytes, c->allocated_bytes);
    seep_add_up(&sums->frees, c->frees);
    seep_add_up(&sums->freed_bytes, c->freed_bytes);
    seep_add_up(&sums->temporary, c->temporary);
    seep_add_up(&sums->by_function[via < SEEP_VIA_HEAP_NR ? via : SEEP_VIA_NONE], c->allocations);
    if (!calls_only && c->allocations > c->frees)
        seep_add_up(&sums->live_blocks, c->allocations - c->frees);
    if (!calls_only && c->allocated_bytes > c->freed_bytes)
        seep_add_up(&sums->live_bytes, c->allocated_bytes - c->freed_bytes);
}

// A copy without spare room; NULL where `put` is empty. *fits becomes false when memory is out.
static unsigned char *exactly(const struct seep_put *put, bool *fits) {
    unsigned char *bytes = put->used ? malloc(put->used) : NULL;
    *fits &= !put->failed && (bytes || !put->used);
    if (bytes)
        memcpy(bytes, put->bytes, put->used);
    return bytes;
}

// The sums become the figures of the group.
static struct seep_error *set_group(struct work *work, struct seep_look_group *group, uint32_t nr_sites) {
    struct seep_image_look *look = work->look;
    bool calls_only = look->profile->health.flags & SEEP_FLAG_CALLS, fits = true, any = false;
    struct seep_take take = seep_look_take_of(group->now, group->nr_now);
    uint32_t *changed = realloc(group->changed, SEEP_LOOK_GROUP * sizeof(*changed));
    if (!changed)
        return seep_error_no_memory();
    group->changed = changed;
    work->now.used = work->differences.used = 0;
    group->sums = (struct seep_look_sums){0};
    for (uint32_t i = 0; i < nr_sites; i++) {
        struct seep_figures now = seep_look_figures_of(&work->sums[i]);
        struct seep_figures before =
            i < group->nr_sites ? seep_look_take_figures(&take) : (struct seep_figures){0};
        add_to_sums(&group->sums, work->sites[i].via, &work->sums[i], calls_only);
        seep_look_put_figures(&work->now, &now, NULL);
        if (i < group->nr_sites && memcmp(&now, &before, sizeof(now)) == 0)
            continue;
        seep_put_leb(&work->differences, i);
        seep_look_put_figures(&work->differences, &now, &before);
        changed[i] = (uint32_t)look->epoch;
        any = true;
    }
    unsigned char *bytes = any ? exactly(&work->now, &fits) : NULL;
    unsigned char *differences = exactly(&work->differences, &fits);
    if (!fits) {
        free(bytes);
        free(differences);
        return seep_error_no_memory();
    }
    free(group->differences);
    group->differences = differences;
    group->nr_differences = (uint32_t)work->differences.used;
    if (!any)
        return NULL;
    free(group->now);
    group->now = bytes;
    group->nr_now = (uint32_t)work->now.used;
    group->nr_sites = nr_sites;
    group->epoch = look->changed = look->epoch;
    return NULL;
}

static struct seep_error *begin_sums(struct work *work, uint32_t base, uint32_t nr_sites) {
    for (uint32_t i = 0; i < nr_sites; i++)
        work->sums[i] = (struct seep_counters){.size_min = UINT64_MAX};
    return seep_image_look_sites(work->look, base, nr_sites, work->sites);
}

// Claims [first, last) are those of the group. Nothing is added up before a chunk has changed: then the
// chunks before it are read again, and those behind it once.
static struct seep_error *take_group(struct work *work, size_t which, size_t first, size_t last) {
    struct seep_image_look *look = work->look;
    struct seep_look_group *group = &look->groups[which];
    uint32_t base = (uint32_t)which * SEEP_LOOK_GROUP,
             nr_sites = SEEP_MIN(look->nr_sites - base, SEEP_LOOK_GROUP);
    bool adds = nr_sites != group->nr_sites || !look->threads.is_many;
    struct seep_error *error = adds ? begin_sums(work, base, nr_sites) : NULL;
    for (size_t i = first; !error && i < last;) {
        const struct seep_page_claim *claim = &work->claims.items[i];
        const struct seep_look_seen *before = adds ? NULL : seen_before(work, claim);
        error = read_chunk(work, claim, nr_sites);
        uint64_t hash = hash_counters(work->counters, nr_sites);
        if (!error && !adds && (!before || before->hash != hash)) {
            adds = true;
            error = begin_sums(work, base, nr_sites);
            if (i > first) {
                i = first;
                continue;
            }
        }
        struct seep_look_seen *seen = &work->seen[i++];
        *seen = before ? *before : (struct seep_look_seen){0};
        seen->group = claim->index;
        seen->thread = claim->owner;
        seen->page = claim->page;
        seen->hash = hash; // of the bytes that are added
        if (!error && adds)
            error = add_chunk(work, base, nr_sites, seen);
    }
    if (error || !adds) {
        free(group->differences);
        group->differences = NULL;
        group->nr_differences = 0;
        return error;
    }
    if (first < last && !(look->profile->health.flags & SEEP_FLAG_CALLS))
        add_lacking(work, nr_sites, &work->seen[first]);
    return set_group(work, group, nr_sites);
}

static struct seep_error *take_groups(struct work *work) {
    struct seep_image_look *look = work->look;
    size_t nr = ((size_t)look->nr_sites + SEEP_LOOK_GROUP - 1) / SEEP_LOOK_GROUP;
    work->dir = malloc(nr * sizeof(*work->dir));
    work->counters = malloc(COUNTER_BYTES);
    work->sums = malloc(SEEP_LOOK_GROUP * sizeof(*work->sums));
    work->sites = malloc(SEEP_LOOK_GROUP * sizeof(*work->sites));
    if (!work->dir || !work->counters || !work->sums || !work->sites ||
        !seep_grow(&look->groups, &look->groups_capacity, nr, sizeof(*look->groups)))
        return seep_error_no_memory();
    for (; look->nr_groups < nr; look->nr_groups++)
        look->groups[look->nr_groups] = (struct seep_look_group){0};
    struct seep_error *error = find_chunks(work, nr);
    if (error)
        return error;
    if (work->claims.nr_items)
        qsort(work->claims.items, work->claims.nr_items, sizeof(*work->claims.items), compare_claims);
    work->seen = calloc(work->claims.nr_items + 1, sizeof(*work->seen));
    if (!work->seen)
        return seep_error_no_memory();
    for (size_t which = 0, at = 0; !error && which < nr; which++) {
        size_t first = at;
        while (at < work->claims.nr_items && work->claims.items[at].index == which)
            at++;
        error = take_group(work, which, first, at);
    }
    return error;
}

static int compare_threads(const void *left, const void *right) {
    const struct seep_thread_figures *a = left, *b = right;
    if (a->site != b->site)
        return a->site < b->site ? -1 : 1;
    return (a->thread > b->thread) - (a->thread < b->thread);
}

static void set_totals(const struct work *work) {
    struct seep_image_look *look = work->look;
    struct seep_profile *profile = look->profile;
    struct seep_totals *totals = &profile->totals;
    for (size_t i = 0; i < look->nr_groups; i++) {
        const struct seep_look_sums *sums = &look->groups[i].sums;
        seep_add_up(&totals->allocations, sums->allocations);
        seep_add_up(&totals->allocated_bytes, sums->allocated_bytes);
        seep_add_up(&totals->frees, sums->frees);
        seep_add_up(&totals->freed_bytes, sums->freed_bytes);
        seep_add_up(&totals->temporary, sums->temporary);
        seep_add_up(&totals->live_blocks, sums->live_blocks);
        seep_add_up(&totals->live_bytes, sums->live_bytes);
        for (size_t via = 0; via < SEEP_VIA_HEAP_NR; via++)
            seep_add_up(&totals->by_function[via], sums->by_function[via]);
    }
    if (profile->health.flags & SEEP_FLAG_CALLS)
        totals->live_blocks = totals->allocations - SEEP_MIN(totals->frees, totals->allocations);
    for (size_t i = 0; i < work->claims.nr_items; i++) {
        const struct seep_look_seen *seen = &work->seen[i];
        struct seep_thread *thread = &profile->threads[seen->thread];
        seep_add_up(&thread->allocations, seen->allocations);
        seep_add_up(&thread->allocated_bytes, seen->allocated_bytes);
        seep_add_up(&thread->frees, seen->frees);
        seep_add_up(&thread->freed_bytes, seen->freed_bytes);
    }
}

static void work_deinit(struct work *work) {
    free(work->claims.items);
    free(work->seen);
    free(work->dir);
    free(work->counters);
    free(work->sums);
    free(work->sites);
    seep_put_deinit(&work->now);
    seep_put_deinit(&work->differences);
}

struct seep_error *seep_look_take_counters(struct seep_image_look *look, const struct seep_image_copy *copy) {
    struct work work = {.look = look, .reader = {.copy = copy, .profile = look->profile}};
    struct seep_look_threads before = look->threads_before;
    look->threads_before = look->threads;
    look->threads = before;
    look->threads.nr = 0;
    look->threads.is_many = look->threads_before.is_many;
    struct seep_error *error = take_groups(&work);
    if (!error) {
        if (look->threads.nr)
            qsort(look->threads.items, look->threads.nr, sizeof(*look->threads.items), compare_threads);
        set_totals(&work);
        free(look->seen);
        look->seen = work.seen;
        look->nr_seen = work.claims.nr_items;
        work.seen = NULL;
    }
    work_deinit(&work);
    return error;
}

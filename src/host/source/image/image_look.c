// SPDX-License-Identifier: BSD-2-Clause
// One image over many looks, see image_look.h.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "base/sum.h"
#include "source/image/image_look.h"
#include "source/image/image_reader.h"

#define GROUP         SEEP_CHUNK_SITES
#define COUNTER_BYTES ((size_t)GROUP * sizeof(struct seep_image_counters))
#define PIECE         512u // elements that are read at once

// Sums over the heap's sites of one chunk.
struct sums {
    uint64_t allocations, allocated_bytes, frees, freed_bytes, temporary;
    uint64_t live_blocks, live_bytes;
    uint64_t by_function[SEEP_VIA_HEAP_NR];
};

struct group {
    uint32_t nr_sites;
    uint32_t nr_now; // bytes
    uint32_t nr_differences;
    unsigned char *now;         // figures of each site, as in seep_image_look_each()
    unsigned char *differences; // in `epoch`: LEB of the place in the group, then figures; NULL: none
    uint64_t epoch;             // of the last change in the group
    uint32_t *changed;          // of each site: the lower half of its epoch
    struct sums sums;
};

// What one thread counted in one chunk.
struct seen {
    uint32_t group;
    uint32_t thread;
    uint64_t page;
    uint64_t hash; // of its bytes
    uint64_t allocations, allocated_bytes, frees, freed_bytes;
};

struct thread_figures {
    struct seep_thread_figures *items;
    size_t nr;
    size_t capacity;
    bool is_many;
};

struct seep_image_look {
    int fd;
    pid_t pid;
    uint64_t device, inode;
    struct seep_image_head head;
    struct seep_profile *profile; // NULL: not read yet
    struct seep_profile *profile_before;
    uint32_t nr_nodes, nr_sites, nr_sites_before;
    struct group *groups;
    size_t nr_groups, groups_capacity;
    struct seen *seen; // by group, then by thread
    size_t nr_seen;
    uint64_t epoch, before, changed;
    struct thread_figures threads, threads_before;
};

static void note_file(struct seep_image_look *look) {
    struct stat status = {0};
    fstat(look->fd, &status);
    look->device = status.st_dev;
    look->inode = status.st_ino;
}

struct seep_error *seep_image_look_create(int fd, pid_t pid, struct seep_image_look **ret_look) {
    struct seep_image_look *look = calloc(1, sizeof(*look));
    if (!look) {
        close(fd);
        return seep_error_no_memory();
    }
    look->fd = fd;
    look->pid = pid;
    note_file(look);
    *ret_look = look;
    return NULL;
}

void seep_image_look_destroy(struct seep_image_look *look) {
    if (!look)
        return;
    for (size_t i = 0; i < look->nr_groups; i++) {
        free(look->groups[i].now);
        free(look->groups[i].differences);
        free(look->groups[i].changed);
    }
    free(look->groups);
    free(look->seen);
    free(look->threads.items);
    free(look->threads_before.items);
    seep_profile_destroy(look->profile);
    seep_profile_destroy(look->profile_before);
    close(look->fd);
    free(look);
}

bool seep_image_look_is_of(const struct seep_image_look *look, int fd) {
    struct stat status;
    return fstat(fd, &status) == 0 && status.st_dev == look->device && status.st_ino == look->inode;
}

void seep_image_look_move(struct seep_image_look *look, int fd) {
    close(look->fd);
    look->fd = fd;
    note_file(look);
}

int seep_image_look_fd(const struct seep_image_look *look) {
    return look->fd;
}

struct seep_profile *seep_image_look_profile(const struct seep_image_look *look) {
    return look->profile;
}

const struct seep_profile *seep_image_look_profile_before(const struct seep_image_look *look) {
    return look->profile_before;
}

uint32_t seep_image_look_nr_nodes(const struct seep_image_look *look) {
    return look->nr_nodes;
}

uint32_t seep_image_look_nr_sites(const struct seep_image_look *look) {
    return look->nr_sites;
}

uint32_t seep_image_look_nr_sites_before(const struct seep_image_look *look) {
    return look->nr_sites_before;
}

const struct seep_image_head *seep_image_look_head(const struct seep_image_look *look) {
    return &look->head;
}

uint64_t seep_image_look_changed(const struct seep_image_look *look) {
    return look->changed;
}

uint64_t seep_image_look_before(const struct seep_image_look *look) {
    return look->before;
}

// ---- reading the file ----

// Where something has cut the file, the missing bytes are zero.
struct seep_error *seep_image_look_read(const struct seep_image_look *look, uint64_t off, void *ret_bytes,
                                        size_t nr) {
    unsigned char *bytes = ret_bytes;
    while (nr) {
        ssize_t got = pread(look->fd, bytes, nr, (off_t)off);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return seep_error_system(errno, "process %d: cannot read the image", (int)look->pid);
        if (got == 0) {
            memset(bytes, 0, nr);
            return NULL;
        }
        bytes += got;
        off += (uint64_t)got;
        nr -= (size_t)got;
    }
    return NULL;
}

// How many bytes at the beginning of an area's used part are data, without a hole.
static uint64_t dense_bytes(const struct seep_image_look *look, const struct seep_image_area *area) {
    uint64_t used = area->used * area->element_bytes;
    off_t hole = used ? lseek(look->fd, (off_t)area->off, SEEK_HOLE) : -1;
    if (hole < 0)
        return used && (errno == EINVAL || errno == EOPNOTSUPP) ? used : 0;
    return SEEP_MIN((uint64_t)hole - area->off, used);
}

// A piece of an array, as its elements are in the file.
static struct seep_error *read_elements(const struct seep_image_look *look, enum seep_area_kind kind,
                                        uint64_t first, uint32_t nr, unsigned char *ret_bytes) {
    const struct seep_image_area *area = &look->head.header.areas[kind];
    return seep_image_look_read(look, area->off + first * area->element_bytes, ret_bytes,
                                (size_t)nr * area->element_bytes);
}

struct seep_error *seep_image_look_nodes(const struct seep_image_look *look, uint32_t first, uint32_t nr,
                                         struct seep_node *ret_nodes) {
    size_t element = look->head.header.areas[SEEP_AREA_NODES].element_bytes;
    struct seep_image_reader reader = {.profile = look->profile};
    unsigned char *bytes = malloc(SEEP_MIN(nr, PIECE) * element + 1);
    struct seep_error *error = bytes ? NULL : seep_error_no_memory();
    for (uint32_t done = 0; !error && done < nr;) {
        uint32_t piece = SEEP_MIN(nr - done, PIECE);
        error = read_elements(look, SEEP_AREA_NODES, first + done, piece, bytes);
        for (uint32_t i = 0; !error && i < piece; i++, done++) {
            struct seep_image_node from;
            seep_image_element_decode(&look->head, SEEP_AREA_NODES, bytes + i * element, &from);
            ret_nodes[done] = first + done ? seep_image_node_from(&reader, first + done, &from)
                                           : (struct seep_node){.kind = SEEP_NODE_FRAME};
        }
    }
    free(bytes);
    return error;
}

struct seep_error *seep_image_look_sites(const struct seep_image_look *look, uint32_t first, uint32_t nr,
                                         struct seep_look_site *ret_sites) {
    size_t element = look->head.header.areas[SEEP_AREA_SITES].element_bytes;
    unsigned char *bytes = malloc(SEEP_MIN(nr, PIECE) * element + 1);
    struct seep_error *error = bytes ? NULL : seep_error_no_memory();
    for (uint32_t done = 0; !error && done < nr;) {
        uint32_t piece = SEEP_MIN(nr - done, PIECE);
        error = read_elements(look, SEEP_AREA_SITES, first + done, piece, bytes);
        for (uint32_t i = 0; !error && i < piece; i++, done++) {
            struct seep_image_site from;
            struct seep_look_site *site = &ret_sites[done];
            seep_image_element_decode(&look->head, SEEP_AREA_SITES, bytes + i * element, &from);
            bool good = from.node < look->nr_nodes && from.via < SEEP_VIA_NR;
            *site = (struct seep_look_site){good ? from.node : 0, good ? from.via : SEEP_VIA_NONE};
            if (first + done == 0)
                site->node = 0;
        }
    }
    free(bytes);
    return error;
}

// ---- figures, packed ----

static const struct seep_figures no_figures; // of a site that is not there yet

static void put_figures(struct seep_put *put, const struct seep_figures *now,
                        const struct seep_figures *before) {
    uint64_t mask = 0;
    for (unsigned i = 0; i < SEEP_FIGURES; i++)
        mask |= (uint64_t)(now->values[i] != (before ? before->values[i] : 0)) << i;
    seep_put_leb(put, mask);
    for (unsigned i = 0; i < SEEP_FIGURES; i++)
        if (mask >> i & 1 && before)
            seep_put_zigzag(put, (int64_t)(now->values[i] - before->values[i]));
        else if (mask >> i & 1)
            seep_put_leb(put, now->values[i]);
}

// NULL: nothing.
static struct seep_take take_of(const unsigned char *bytes, size_t nr_bytes) {
    return bytes ? (struct seep_take){bytes, bytes + nr_bytes, false} : (struct seep_take){NULL};
}

static struct seep_figures take_figures(struct seep_take *take) {
    struct seep_figures figures = no_figures;
    uint64_t mask = seep_take_leb(take);
    for (unsigned i = 0; i < SEEP_FIGURES; i++)
        if (mask >> i & 1)
            figures.values[i] = seep_take_leb(take);
    return figures;
}

struct seep_figures seep_figures_read(const unsigned char *bytes, size_t nr_bytes) {
    struct seep_take take = {bytes, bytes + nr_bytes, false};
    return take_figures(&take);
}

static struct seep_figures figures_of(const struct seep_counters *c) {
    return (struct seep_figures){{c->allocations, c->allocated_bytes, c->frees, c->freed_bytes, c->temporary,
                                  c->peak_bytes, c->size_min, c->size_max}};
}

// ---- counters ----

struct work {
    struct seep_image_look *look;
    struct seep_image_reader reader;
    struct seep_page_claims claims; // of chunks, by group, then by thread
    struct seen *seen;              // as many
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

// In four lanes, so that one multiplication does not wait for another.
static uint64_t hash_counters(const struct seep_image_counters *counters, size_t nr) {
    uint64_t lanes[4] = {1, 2, 3, 4}, words[8];
    _Static_assert(sizeof(words) == sizeof(*counters), "all of it");
    for (size_t i = 0; i < nr; i++) {
        memcpy(words, &counters[i], sizeof(words));
        for (unsigned j = 0; j < 8; j++) {
            uint64_t mixed = (lanes[j % 4] ^ words[j]) * UINT64_C(0x9e3779b97f4a7c15);
            lanes[j % 4] = mixed ^ mixed >> 29;
        }
    }
    return seep_hash64(lanes[0] ^ seep_hash64(lanes[1] ^ seep_hash64(lanes[2] ^ seep_hash64(lanes[3]))));
}

static struct seep_error *read_chunk(const struct work *work, const struct seep_page_claim *claim,
                                     uint32_t nr_sites) {
    return seep_image_look_read(work->look, seep_image_page_off(work->reader.copy, claim->page),
                                work->counters, nr_sites * sizeof(*work->counters));
}

// What the take before saw of the same chunk; NULL: it did not see the chunk.
static const struct seen *seen_before(struct work *work, const struct seep_page_claim *claim) {
    const struct seep_image_look *look = work->look;
    while (work->nr_before < look->nr_seen) {
        const struct seen *seen = &look->seen[work->nr_before];
        if (seen->group > claim->index || (seen->group == claim->index && seen->thread >= claim->owner))
            return seen->group == claim->index && seen->thread == claim->owner && seen->page == claim->page
                       ? seen
                       : NULL;
        work->nr_before++;
    }
    return NULL;
}

static struct seep_error *add_thread_figures(struct thread_figures *threads, uint32_t site, uint32_t thread,
                                             const struct seep_counters *c) {
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
static struct seep_error *add_chunk(struct work *work, uint32_t base, uint32_t nr_sites, struct seen *seen) {
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

static void add_to_sums(struct sums *sums, uint32_t via, const struct seep_counters *c, bool calls_only) {
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
static struct seep_error *set_group(struct work *work, struct group *group, uint32_t nr_sites) {
    struct seep_image_look *look = work->look;
    bool calls_only = look->profile->health.flags & SEEP_FLAG_CALLS, fits = true, any = false;
    struct seep_take take = take_of(group->now, group->nr_now);
    uint32_t *changed = realloc(group->changed, GROUP * sizeof(*changed));
    if (!changed)
        return seep_error_no_memory();
    group->changed = changed;
    work->now.used = work->differences.used = 0;
    group->sums = (struct sums){0};
    for (uint32_t i = 0; i < nr_sites; i++) {
        struct seep_figures now = figures_of(&work->sums[i]);
        struct seep_figures before = i < group->nr_sites ? take_figures(&take) : no_figures;
        add_to_sums(&group->sums, work->sites[i].via, &work->sums[i], calls_only);
        put_figures(&work->now, &now, NULL);
        if (i < group->nr_sites && memcmp(&now, &before, sizeof(now)) == 0)
            continue;
        seep_put_leb(&work->differences, i);
        put_figures(&work->differences, &now, &before);
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

// Claims [first, last) are those of the group.
static struct seep_error *take_group(struct work *work, size_t which, size_t first, size_t last) {
    struct seep_image_look *look = work->look;
    struct group *group = &look->groups[which];
    uint32_t base = (uint32_t)which * GROUP, nr_sites = SEEP_MIN(look->nr_sites - base, GROUP);
    bool is_new = nr_sites != group->nr_sites || !look->threads.is_many;
    struct seep_error *error = NULL;
    for (size_t i = first; !error && i < last; i++) {
        const struct seep_page_claim *claim = &work->claims.items[i];
        const struct seen *before = seen_before(work, claim);
        error = read_chunk(work, claim, nr_sites);
        uint64_t hash = hash_counters(work->counters, nr_sites);
        is_new |= !before || before->hash != hash;
        work->seen[i] = before ? *before : (struct seen){0};
        work->seen[i].group = claim->index;
        work->seen[i].thread = claim->owner;
        work->seen[i].page = claim->page;
        work->seen[i].hash = hash;
    }
    if (error || !is_new) {
        free(group->differences);
        group->differences = NULL;
        group->nr_differences = 0;
        return error;
    }
    error = seep_image_look_sites(look, base, nr_sites, work->sites);
    for (uint32_t i = 0; i < nr_sites; i++)
        work->sums[i] = (struct seep_counters){.size_min = UINT64_MAX};
    for (size_t i = first; !error && i < last; i++) {
        if (last - first > 1) { // the bytes that are counted must be the bytes of the hash
            error = read_chunk(work, &work->claims.items[i], nr_sites);
            work->seen[i].hash = hash_counters(work->counters, nr_sites);
        }
        if (!error)
            error = add_chunk(work, base, nr_sites, &work->seen[i]);
    }
    return error ? error : set_group(work, group, nr_sites);
}

static struct seep_error *take_groups(struct work *work) {
    struct seep_image_look *look = work->look;
    size_t nr = ((size_t)look->nr_sites + GROUP - 1) / GROUP;
    work->dir = malloc(nr * sizeof(*work->dir));
    work->counters = malloc(COUNTER_BYTES);
    work->sums = malloc(GROUP * sizeof(*work->sums));
    work->sites = malloc(GROUP * sizeof(*work->sites));
    if (!work->dir || !work->counters || !work->sums || !work->sites ||
        !seep_grow(&look->groups, &look->groups_capacity, nr, sizeof(*look->groups)))
        return seep_error_no_memory();
    for (; look->nr_groups < nr; look->nr_groups++)
        look->groups[look->nr_groups] = (struct group){0};
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
        const struct sums *sums = &look->groups[i].sums;
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
        const struct seen *seen = &work->seen[i];
        struct seep_thread *thread = &profile->threads[seen->thread];
        seep_add_up(&thread->allocations, seen->allocations);
        seep_add_up(&thread->allocated_bytes, seen->allocated_bytes);
        seep_add_up(&thread->frees, seen->frees);
        seep_add_up(&thread->freed_bytes, seen->freed_bytes);
    }
}

// ---- a look ----

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

static struct seep_error *take_counters(struct seep_image_look *look, const struct seep_image_copy *copy) {
    struct work work = {.look = look, .reader = {.copy = copy, .profile = look->profile}};
    struct thread_figures before = look->threads_before;
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

// Reads the profile without totals. Sites that are made from now on belong to the next look.
static struct seep_error *read_small(struct seep_image_look *look, const struct seep_image_copy *copy,
                                     struct seep_image_reader *reader) {
    struct seep_error *error = seep_profile_create(&reader->profile);
    if (!error)
        error = seep_image_read_small(reader);
    if (error) {
        seep_profile_destroy(reader->profile);
        return error;
    }
    const struct seep_image_area *areas = copy->head.header.areas;
    uint32_t nr_nodes =
        seep_image_nr_elements(reader, SEEP_AREA_NODES, dense_bytes(look, &areas[SEEP_AREA_NODES]));
    uint32_t nr_sites =
        seep_image_nr_elements(reader, SEEP_AREA_SITES, dense_bytes(look, &areas[SEEP_AREA_SITES]));
    seep_profile_destroy(look->profile_before);
    look->profile_before = look->profile;
    look->profile = reader->profile;
    look->head = copy->head;
    // Their numbers never fall, even if something cuts the file.
    look->nr_nodes = SEEP_MAX(SEEP_MAX(nr_nodes, 1u), look->nr_nodes);
    look->nr_sites_before = look->nr_sites;
    look->nr_sites = SEEP_MAX(SEEP_MAX(nr_sites, 1u), look->nr_sites);
    look->profile->process.pid = (uint32_t)look->pid;
    return NULL;
}

struct seep_error *seep_image_look_take(struct seep_image_look *look, uint64_t epoch) {
    char name[64];
    snprintf(name, sizeof(name), "image of process %d", (int)look->pid);
    struct seep_image_copy *copy = NULL;
    struct seep_error *error = seep_image_copy_small_from_fd(look->fd, name, &copy);
    if (error)
        return error;
    struct seep_image_reader reader = {.copy = copy};
    error = read_small(look, copy, &reader);
    if (!error) {
        struct seep_totals *totals = &look->profile->totals;
        uint64_t inherited_blocks = totals->inherited_blocks, inherited_bytes = totals->inherited_bytes;
        seep_profile_derive(look->profile); // of no sites
        totals->inherited_blocks = inherited_blocks;
        totals->inherited_bytes = inherited_bytes;
        look->before = look->epoch;
        look->epoch = epoch;
        error = take_counters(look, copy);
    }
    if (!error) {
        seep_profile_derive_health(look->profile);
        seep_image_set_totals(&reader);
        error = seep_image_add_notes(&reader);
    }
    seep_image_copy_destroy(copy);
    return error;
}

// ---- what changed ----

static const unsigned char *skip_figures(struct seep_take *take, size_t *ret_nr) {
    const unsigned char *bytes = take->at;
    uint64_t mask = seep_take_leb(take);
    for (unsigned i = 0; i < SEEP_FIGURES; i++)
        if (mask >> i & 1)
            seep_take_leb(take);
    *ret_nr = (size_t)(take->at - bytes);
    return bytes;
}

static struct seep_error *each_difference(const struct group *group, uint32_t base, seep_figures_visit *visit,
                                          void *data) {
    struct seep_take take = take_of(group->differences, group->nr_differences);
    struct seep_error *error = NULL;
    while (!error && take.at < take.end) {
        size_t nr;
        uint32_t site = base + (uint32_t)seep_take_leb(&take);
        const unsigned char *bytes = skip_figures(&take, &nr);
        if (site)
            error = visit(data, site, bytes, nr);
    }
    return error;
}

static struct seep_error *each_figures(const struct group *group, uint32_t base, uint64_t since,
                                       seep_figures_visit *visit, void *data) {
    struct seep_take take = take_of(group->now, group->nr_now);
    struct seep_error *error = NULL;
    for (uint32_t i = 0; !error && i < group->nr_sites; i++) {
        size_t nr;
        const unsigned char *bytes = skip_figures(&take, &nr);
        // Lower halves of epochs can be compared, because epochs are less than 2^31 apart.
        bool changed = since == 0 || (int32_t)(group->changed[i] - (uint32_t)since) > 0;
        if (base + i && changed)
            error = visit(data, base + i, bytes, nr);
    }
    return error;
}

struct seep_error *seep_image_look_each(const struct seep_image_look *look, uint64_t since, bool differences,
                                        seep_figures_visit *visit, void *data) {
    struct seep_error *error = NULL;
    for (size_t i = 0; !error && i < look->nr_groups; i++) {
        const struct group *group = &look->groups[i];
        if (group->epoch <= since)
            continue;
        error = differences ? each_difference(group, (uint32_t)i * GROUP, visit, data)
                            : each_figures(group, (uint32_t)i * GROUP, since, visit, data);
    }
    return error;
}

const struct seep_thread_figures *seep_image_look_threads(const struct seep_image_look *look, bool before,
                                                          size_t *ret_nr) {
    const struct thread_figures *threads = before ? &look->threads_before : &look->threads;
    *ret_nr = threads->nr;
    return threads->is_many ? NULL : threads->items;
}

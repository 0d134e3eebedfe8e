// SPDX-License-Identifier: BSD-2-Clause
//
// The server's answer to a Pull. A client that had the look before gets differences. A client with an older
// look gets the figures that changed since. A client with nothing gets all. Modules, nodes and sites are only
// added, so the client's counts say which of them it lacks. The server keeps no state of a client.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/search.h"
#include "wire/wire.h"

#define CHUNK_BYTES (200u << 10) // of a payload: then comes another frame
#define PLAIN_BYTES (8u << 10)   // of an unpacked frame: the server has a frame for each client
#define PIECE       512u         // nodes or sites that are read at once

// When the frame Process of one process changed last. The time in that frame does not count.
struct life_deltas {
    uint64_t pid;
    uint64_t start;
    uint64_t told_hash;
    uint64_t process_changed; // the epoch in which it changed last
    bool there;
};

struct seep_deltas {
    uint64_t server; // a number by chance: epochs of another server are none of ours
    uint64_t epoch;
    struct life_deltas *lives;
    size_t nr_lives;
    size_t capacity;
};

struct seep_error *seep_deltas_create(struct seep_deltas **ret_deltas) {
    struct seep_deltas *deltas = calloc(1, sizeof(*deltas));
    if (!deltas)
        return seep_error_no_memory();
    if (getrandom(&deltas->server, sizeof(deltas->server), 0) != (ssize_t)sizeof(deltas->server)) {
        struct seep_error *error = seep_error_system(errno, "no random number for a server");
        free(deltas);
        return error;
    }
    deltas->server |= 1;
    *ret_deltas = deltas;
    return NULL;
}

void seep_deltas_destroy(struct seep_deltas *deltas) {
    if (!deltas)
        return;
    free(deltas->lives);
    free(deltas);
}

// ---- what is told of a process ----

static void put_threads(struct seep_put *put, const struct seep_profile *profile) {
    uint32_t nr = SEEP_MIN(profile->nr_threads, 4096u);
    seep_put_leb(put, nr);
    for (uint32_t i = 0; i < nr; i++) {
        const struct seep_thread *thread = &profile->threads[i];
        seep_put_leb(put, thread->tid);
        seep_put_leb(put, thread->nr_owners);
        seep_put_text(put, thread->name);
        seep_put_leb(put, thread->allocations);
        seep_put_leb(put, thread->allocated_bytes);
        seep_put_leb(put, thread->frees);
        seep_put_leb(put, thread->freed_bytes);
    }
}

static void put_told(struct seep_put *put, const struct seep_profile *profile) {
    const struct seep_process *process = &profile->process;
    const struct seep_totals *totals = &profile->totals;
    const struct seep_health *health = &profile->health;
    seep_put_leb(put, process->ppid);
    seep_put_leb(put, process->forked_from);
    seep_put_leb(put, process->exit_kind);
    seep_put_zigzag(put, process->exit_value);
    seep_put_leb(put, process->is_main);
    seep_put_leb(put, process->platform.machine);
    seep_put_leb(put, process->platform.word_bytes);
    seep_put_leb(put, process->platform.big_endian);
    seep_put_text(put, process->exe);
    uint32_t nr_args = SEEP_MIN(process->nr_args, 64u);
    seep_put_leb(put, nr_args);
    seep_put_leb(put, process->nr_args_all);
    for (uint32_t i = 0; i < nr_args; i++) {
        char text[1024];
        snprintf(text, sizeof(text), "%s", process->args[i]);
        seep_put_text(put, text);
    }
    seep_put_leb(put, totals->peak_bytes);
    seep_put_leb(put, totals->peak_exact);
    seep_put_leb(put, totals->peak_error_bytes);
    seep_put_leb(put, totals->failed);
    seep_put_leb(put, totals->unknown_frees);
    seep_put_leb(put, totals->inherited_blocks);
    seep_put_leb(put, totals->inherited_bytes);
    seep_put_list(put, totals->releases, SEEP_RELEASE_NR);
    seep_put_list(put, totals->size_class, SEEP_IMAGE_SIZE_CLASSES);
    seep_put_leb(put, health->state);
    seep_put_leb(put, health->passive_reason);
    seep_put_leb(put, health->flags);
    seep_put_leb(put, health->depth_limit);
    seep_put_leb(put, health->sample_bytes);
    seep_put_text(put, health->preempted_by);
    seep_put_list(put, health->lost, SEEP_LOST_NR);
    seep_put_list(put, health->cut, SEEP_CUT_NR);
    size_t nr_notes = SEEP_MIN(health->nr_notes, (size_t)64);
    seep_put_leb(put, nr_notes);
    for (size_t i = 0; i < nr_notes; i++) {
        seep_put_leb(put, health->notes[i].code);
        seep_put_text(put, health->notes[i].text);
    }
    put_threads(put, profile);
}

// ---- a new look ----

// `index`: of the process in the look.
static struct life_deltas *life_of(const struct seep_deltas *deltas, size_t index,
                                   const struct seep_profile *profile) {
    for (size_t i = 0; i < deltas->nr_lives; i++) {
        struct life_deltas *life = &deltas->lives[seep_index_from(index, i, deltas->nr_lives)];
        if (life->pid == profile->process.pid && life->start == (uint64_t)profile->process.start_realtime_ns)
            return life;
    }
    return NULL;
}

uint64_t seep_deltas_epoch(const struct seep_deltas *deltas) {
    return deltas->epoch;
}

uint64_t seep_deltas_next(struct seep_deltas *deltas) {
    return ++deltas->epoch;
}

static struct seep_error *take_profile(struct seep_deltas *deltas, size_t index,
                                       const struct seep_profile *profile) {
    struct life_deltas *life = life_of(deltas, index, profile);
    if (!life) {
        if (!seep_grow(&deltas->lives, &deltas->capacity, deltas->nr_lives + 1, sizeof(*deltas->lives)))
            return seep_error_no_memory();
        life = &deltas->lives[deltas->nr_lives++];
        *life = (struct life_deltas){.pid = profile->process.pid,
                                     .start = (uint64_t)profile->process.start_realtime_ns};
    }
    life->there = true;
    struct seep_put told = {NULL};
    put_told(&told, profile);
    uint64_t hash = told.failed ? 0 : seep_hash_bytes(told.bytes, told.used);
    seep_put_deinit(&told);
    if (hash != life->told_hash || !life->process_changed)
        life->process_changed = deltas->epoch;
    life->told_hash = hash;
    return NULL;
}

struct seep_error *seep_deltas_take(struct seep_deltas *deltas, struct seep_image_look *const *images,
                                    size_t nr_images) {
    for (size_t i = 0; i < deltas->nr_lives; i++)
        deltas->lives[i].there = false;
    struct seep_error *error = NULL;
    for (size_t i = 0; !error && i < nr_images; i++)
        error = take_profile(deltas, i, seep_image_look_profile(images[i]));
    size_t nr = 0;
    for (size_t i = 0; i < deltas->nr_lives; i++)
        if (deltas->lives[i].there)
            deltas->lives[nr++] = deltas->lives[i];
    deltas->nr_lives = nr;
    return error;
}

// ---- an answer ----

struct answer {
    struct seep_put *out;
    uint16_t stream;
    uint64_t takes; // SEEP_WIRE_TAKES_*
    struct seep_put payload;
};

static uint32_t chunk_bytes(const struct answer *answer) {
    return answer->takes & SEEP_WIRE_TAKES_ZSTD ? CHUNK_BYTES : PLAIN_BYTES;
}

static struct seep_error *send(struct answer *answer, enum seep_wire_type type) {
    struct seep_error *error = seep_wire_put(answer->out, type, answer->stream, &answer->payload,
                                             answer->takes & SEEP_WIRE_TAKES_ZSTD);
    answer->payload.used = 0;
    return error;
}

static struct seep_error *put_look(struct answer *answer, const struct seep_deltas *deltas,
                                   const struct seep_wire_look *look, size_t nr_processes) {
    struct seep_put *put = &answer->payload;
    seep_put_leb(put, deltas->server);
    seep_put_leb(put, deltas->epoch);
    seep_put_leb(put, look->ended);
    seep_put_leb(put, look->rss_bytes);
    seep_put_leb(put, look->used_bytes);
    seep_put_leb(put, look->limit_bytes);
    seep_put_text(put, look->limit);
    seep_put_leb(put, look->nr_threads);
    seep_put_leb(put, look->nr_unseen);
    seep_put_leb(put, nr_processes);
    return send(answer, SEEP_WIRE_LOOK);
}

// Where a list is sent: the process, the first id, and then as many as there are in the frame.
static void begin_list(struct answer *answer, size_t process, uint64_t first) {
    seep_put_leb(&answer->payload, process);
    seep_put_leb(&answer->payload, first);
}

static struct seep_error *put_modules(struct answer *answer, size_t process,
                                      const struct seep_profile *profile, uint64_t first) {
    struct seep_error *error = NULL;
    for (uint64_t i = first; !error && i < profile->nr_modules;) {
        begin_list(answer, process, i);
        for (; i < profile->nr_modules && answer->payload.used < chunk_bytes(answer); i++) {
            const struct seep_module *module = &profile->modules[i];
            seep_put_text(&answer->payload, module->path ? module->path : "");
            seep_put_leb(&answer->payload, module->bias_rt);
            seep_put_leb(&answer->payload, module->start_rt);
            seep_put_leb(&answer->payload, module->end_rt);
            seep_put_zigzag(&answer->payload, module->first_seen_ns);
            seep_put_zigzag(&answer->payload, module->unloaded_ns);
            seep_put_leb(&answer->payload, module->build_id_bytes);
            seep_put_bytes(&answer->payload, module->build_id, module->build_id_bytes);
        }
        error = send(answer, SEEP_WIRE_MODULES);
    }
    return error;
}

static struct seep_error *put_nodes(struct answer *answer, size_t process,
                                    const struct seep_image_look *image, uint32_t first) {
    struct seep_node nodes[PIECE];
    struct seep_error *error = NULL;
    uint32_t nr = seep_image_look_nr_nodes(image);
    for (uint32_t i = first; !error && i < nr;) {
        uint64_t last = 0; // offsets lie near one another: each is told from the one before, in a frame
        begin_list(answer, process, i);
        while (!error && i < nr && answer->payload.used < chunk_bytes(answer)) {
            uint32_t piece = SEEP_MIN(nr - i, PIECE);
            error = seep_image_look_nodes(image, i, piece, nodes);
            for (uint32_t k = 0; !error && k < piece; k++, i++) {
                const struct seep_node *node = &nodes[k];
                seep_put_leb(&answer->payload, i - node->parent);
                seep_put_leb(&answer->payload,
                             (uint64_t)node->module << 2 | (node->exact ? 1 : 0) | (node->kind ? 2 : 0));
                seep_put_zigzag(&answer->payload, (int64_t)(node->offset - last));
                last = node->offset;
            }
        }
        if (!error)
            error = send(answer, SEEP_WIRE_NODES);
    }
    return error;
}

static struct seep_error *put_sites(struct answer *answer, size_t process,
                                    const struct seep_image_look *image, uint32_t first) {
    struct seep_look_site sites[PIECE];
    struct seep_error *error = NULL;
    uint32_t nr = seep_image_look_nr_sites(image);
    for (uint32_t i = first; !error && i < nr;) {
        uint64_t last = 0;
        begin_list(answer, process, i);
        while (!error && i < nr && answer->payload.used < chunk_bytes(answer)) {
            uint32_t piece = SEEP_MIN(nr - i, PIECE);
            error = seep_image_look_sites(image, i, piece, sites);
            for (uint32_t k = 0; !error && k < piece; k++, i++) {
                seep_put_zigzag(&answer->payload, (int64_t)(sites[k].node - last));
                seep_put_leb(&answer->payload, sites[k].via);
                last = sites[k].node;
            }
        }
        if (!error)
            error = send(answer, SEEP_WIRE_SITES);
    }
    return error;
}

struct counters {
    struct answer *answer;
    size_t process;
    bool differences;
    uint32_t last; // site in this frame; 0: none
};

// Puts the gap to the site, and its figures as the image has them.
static struct seep_error *put_figures(void *data, uint32_t site, const unsigned char *bytes,
                                      size_t nr_bytes) {
    struct counters *counters = data;
    struct seep_put *payload = &counters->answer->payload;
    if (!counters->last)
        begin_list(counters->answer, counters->process, counters->differences);
    seep_put_leb(payload, site - counters->last);
    seep_put_bytes(payload, bytes, nr_bytes);
    counters->last = site;
    if (payload->used < chunk_bytes(counters->answer))
        return NULL;
    counters->last = 0;
    return send(counters->answer, SEEP_WIRE_COUNTERS);
}

static struct seep_error *put_counters(struct answer *answer, size_t process,
                                       const struct seep_image_look *image, uint64_t since,
                                       bool differences) {
    struct counters counters = {.answer = answer, .process = process, .differences = differences};
    struct seep_error *error = seep_image_look_each(image, since, differences, put_figures, &counters);
    return error || !counters.last ? error : send(answer, SEEP_WIRE_COUNTERS);
}

static struct seep_error *put_all_threads(struct answer *answer, const struct seep_thread_figures *items,
                                          size_t nr) {
    uint64_t last = 0;
    for (size_t i = 0; i < nr; i++) {
        seep_put_leb(&answer->payload, items[i].site - last);
        seep_put_leb(&answer->payload, items[i].thread);
        for (unsigned k = 0; k < SEEP_FIGURES_OF_THREAD; k++)
            seep_put_leb(&answer->payload, items[i].values[k]);
        last = items[i].site;
    }
    return send(answer, SEEP_WIRE_THREAD_SITES);
}

static bool is_same_item(const struct seep_thread_figures *a, const struct seep_thread_figures *b) {
    return a->site == b->site && a->thread == b->thread;
}

// The difference of an item to the same item of `before`; *at is the place in `before`, and moves on.
static struct seep_thread_figures difference_of(const struct seep_thread_figures *item,
                                                const struct seep_thread_figures *before, size_t nr_before,
                                                size_t *at) {
    struct seep_thread_figures difference = *item;
    if (*at < nr_before && is_same_item(item, &before[*at])) {
        for (unsigned k = 0; k < SEEP_FIGURES_OF_THREAD; k++)
            difference.values[k] -= before[*at].values[k];
        ++*at;
    }
    return difference;
}

// Puts the differences of one site that are not zero. Where only one thread has a difference, a flag stands
// for it, because the site's Counters have the same figures.
static void put_site_of_threads(struct seep_put *put, const struct seep_thread_figures *items, size_t nr,
                                uint32_t *last) {
    static const struct seep_thread_figures none;
    size_t nr_changed = 0;
    for (size_t i = 0; i < nr; i++)
        nr_changed += memcmp(items[i].values, none.values, sizeof(none.values)) != 0;
    for (size_t i = 0; i < nr; i++) {
        uint64_t mask = 0;
        for (unsigned k = 0; k < SEEP_FIGURES_OF_THREAD; k++)
            mask |= (uint64_t)(items[i].values[k] != 0) << k;
        if (!mask)
            continue;
        seep_put_leb(put, items[i].site - *last);
        seep_put_leb(put, (uint64_t)items[i].thread << 1 | (nr_changed == 1));
        *last = items[i].site;
        if (nr_changed == 1)
            continue;
        seep_put_leb(put, mask);
        for (unsigned k = 0; k < SEEP_FIGURES_OF_THREAD; k++)
            if (mask >> k & 1)
                seep_put_zigzag(put, (int64_t)items[i].values[k]);
    }
}

static struct seep_error *put_thread_changes(struct answer *answer, const struct seep_thread_figures *items,
                                             size_t nr, const struct seep_thread_figures *before,
                                             size_t nr_before) {
    struct seep_thread_figures *of_site = malloc((nr + 1) * sizeof(*of_site));
    uint32_t last = 0;
    size_t at = 0;
    if (!of_site)
        return seep_error_no_memory();
    for (size_t i = 0; i < nr;) {
        size_t nr_of_site = 0;
        for (uint32_t site = items[i].site; i < nr && items[i].site == site; i++)
            of_site[nr_of_site++] = difference_of(&items[i], before, nr_before, &at);
        put_site_of_threads(&answer->payload, of_site, nr_of_site, &last);
    }
    free(of_site);
    return send(answer, SEEP_WIRE_THREAD_SITES);
}

// Whether `items` has every item of `before`. It lacks some where something has cut the file.
static bool has_all(const struct seep_thread_figures *items, size_t nr,
                    const struct seep_thread_figures *before, size_t nr_before) {
    size_t at = 0;
    for (size_t i = 0; i < nr && at < nr_before; i++)
        at += is_same_item(&items[i], &before[at]);
    return at == nr_before;
}

// Only where there are at most SEEP_THREAD_FIGURES_MOST.
static struct seep_error *put_thread_sites(struct answer *answer, size_t process,
                                           const struct seep_image_look *image, bool differences) {
    size_t nr, nr_before;
    const struct seep_thread_figures *items = seep_image_look_threads(image, false, &nr);
    const struct seep_thread_figures *before = seep_image_look_threads(image, true, &nr_before);
    bool changes = answer->takes & SEEP_WIRE_TAKES_CHANGES;
    if (!items || !nr)
        return NULL;
    if (changes && seep_image_look_profile(image)->nr_threads == 1) {
        begin_list(answer, process, SEEP_WIRE_THREADS_ONE);
        return send(answer, SEEP_WIRE_THREAD_SITES);
    }
    // While there was one thread, the client got SEEP_WIRE_THREADS_ONE, and has no items.
    bool were_told = before && nr_before && seep_image_look_profile_before(image)->nr_threads > 1;
    if (changes && differences && were_told && has_all(items, nr, before, nr_before)) {
        begin_list(answer, process, SEEP_WIRE_THREADS_CHANGED);
        return put_thread_changes(answer, items, nr, before, nr_before);
    }
    begin_list(answer, process, SEEP_WIRE_THREADS_ALL);
    return put_all_threads(answer, items, nr);
}

static const struct seep_wire_have *have_of(const struct seep_deltas *deltas,
                                            const struct seep_wire_pull *pull, size_t index,
                                            const struct seep_image_look *image) {
    const struct seep_profile *profile = seep_image_look_profile(image);
    if (pull->server != deltas->server || pull->epoch > deltas->epoch)
        return NULL;
    for (uint32_t i = 0; i < pull->nr_have; i++) {
        const struct seep_wire_have *have = &pull->have[seep_index_from(index, i, pull->nr_have)];
        if (have->pid == profile->process.pid &&
            have->start == (uint64_t)profile->process.start_realtime_ns &&
            have->nr_modules <= profile->nr_modules && have->nr_nodes <= seep_image_look_nr_nodes(image) &&
            have->nr_sites <= seep_image_look_nr_sites(image))
            return have;
    }
    return NULL;
}

static struct seep_error *put_process(struct answer *answer, const struct seep_deltas *deltas, size_t index,
                                      const struct seep_profile *profile, const struct seep_wire_have *have,
                                      uint64_t since) {
    const struct life_deltas *life = life_of(deltas, index, profile);
    bool all = !have || !life || life->process_changed > since;
    seep_put_leb(&answer->payload, index);
    seep_put_leb(&answer->payload, profile->process.pid);
    seep_put_leb(&answer->payload, (uint64_t)profile->process.start_realtime_ns);
    seep_put_zigzag(&answer->payload, profile->process.duration_ns);
    seep_put_leb(&answer->payload, have == NULL);
    seep_put_leb(&answer->payload, all);
    if (all)
        put_told(&answer->payload, profile);
    return send(answer, SEEP_WIRE_PROCESS);
}

static struct seep_error *put_rest(struct answer *answer, size_t index, const struct seep_image_look *image,
                                   const struct seep_wire_have *have, uint64_t since) {
    struct seep_error *error =
        put_modules(answer, index, seep_image_look_profile(image), have ? have->nr_modules : 0);
    if (!error)
        error = put_nodes(answer, index, image, have ? (uint32_t)have->nr_nodes : 0);
    if (!error)
        error = put_sites(answer, index, image, have ? (uint32_t)have->nr_sites : 0);
    // A difference of a site that the client lacks is a difference to zero.
    bool differences = have && since >= seep_image_look_before(image) &&
                       have->nr_sites == seep_image_look_nr_sites_before(image);
    if (!error)
        error = put_counters(answer, index, image, have ? since : 0, differences);
    if (!error && (!have || seep_image_look_changed(image) > since))
        error = put_thread_sites(answer, index, image, differences);
    return error;
}

struct seep_error *seep_deltas_answer(const struct seep_deltas *deltas, struct seep_image_look *const *images,
                                      size_t nr_images, const struct seep_wire_look *look,
                                      const struct seep_wire_pull *pull, uint16_t stream, uint64_t takes,
                                      struct seep_put *out) {
    struct answer answer = {.out = out, .stream = stream, .takes = takes};
    struct seep_error *error = put_look(&answer, deltas, look, nr_images);
    // The processes first: their totals are there before all that may be long.
    for (size_t i = 0; !error && i < nr_images; i++)
        error = put_process(&answer, deltas, i, seep_image_look_profile(images[i]),
                            have_of(deltas, pull, i, images[i]), pull->epoch);
    for (size_t i = 0; !error && i < nr_images; i++)
        error = put_rest(&answer, i, images[i], have_of(deltas, pull, i, images[i]), pull->epoch);
    seep_put_leb(&answer.payload, deltas->epoch);
    if (!error)
        error = send(&answer, SEEP_WIRE_END);
    seep_put_deinit(&answer.payload);
    return error;
}

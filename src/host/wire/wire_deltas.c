// SPDX-License-Identifier: BSD-2-Clause
//
// What changed when, for a server: of each site the epoch in which it changed last, and its figures now and
// in the epoch before. A client that had the epoch before gets differences; one that had an older epoch gets
// the figures of what changed since; one that had nothing gets all. The client's counts say what else it
// lacks, for modules, nodes and sites only ever come. The server keeps nothing of a client.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "wire/wire.h"

#define CHUNK_BYTES       (200u << 10) // of a payload: then comes another frame
#define THREAD_SITES_MOST 5000u
#define FIGURES           8u

struct figures {
    uint64_t values[FIGURES]; // allocations, bytes, frees, bytes, temporary, peak, least size, most size
};

struct life_deltas {
    uint64_t pid;
    uint64_t start;
    struct figures *now;
    struct figures *before;
    uint64_t *changed; // epochs
    uint32_t nr_sites;
    size_t now_capacity, before_capacity, changed_capacity;
    uint64_t any_changed;     // the last of them
    uint64_t told_hash;       // of what is told of the process beside its time
    uint64_t process_changed; // the epoch in which that changed
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

static void life_deinit(struct life_deltas *life) {
    free(life->now);
    free(life->before);
    free(life->changed);
}

void seep_deltas_destroy(struct seep_deltas *deltas) {
    if (!deltas)
        return;
    for (size_t i = 0; i < deltas->nr_lives; i++)
        life_deinit(&deltas->lives[i]);
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

static struct life_deltas *life_of(const struct seep_deltas *deltas, const struct seep_profile *profile) {
    for (size_t i = 0; i < deltas->nr_lives; i++)
        if (deltas->lives[i].pid == profile->process.pid &&
            deltas->lives[i].start == (uint64_t)profile->process.start_realtime_ns)
            return &deltas->lives[i];
    return NULL;
}

static struct figures figures_of(const struct seep_site *site) {
    const struct seep_counters *c = &site->counters;
    return (struct figures){{c->allocations, c->allocated_bytes, c->frees, c->freed_bytes, c->temporary,
                             c->peak_bytes, c->size_min, c->size_max}};
}

static struct seep_error *take_profile(struct seep_deltas *deltas, const struct seep_profile *profile) {
    struct life_deltas *life = life_of(deltas, profile);
    if (!life) {
        if (!seep_grow(&deltas->lives, &deltas->capacity, deltas->nr_lives + 1, sizeof(*deltas->lives)))
            return seep_error_no_memory();
        life = &deltas->lives[deltas->nr_lives++];
        *life = (struct life_deltas){.pid = profile->process.pid,
                                     .start = (uint64_t)profile->process.start_realtime_ns};
    }
    life->there = true;
    uint32_t nr = profile->nr_sites, old = life->nr_sites;
    if (!seep_grow(&life->now, &life->now_capacity, SEEP_MAX(nr, 1u), sizeof(*life->now)) ||
        !seep_grow(&life->before, &life->before_capacity, SEEP_MAX(nr, 1u), sizeof(*life->before)) ||
        !seep_grow(&life->changed, &life->changed_capacity, SEEP_MAX(nr, 1u), sizeof(*life->changed)))
        return seep_error_no_memory();
    for (uint32_t i = 0; i < nr; i++) {
        struct figures now = figures_of(&profile->sites[i]);
        bool is_new = i >= old;
        life->before[i] = is_new ? now : life->now[i];
        if (is_new || memcmp(&now, &life->now[i], sizeof(now)) != 0)
            life->changed[i] = life->any_changed = deltas->epoch;
        life->now[i] = now;
    }
    life->nr_sites = SEEP_MAX(nr, old);
    struct seep_put told = {NULL};
    put_told(&told, profile);
    uint64_t hash = told.failed ? 0 : seep_hash_bytes(told.bytes, told.used);
    seep_put_deinit(&told);
    if (hash != life->told_hash || !life->process_changed)
        life->process_changed = deltas->epoch;
    life->told_hash = hash;
    return NULL;
}

struct seep_error *seep_deltas_take(struct seep_deltas *deltas, const struct seep_session *session) {
    deltas->epoch++;
    for (size_t i = 0; i < deltas->nr_lives; i++)
        deltas->lives[i].there = false;
    struct seep_error *error = NULL;
    for (size_t i = 0; !error && i < session->nr_profiles; i++)
        error = take_profile(deltas, session->profiles[i]);
    size_t nr = 0;
    for (size_t i = 0; i < deltas->nr_lives; i++) {
        if (deltas->lives[i].there)
            deltas->lives[nr++] = deltas->lives[i];
        else
            life_deinit(&deltas->lives[i]);
    }
    deltas->nr_lives = nr;
    return error;
}

// ---- an answer ----

struct answer {
    struct seep_put *out;
    uint16_t stream;
    bool packed;
    struct seep_put payload;
};

static struct seep_error *send(struct answer *answer, enum seep_wire_type type) {
    struct seep_error *error =
        seep_wire_put(answer->out, type, answer->stream, &answer->payload, answer->packed);
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
    seep_put_leb(put, look->nr_untraced);
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
        for (; i < profile->nr_modules && answer->payload.used < CHUNK_BYTES; i++) {
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

static struct seep_error *put_nodes(struct answer *answer, size_t process, const struct seep_profile *profile,
                                    uint64_t first) {
    struct seep_error *error = NULL;
    for (uint64_t i = first; !error && i < profile->nr_nodes;) {
        uint64_t last = 0; // offsets lie near one another: each is told from the one before, in a frame
        begin_list(answer, process, i);
        for (; i < profile->nr_nodes && answer->payload.used < CHUNK_BYTES; i++) {
            const struct seep_node *node = &profile->nodes[i];
            seep_put_leb(&answer->payload, i - node->parent);
            seep_put_leb(&answer->payload,
                         (uint64_t)node->module << 2 | (node->exact ? 1 : 0) | (node->kind ? 2 : 0));
            seep_put_zigzag(&answer->payload, (int64_t)(node->offset - last));
            last = node->offset;
        }
        error = send(answer, SEEP_WIRE_NODES);
    }
    return error;
}

static struct seep_error *put_sites(struct answer *answer, size_t process, const struct seep_profile *profile,
                                    uint64_t first) {
    struct seep_error *error = NULL;
    for (uint64_t i = first; !error && i < profile->nr_sites;) {
        uint64_t last = 0;
        begin_list(answer, process, i);
        for (; i < profile->nr_sites && answer->payload.used < CHUNK_BYTES; i++) {
            seep_put_zigzag(&answer->payload, (int64_t)(profile->sites[i].node - last));
            seep_put_leb(&answer->payload, profile->sites[i].via);
            last = profile->sites[i].node;
        }
        error = send(answer, SEEP_WIRE_SITES);
    }
    return error;
}

// A gap to the site, a bit for each figure that is told, and these: differences, or what it is now.
static void put_figures(struct seep_put *put, uint64_t gap, const struct figures *now,
                        const struct figures *before) {
    uint64_t mask = 0;
    for (unsigned i = 0; i < FIGURES; i++)
        if (now->values[i] != (before ? before->values[i] : 0))
            mask |= UINT64_C(1) << i;
    seep_put_leb(put, gap);
    seep_put_leb(put, mask);
    for (unsigned i = 0; i < FIGURES; i++) {
        if (!(mask >> i & 1))
            continue;
        if (before)
            seep_put_zigzag(put, (int64_t)(now->values[i] - before->values[i]));
        else
            seep_put_leb(put, now->values[i]);
    }
}

static struct seep_error *put_counters(struct answer *answer, size_t process, const struct life_deltas *life,
                                       uint32_t nr_sites, uint64_t since, bool differences) {
    struct seep_error *error = NULL;
    for (uint32_t i = 1; !error && i < nr_sites;) {
        uint64_t last = 0, nr = 0;
        begin_list(answer, process, differences);
        for (; i < nr_sites && answer->payload.used < CHUNK_BYTES; i++) {
            if (life->changed[i] <= since)
                continue;
            put_figures(&answer->payload, i - last, &life->now[i], differences ? &life->before[i] : NULL);
            last = i;
            nr++;
        }
        if (!nr)
            answer->payload.used = 0;
        else
            error = send(answer, SEEP_WIRE_COUNTERS);
    }
    return error;
}

// Where they are few all of them, each time that anything changed.
static struct seep_error *put_thread_sites(struct answer *answer, size_t process,
                                           const struct seep_profile *profile) {
    uint64_t last = 0;
    if (!profile->nr_thread_sites || profile->nr_thread_sites > THREAD_SITES_MOST)
        return NULL;
    begin_list(answer, process, 0);
    for (size_t i = 0; i < profile->nr_thread_sites; i++) {
        const struct seep_thread_site *site = &profile->thread_sites[i];
        seep_put_leb(&answer->payload, site->site - last);
        seep_put_leb(&answer->payload, site->thread);
        seep_put_leb(&answer->payload, site->counters.allocations);
        seep_put_leb(&answer->payload, site->counters.allocated_bytes);
        seep_put_leb(&answer->payload, site->counters.frees);
        seep_put_leb(&answer->payload, site->counters.freed_bytes);
        seep_put_leb(&answer->payload, site->counters.temporary);
        last = site->site;
    }
    return send(answer, SEEP_WIRE_THREAD_SITES);
}

static const struct seep_wire_have *have_of(const struct seep_deltas *deltas,
                                            const struct seep_wire_pull *pull,
                                            const struct seep_profile *profile) {
    if (pull->server != deltas->server || pull->epoch > deltas->epoch)
        return NULL;
    for (uint32_t i = 0; i < pull->nr_have; i++) {
        const struct seep_wire_have *have = &pull->have[i];
        if (have->pid == profile->process.pid &&
            have->start == (uint64_t)profile->process.start_realtime_ns &&
            have->nr_modules <= profile->nr_modules && have->nr_nodes <= profile->nr_nodes &&
            have->nr_sites <= profile->nr_sites)
            return have;
    }
    return NULL;
}

static struct seep_error *put_process(struct answer *answer, const struct seep_deltas *deltas, size_t index,
                                      const struct seep_profile *profile, const struct seep_wire_have *have,
                                      uint64_t since) {
    const struct life_deltas *life = life_of(deltas, profile);
    bool all = !have || life->process_changed > since;
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

static struct seep_error *put_rest(struct answer *answer, const struct seep_deltas *deltas, size_t index,
                                   const struct seep_profile *profile, const struct seep_wire_have *have,
                                   uint64_t since) {
    const struct life_deltas *life = life_of(deltas, profile);
    struct seep_error *error = put_modules(answer, index, profile, have ? have->nr_modules : 0);
    if (!error)
        error = put_nodes(answer, index, profile, have ? have->nr_nodes : 0);
    if (!error)
        error = put_sites(answer, index, profile, have ? have->nr_sites : 0);
    // Sites that the client lacks are new since then, so their difference to nothing is not kept: a site that
    // came in the last epoch has `before` as it is now.
    bool differences = have && since + 1 == deltas->epoch && have->nr_sites == profile->nr_sites;
    if (!error)
        error = put_counters(answer, index, life, profile->nr_sites, have ? since : 0, differences);
    if (!error && (!have || life->any_changed > since))
        error = put_thread_sites(answer, index, profile);
    return error;
}

struct seep_error *seep_deltas_answer(const struct seep_deltas *deltas, const struct seep_session *session,
                                      const struct seep_wire_look *look, const struct seep_wire_pull *pull,
                                      uint16_t stream, bool packed, struct seep_put *out) {
    struct answer answer = {.out = out, .stream = stream, .packed = packed};
    struct seep_error *error = put_look(&answer, deltas, look, session->nr_profiles);
    // The processes first: their totals are there before all that may be long.
    for (size_t i = 0; !error && i < session->nr_profiles; i++)
        error = put_process(&answer, deltas, i, session->profiles[i],
                            have_of(deltas, pull, session->profiles[i]), pull->epoch);
    for (size_t i = 0; !error && i < session->nr_profiles; i++)
        error = put_rest(&answer, deltas, i, session->profiles[i],
                         have_of(deltas, pull, session->profiles[i]), pull->epoch);
    seep_put_leb(&answer.payload, deltas->epoch);
    if (!error)
        error = send(&answer, SEEP_WIRE_END);
    seep_put_deinit(&answer.payload);
    return error;
}

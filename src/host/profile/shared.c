// SPDX-License-Identifier: BSD-2-Clause
// Memory that the profiles of one trace share, see shared.h.
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "profile/shared.h"

struct seep_error *seep_shared_create(struct seep_shared **ret_shared) {
    struct seep_shared *shared = calloc(1, sizeof(*shared));
    if (!shared)
        return seep_error_no_memory();
    shared->nr_owners = 1;
    *ret_shared = shared;
    return NULL;
}

void seep_shared_release(struct seep_shared *shared) {
    if (!shared || --shared->nr_owners)
        return;
    free(shared->chains);
    seep_ids_deinit(&shared->chain_ids);
    seep_arena_deinit(&shared->arena);
    free(shared);
}

static uint64_t add(uint64_t hash, uint64_t number) {
    return (hash ^ number) * UINT64_C(0x9e3779b97f4a7c15);
}

static bool has_text(const struct seep_link *link) {
    return link->kind == SEEP_LINK_TEXT;
}

// What the link points to is left out: it seldom tells two chains apart.
static uint64_t hash_of(const struct seep_chain *chain) {
    uint64_t hash = chain->nr_links;
    for (uint32_t i = 0; i < chain->nr_links; i++) {
        const struct seep_link *link = &chain->links[i];
        hash = seep_hash64(add(add(hash, link->kind), (uint64_t)link->id << 32 | link->vtable_module));
        hash = add(add(add(hash, link->at), link->off), link->arrival);
        if (has_text(link))
            hash ^= seep_hash_bytes(link->text, strlen(link->text));
    }
    return seep_hash64(hash);
}

static bool same_frames(const struct seep_link *a, const struct seep_link *b) {
    for (uint8_t i = 0; i < a->nr_frames; i++) {
        const struct seep_link_frame *x = &a->frames[i], *y = &b->frames[i];
        if (x->module != y->module || x->address != y->address || x->cfa != y->cfa || x->sp != y->sp ||
            x->bp != y->bp || x->reg != y->reg)
            return false;
    }
    return true;
}

static bool same_steps(const struct seep_link *a, const struct seep_link *b) {
    for (uint8_t i = 0; i < a->nr_steps; i++)
        if (a->steps[i].nr != b->steps[i].nr || !seep_link_steps_are_same(&a->steps[i], &b->steps[i]))
            return false;
    return true;
}

static bool same_link(const struct seep_link *a, const struct seep_link *b) {
    if (a->kind != b->kind || a->whole != b->whole || a->lost != b->lost || a->nr_frames != b->nr_frames ||
        a->nr_steps != b->nr_steps || a->id != b->id || a->vtable_module != b->vtable_module ||
        a->at != b->at || a->off != b->off || a->arrival != b->arrival || a->vtable != b->vtable)
        return false;
    if (has_text(a))
        return strcmp(a->text, b->text) == 0;
    return a->nr_frames ? same_frames(a, b) : same_steps(a, b);
}

static bool same_chain(const struct seep_chain *a, const struct seep_chain *b) {
    if (a->nr_links != b->nr_links)
        return false;
    for (uint32_t i = 0; i < a->nr_links; i++)
        if (!same_link(&a->links[i], &b->links[i]))
            return false;
    return true;
}

// What a link points to goes with it. false: out of memory.
static bool move_in(struct seep_arena *arena, struct seep_link *link) {
    const void *from = link->nr_frames ? (const void *)link->frames : link->steps;
    size_t bytes =
        link->nr_frames ? link->nr_frames * sizeof(*link->frames) : link->nr_steps * sizeof(*link->steps);
    if (has_text(link))
        return (link->text = seep_arena_strdup(arena, link->text)) != NULL;
    if (!bytes)
        return true;
    void *to = seep_arena_alloc(arena, bytes, 1);
    if (!to)
        return false;
    memcpy(to, from, bytes);
    if (link->nr_frames)
        link->frames = to;
    else
        link->steps = to;
    return true;
}

static const struct seep_chain *copy(struct seep_arena *arena, const struct seep_chain *chain) {
    struct seep_chain *into = seep_arena_alloc(arena, 1, sizeof(*into));
    struct seep_link *links = seep_arena_alloc(arena, chain->nr_links, sizeof(*links));
    bool good = into && links;
    for (uint32_t i = 0; good && i < chain->nr_links; i++) {
        links[i] = chain->links[i];
        good = move_in(arena, &links[i]);
    }
    if (!good)
        return NULL;
    *into = (struct seep_chain){links, chain->nr_links};
    return into;
}

const struct seep_chain *seep_shared_chain(struct seep_shared *shared, const struct seep_chain *chain) {
    uint64_t hash = hash_of(chain);
    size_t at;
    for (uint32_t id = seep_ids_first(&shared->chain_ids, hash, &at); id != SEEP_NO_ID;
         id = seep_ids_next(&shared->chain_ids, hash, &at))
        if (same_chain(shared->chains[id], chain))
            return shared->chains[id];
    const struct seep_chain *own = shared->nr_chains < SEEP_NO_ID ? copy(&shared->arena, chain) : NULL;
    if (!own ||
        !seep_grow(&shared->chains, &shared->chains_capacity, shared->nr_chains + 1,
                   sizeof(*shared->chains)) ||
        !seep_ids_add(&shared->chain_ids, hash, (uint32_t)shared->nr_chains))
        return NULL;
    shared->chains[shared->nr_chains++] = own;
    return own;
}

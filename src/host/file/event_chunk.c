// SPDX-License-Identifier: BSD-2-Clause
// Chunks of a recording, see event_chunk.h.
#include <stdlib.h>
#include <string.h>

#include "file/event_chunk.h"

// ---- the model: the same for who writes and who reads ------------------------------------------------

enum {
    SITES_BITS = 12, // sites by the one before, and sizes by the site: by the lowest bits of it
    CLASSES = 128,   // of sizes, in steps of 16 bytes
    FREED = 16,      // addresses that are remembered of a class
    NEAR_BITS = 17,  // twice the events of a chunk
};

struct freed {
    uint64_t addresses[FREED];
    uint32_t nr; // ever
};

struct model {
    uint32_t next_site[1 << SITES_BITS];
    uint64_t size_of[1 << SITES_BITS];
    struct freed freed[CLASSES];
    uint32_t site; // of the last allocation
    uint64_t address;
    uint64_t stamp;
    uint32_t slot;
    uint32_t near[1 << NEAR_BITS]; // of the writer: index + 1 of an allocation, by its address
};

static struct freed *freed_of(struct model *model, uint64_t size) {
    uint64_t class = (size + 23) / 16;
    return &model->freed[SEEP_MIN(class, (uint64_t)(CLASSES - 1))];
}

static uint64_t guess_address(struct model *model, uint64_t size) {
    const struct freed *freed = freed_of(model, size);
    return freed->nr ? freed->addresses[(freed->nr - 1) % FREED] : 0;
}

static void learn_allocation(struct model *model, const struct seep_recorded *event) {
    const uint32_t mask = (1u << SITES_BITS) - 1;
    model->next_site[model->site & mask] = event->site;
    model->size_of[event->site & mask] = event->size;
    struct freed *freed = freed_of(model, event->size);
    if (freed->nr && freed->addresses[(freed->nr - 1) % FREED] == event->address)
        freed->nr--;
    model->site = event->site;
    model->address = event->address;
}

static void learn_free(struct model *model, const struct seep_recorded *event) {
    struct freed *freed = freed_of(model, event->size);
    freed->addresses[freed->nr++ % FREED] = event->address;
}

// ---- writing ---------------------------------------------------------------------------------------

enum {
    COLUMN_KIND,
    COLUMN_STAMP,
    COLUMN_SLOT,
    COLUMN_SITE,
    COLUMN_SIZE,
    COLUMN_ADDRESS,
    COLUMN_BACK,
    COLUMN_NR
};
#define KIND_NEAR 0x20u // a free of an allocation of the same chunk

static uint32_t near_hash(uint64_t address) {
    return (uint32_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - NEAR_BITS));
}

// The allocation of this chunk that the block is of: its index + 1, or 0.
static uint32_t find_near(const struct model *model, const struct seep_recorded *events, uint32_t i) {
    for (uint32_t at = near_hash(events[i].address); model->near[at];
         at = (at + 1) & ((1u << NEAR_BITS) - 1)) {
        const struct seep_recorded *other = &events[model->near[at] - 1];
        if (other->address == events[i].address)
            return other->site == events[i].site && other->size == events[i].size ? model->near[at] : 0;
    }
    return 0;
}

static void note_near(struct model *model, const struct seep_recorded *events, uint32_t i) {
    uint32_t at = near_hash(events[i].address);
    while (model->near[at] && events[model->near[at] - 1].address != events[i].address)
        at = (at + 1) & ((1u << NEAR_BITS) - 1);
    model->near[at] = i + 1;
}

static void put_block(struct seep_put *columns, struct model *model, const struct seep_recorded *event) {
    const uint32_t mask = (1u << SITES_BITS) - 1;
    bool site_is = model->next_site[model->site & mask] == event->site;
    seep_put_leb(&columns[COLUMN_SITE], site_is ? 0 : (uint64_t)event->site + 1);
    bool size_is = model->size_of[event->site & mask] == event->size;
    seep_put_leb(&columns[COLUMN_SIZE], size_is ? 0 : event->size + 1);
    bool address_is = guess_address(model, event->size) == event->address;
    uint64_t difference = event->address - model->address;
    seep_put_leb(&columns[COLUMN_ADDRESS],
                 address_is ? 0 : (seep_zigzag((int64_t)difference >> 4) << 4 | (difference & 15)) + 1);
}

static bool put_columns(struct seep_put *put, struct seep_put columns[COLUMN_NR]) {
    for (int i = 0; i < COLUMN_NR; i++) {
        put->failed |= columns[i].failed;
        seep_put_leb(put, columns[i].used);
    }
    for (int i = 0; i < COLUMN_NR; i++) {
        seep_put_bytes(put, columns[i].bytes, columns[i].used);
        seep_put_deinit(&columns[i]);
    }
    return !put->failed;
}

bool seep_chunk_put(struct seep_put *put, const struct seep_chunk *chunk,
                    const struct seep_recorded *events) {
    struct seep_put columns[COLUMN_NR] = {{0}};
    struct model *model = calloc(1, sizeof(*model));
    if (!model)
        return false;
    seep_put_leb(put, chunk->pid);
    seep_put_zigzag(put, chunk->start_realtime_ns);
    seep_put_leb(put, chunk->nr_events);
    seep_put_leb(put, chunk->begin.stamp);
    seep_put_leb(put, chunk->begin.at_ns);
    seep_put_leb(put, chunk->end.stamp);
    seep_put_leb(put, chunk->end.at_ns);
    seep_put_zigzag(put, chunk->net_bytes);
    seep_put_zigzag(put, chunk->most_bytes);
    for (uint32_t i = 0; i < chunk->nr_events; i++) {
        const struct seep_recorded *event = &events[i];
        uint32_t near = seep_event_is_free(event->kind) ? find_near(model, events, i) : 0;
        seep_put_leb(&columns[COLUMN_KIND], event->kind | (near ? KIND_NEAR : 0));
        seep_put_zigzag(&columns[COLUMN_STAMP], (int64_t)(event->stamp - model->stamp));
        seep_put_leb(&columns[COLUMN_SLOT], event->slot == model->slot ? 0 : (uint64_t)event->slot + 1);
        model->stamp = event->stamp;
        model->slot = event->slot;
        if (near)
            seep_put_leb(&columns[COLUMN_BACK], i - (near - 1));
        else
            put_block(columns, model, event);
        if (seep_event_is_free(event->kind)) {
            learn_free(model, event);
        } else {
            learn_allocation(model, event);
            note_near(model, events, i);
        }
    }
    free(model);
    return put_columns(put, columns);
}

// ---- reading ---------------------------------------------------------------------------------------

bool seep_chunk_take(struct seep_take *take, struct seep_chunk *ret_chunk) {
    struct seep_chunk chunk = {.pid = seep_take_u32(take)};
    chunk.start_realtime_ns = seep_take_zigzag(take);
    chunk.nr_events = seep_take_leb(take);
    chunk.begin.stamp = seep_take_leb(take);
    chunk.begin.at_ns = seep_take_leb(take);
    chunk.end.stamp = seep_take_leb(take);
    chunk.end.at_ns = seep_take_leb(take);
    chunk.net_bytes = seep_take_zigzag(take);
    chunk.most_bytes = seep_take_zigzag(take);
    *ret_chunk = chunk;
    return !take->failed && chunk.nr_events <= SEEP_CHUNK_EVENTS;
}

static void take_block(struct seep_take *columns, struct model *model, struct seep_recorded *event) {
    const uint32_t mask = (1u << SITES_BITS) - 1;
    uint64_t site = seep_take_leb(&columns[COLUMN_SITE]);
    columns[COLUMN_SITE].failed |= site > UINT32_MAX;
    event->site = site ? (uint32_t)(site - 1) : model->next_site[model->site & mask];
    uint64_t size = seep_take_leb(&columns[COLUMN_SIZE]);
    event->size = size ? size - 1 : model->size_of[event->site & mask];
    uint64_t address = seep_take_leb(&columns[COLUMN_ADDRESS]);
    if (address) {
        address--;
        event->address = model->address + ((uint64_t)seep_unzigzag(address >> 4) << 4 | (address & 15));
    } else {
        event->address = guess_address(model, event->size);
    }
}

static bool take_event(struct seep_take *columns, struct model *model, struct seep_recorded *events,
                       uint32_t i) {
    struct seep_recorded *event = &events[i];
    uint64_t kind = seep_take_leb(&columns[COLUMN_KIND]);
    event->kind = (uint32_t)(kind & ~(uint64_t)KIND_NEAR);
    event->stamp = model->stamp + (uint64_t)seep_take_zigzag(&columns[COLUMN_STAMP]);
    uint64_t slot = seep_take_leb(&columns[COLUMN_SLOT]);
    event->slot = slot ? (uint32_t)(slot - 1) : model->slot;
    bool is_free = seep_event_is_free(event->kind);
    if (kind > UINT8_MAX || slot > SEEP_RING_SLOTS ||
        !(is_free || event->kind == SEEP_EVENT_ALLOCATION || event->kind == SEEP_EVENT_KEPT))
        return false;
    model->stamp = event->stamp;
    model->slot = event->slot;
    if (kind & KIND_NEAR) {
        uint64_t back = seep_take_leb(&columns[COLUMN_BACK]);
        if (!is_free || !back || back > i)
            return false;
        event->address = events[i - back].address;
        event->site = events[i - back].site;
        event->size = events[i - back].size;
    } else {
        take_block(columns, model, event);
    }
    if (is_free)
        learn_free(model, event);
    else
        learn_allocation(model, event);
    return true;
}

bool seep_chunk_take_events(struct seep_take *take, const struct seep_chunk *chunk,
                            struct seep_recorded *ret_events) {
    struct seep_take columns[COLUMN_NR];
    uint64_t lengths[COLUMN_NR];
    for (int i = 0; i < COLUMN_NR; i++)
        lengths[i] = seep_take_leb(take);
    for (int i = 0; i < COLUMN_NR; i++) {
        const unsigned char *bytes = seep_take_bytes(take, lengths[i]);
        columns[i] = (struct seep_take){bytes, bytes ? bytes + lengths[i] : NULL, !bytes};
    }
    struct model *model = take->failed ? NULL : calloc(1, sizeof(*model));
    bool good = model;
    for (uint32_t i = 0; good && i < chunk->nr_events; i++)
        good = take_event(columns, model, ret_events, i);
    free(model);
    for (int i = 0; i < COLUMN_NR; i++)
        good = good && !columns[i].failed && !seep_take_left(&columns[i]);
    return good && !seep_take_left(take);
}

struct seep_chunk_scale seep_chunk_scale_of(const struct seep_chunk *chunk) {
    const struct seep_chunk_clock *begin = &chunk->begin, *end = &chunk->end;
    if (end->stamp <= begin->stamp || end->at_ns < begin->at_ns)
        return (struct seep_chunk_scale){.at_ns = (double)end->at_ns};
    return (struct seep_chunk_scale){.stamp = begin->stamp,
                                     .at_ns = (double)begin->at_ns,
                                     .ns_per_stamp = (double)(end->at_ns - begin->at_ns) /
                                                     (double)(end->stamp - begin->stamp)};
}

int64_t seep_chunk_ns(const struct seep_chunk *chunk, uint64_t stamp) {
    struct seep_chunk_scale scale = seep_chunk_scale_of(chunk);
    return seep_chunk_scaled_ns(&scale, stamp);
}

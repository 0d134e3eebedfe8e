// SPDX-License-Identifier: BSD-2-Clause
// Chunks as the first seep wrote them (version 1 of their section): read, and never written.
#include <stdlib.h>
#include <string.h>

#include "file/event_chunk.h"

enum {
    SITES_BITS = 12, // sites by the one before, and sizes by the site: by the lowest bits of it
    CLASSES = 128,   // of sizes, in steps of 16 bytes
    FREED = 16,      // addresses that are remembered of a class
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

bool seep_chunk_take_events_v1(struct seep_take *take, const struct seep_chunk *chunk,
                               struct seep_recorded *ret_events) {
    struct seep_take columns[COLUMN_NR];
    seep_take_columns(take, COLUMN_NR, columns);
    struct model *model = take->failed ? NULL : calloc(1, sizeof(*model));
    bool good = model;
    for (uint32_t i = 0; good && i < chunk->nr_events; i++)
        good = take_event(columns, model, ret_events, i);
    free(model);
    for (int i = 0; i < COLUMN_NR; i++)
        good = good && !columns[i].failed && !seep_take_left(&columns[i]);
    return good && !seep_take_left(take);
}

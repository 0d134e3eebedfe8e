// SPDX-License-Identifier: BSD-2-Clause
// Chunks of a recording, see event_chunk.h.
#include <stdlib.h>
#include <string.h>

#include "base/large.h"
#include "file/event_chunk.h"
#include "file/trace.h"

// ---- the model: the same in the writer and in the reader ---------------------------------------------

enum {
    LANES = 8,         // threads, by the lowest bits of their slot
    PAIRS_BITS = 14,   // sites by the two before
    SITES_BITS = 12,   // sites by the one before, and sizes by the site: by the lowest bits of it
    CLASSES_FINE = 64, // of sizes, in steps of 16 bytes; above them four for each power of two
    CLASSES = 128,
    FREED = 16,     // addresses that are remembered of a class
    NEAR_BITS = 17, // twice the events of a chunk
};

// What was freed of a class of sizes, the latest last; and its last allocation.
struct class {
    uint64_t freed[FREED];
    uint32_t next; // where the next goes, mod FREED
    uint32_t nr;
    uint64_t address;
    uint64_t stride; // from the allocation before
};

struct lane {
    struct class classes[CLASSES];
    uint64_t address; // of the last allocation
    uint64_t behind;  // where a block begins that lies right behind it
    uint64_t freed;   // the same of the last free
    uint64_t behind_freed;
    uint32_t site; // of the last allocation, and of the one before it
    uint32_t site_before;
    uint32_t freed_number; // of the allocation that was freed last
};

struct model {
    struct lane lanes[LANES];
    uint32_t after_two[1 << PAIRS_BITS];
    uint32_t after_one[1 << SITES_BITS];
    uint64_t size_of[1 << SITES_BITS];
    uint64_t stamp;
    uint32_t slot;
    uint32_t nr_allocations;
    uint32_t index_of[SEEP_CHUNK_EVENTS + 1]; // of an allocation by its number, from 1 up to nr_allocations
};

static void model_begin(struct model *model) {
    memset(model, 0, offsetof(struct model, index_of));
}

// glibc's rounding of sizes. Blocks of other allocators are predicted less often.
static uint64_t block_bytes(uint64_t size) {
    return size < 9 ? 32 : (size + 23) & ~UINT64_C(15);
}

SEEP_INLINE struct class *class_of(struct lane *lane, uint64_t size) {
    uint64_t units = block_bytes(size) >> 4;
    if (SEEP_LIKELY(units < CLASSES_FINE))
        return &lane->classes[units];
    unsigned power = units ? 63u - (unsigned)__builtin_clzll(units) : 63;
    unsigned class = CLASSES_FINE + (power - 6) * 4 + (unsigned)(units >> (power - 2) & 3);
    return &lane->classes[SEEP_MIN(class, (unsigned)CLASSES - 1)];
}

static struct lane *lane_of(struct model *model, uint32_t slot) {
    return &model->lanes[slot % LANES];
}

static uint32_t *after_two(struct model *model, const struct lane *lane) {
    uint32_t mixed = lane->site * UINT32_C(0x9e3779b1) ^ lane->site_before * UINT32_C(0x85ebca6b);
    return &model->after_two[mixed >> (32 - PAIRS_BITS)];
}

static uint32_t *after_one(struct model *model, const struct lane *lane) {
    return &model->after_one[lane->site & ((1u << SITES_BITS) - 1)];
}

static uint64_t *size_of(struct model *model, uint32_t site) {
    return &model->size_of[site & ((1u << SITES_BITS) - 1)];
}

static uint64_t *freed_at(struct class *class, uint32_t depth) {
    return &class->freed[(class->next - 1 - depth) % FREED];
}

static void take_freed(struct class *class, uint32_t depth) {
    for (; depth; depth--)
        *freed_at(class, depth) = *freed_at(class, depth - 1);
    class->next--;
    class->nr--;
}

SEEP_INLINE void learn_allocation(struct model *model, struct lane *lane, struct class *class,
                                  const struct seep_recorded *event, uint32_t index) {
    *after_two(model, lane) = *after_one(model, lane) = event->site;
    *size_of(model, event->site) = event->size;
    class->stride = event->address - class->address;
    class->address = lane->address = event->address;
    lane->behind = event->address + block_bytes(event->size);
    lane->site_before = lane->site;
    lane->site = event->site;
    model->index_of[++model->nr_allocations] = index;
}

SEEP_INLINE void learn_free(struct lane *lane, const struct seep_recorded *event) {
    struct class *class = class_of(lane, event->size);
    class->freed[class->next++ % FREED] = event->address;
    class->nr += class->nr < FREED;
    lane->freed = event->address;
    lane->behind_freed = event->address + block_bytes(event->size);
}

// ---- columns -----------------------------------------------------------------------------------------

// A number of several bytes is in two columns: its lowest byte in one, the rest as LEB128 in the other.
enum {
    COLUMN_OPERATION, // a byte an event
    COLUMN_STAMP,     // a byte an allocation: the stamp minus that of the event before, or STAMP_FAR
    COLUMN_STAMP_FREE,
    COLUMN_STAMP_FAR,
    COLUMN_SLOT,
    COLUMN_SITE,
    COLUMN_SIZE,
    COLUMN_SIZE_LOW,
    COLUMN_ADDRESS,
    COLUMN_ADDRESS_LOW,
    COLUMN_FREED,
    COLUMN_FREED_LOW,
    COLUMN_ODD, // addresses that are no multiple of 16 from the others
    COLUMN_BACK,
    COLUMN_BACK_LOW,
    COLUMN_NR
};
_Static_assert(COLUMN_NR == SEEP_CHUNK_COLUMNS, "as in event_chunk.h");
_Static_assert(COLUMN_NR <= SEEP_COLUMNS_MOST, "seep_take_columns");
enum { STAMP_FAR = 255 };

// An operation: how its address is said, and for a free << 3 with the way of the release.
enum {
    OPERATION_OTHER_SLOT = 0x80,
    OPERATION_FREE = 0x40,
    OPERATION_KEPT = 0x20,
    ADDRESS_FREED = 0, // and how many were freed of its class since: up to 15
    ADDRESS_BEHIND = 16,
    ADDRESS_STRIDE,
    ADDRESS_FROM_LAST,
    ADDRESS_FROM_CLASS,
    ADDRESS_ODD,
    FREE_NEAR = 0, // of an allocation of the chunk: so many allocations back
    FREE_NEAR_NEXT,
    FREE_NEAR_BEFORE,
    FREE_BEHIND,
    FREE_FROM_LAST,
    FREE_ODD,
};

enum { SITE_AFTER_TWO, SITE_AFTER_ONE, SITE_ITSELF };

// ---- writing ---------------------------------------------------------------------------------------

// A hash table from an address to its latest allocation in the chunk, with twice as many entries as events.
// An entry keeps 31 more bits of the hash, so that a search does not read the events.
enum { INDEX_BITS = 16, NUMBER_BITS = 17, NEAR_TAG_BIT = INDEX_BITS + NUMBER_BITS };
#define NEAR_TAG (~UINT64_C(0) << NEAR_TAG_BIT)

// Room for all that the events of a chunk can put into a column: pages that are not written take no memory.
enum { LEB_MOST = 10, COLUMN_BYTES = SEEP_CHUNK_EVENTS * LEB_MOST };

struct seep_chunk_packer {
    struct model model;
    uint64_t near[1 << NEAR_BITS]; // tag, number of the allocation (0: empty), its index
    uint32_t near_mask;
    unsigned char *at[COLUMN_NR];
    unsigned char (*columns)[COLUMN_BYTES];
};

// Events read the tables at scattered places, so the tables are in huge pages.
struct seep_chunk_packer *seep_chunk_packer_create(void) {
    struct seep_chunk_packer *packer = seep_large_alloc(1, sizeof(*packer));
    if (!packer)
        return NULL;
    packer->columns = calloc(COLUMN_NR, sizeof(*packer->columns));
    if (packer->columns)
        return packer;
    free(packer);
    return NULL;
}

void seep_chunk_packer_destroy(struct seep_chunk_packer *packer) {
    if (packer)
        free(packer->columns);
    free(packer);
}

static void begin(struct seep_chunk_packer *packer, uint64_t nr_events) {
    for (int i = 0; i < COLUMN_NR; i++)
        packer->at[i] = packer->columns[i];
    model_begin(&packer->model);
    unsigned bits = nr_events > 1 ? 65u - (unsigned)__builtin_clzll(nr_events - 1) : 1;
    packer->near_mask = (1u << bits) - 1;
    memset(packer->near, 0, sizeof(*packer->near) << bits);
}

static void put_byte(struct seep_chunk_packer *packer, int column, unsigned byte) {
    *packer->at[column]++ = (unsigned char)byte;
}

static void put_leb(struct seep_chunk_packer *packer, int column, uint64_t value) {
    unsigned char *at = packer->at[column];
    for (; value >= 0x80; value >>= 7)
        *at++ = (unsigned char)(value | 0x80);
    *at++ = (unsigned char)value;
    packer->at[column] = at;
}

static void put_number(struct seep_chunk_packer *packer, int column, uint64_t number) {
    put_leb(packer, column, number >> 8);
    put_byte(packer, column + 1, number & 255);
}

static uint64_t near_hash(uint64_t address) {
    return address * UINT64_C(0x9e3779b97f4a7c15);
}

static uint64_t *near_at(struct seep_chunk_packer *packer, uint64_t hash) {
    return &packer->near[hash >> (64 - NEAR_BITS) & packer->near_mask];
}

// The entry of an address, or an empty one where it goes.
static uint64_t *near_of(struct seep_chunk_packer *packer, uint64_t address) {
    uint64_t hash = near_hash(address);
    uint64_t *entry = near_at(packer, hash);
    while (*entry && (*entry ^ hash << NEAR_BITS) & NEAR_TAG)
        entry = entry == &packer->near[packer->near_mask] ? packer->near : entry + 1;
    return entry;
}

static uint32_t near_index(uint64_t entry) {
    return entry & ((1u << INDEX_BITS) - 1);
}

// Prefetches what the next events will read. Inline, or gcc 12 drops the call of a function that does nothing
// else.
SEEP_INLINE void fetch_ahead(struct seep_chunk_packer *packer, const struct seep_recorded *events, uint32_t i,
                             uint64_t nr) {
    enum { ENTRIES_AHEAD = 24, EVENTS_AHEAD = 12 };
    if (i + ENTRIES_AHEAD < nr)
        __builtin_prefetch(near_at(packer, near_hash(events[i + ENTRIES_AHEAD].address)), 1);
    if (i + EVENTS_AHEAD < nr && seep_event_is_free(events[i + EVENTS_AHEAD].kind))
        __builtin_prefetch(
            &events[near_index(*near_at(packer, near_hash(events[i + EVENTS_AHEAD].address)))]);
}

static void put_stamp(struct seep_chunk_packer *packer, const struct seep_recorded *event, bool is_free) {
    uint64_t since = event->stamp - packer->model.stamp;
    packer->model.stamp = event->stamp;
    put_byte(packer, is_free ? COLUMN_STAMP_FREE : COLUMN_STAMP, (unsigned)SEEP_MIN(since, 255u));
    if (SEEP_UNLIKELY(since >= STAMP_FAR))
        put_leb(packer, COLUMN_STAMP_FAR, seep_zigzag((int64_t)since));
}

static void put_site_and_size(struct seep_chunk_packer *packer, const struct lane *lane,
                              const struct seep_recorded *event) {
    struct model *model = &packer->model;
    if (*after_two(model, lane) == event->site)
        put_byte(packer, COLUMN_SITE, SITE_AFTER_TWO);
    else if (*after_one(model, lane) == event->site)
        put_byte(packer, COLUMN_SITE, SITE_AFTER_ONE);
    else
        put_leb(packer, COLUMN_SITE, (uint64_t)event->site + SITE_ITSELF);
    if (*size_of(model, event->site) == event->size) {
        put_byte(packer, COLUMN_SIZE, 0);
        return;
    }
    put_leb(packer, COLUMN_SIZE, (event->size >> 8) + 1);
    put_byte(packer, COLUMN_SIZE_LOW, event->size & 255);
}

static uint64_t distance(uint64_t difference) {
    return (int64_t)difference < 0 ? -difference : difference;
}

static uint64_t sixteenths(uint64_t difference) {
    return seep_zigzag((int64_t)difference >> 4);
}

// How the address of an allocation is said.
static unsigned put_address(struct seep_chunk_packer *packer, const struct lane *lane, struct class *class,
                            uint64_t address) {
    for (uint32_t depth = 0; depth < class->nr; depth++) {
        if (*freed_at(class, depth) != address)
            continue;
        take_freed(class, depth);
        return ADDRESS_FREED + depth;
    }
    if (address == lane->behind)
        return ADDRESS_BEHIND;
    if (address == class->address + class->stride)
        return ADDRESS_STRIDE;
    uint64_t from_last = address - lane->address, from_class = address - class->address;
    if (!(from_class & 15) && distance(from_class) <= distance(from_last)) {
        put_number(packer, COLUMN_ADDRESS, sixteenths(from_class));
        return ADDRESS_FROM_CLASS;
    }
    if (!(from_last & 15)) {
        put_number(packer, COLUMN_ADDRESS, sixteenths(from_last));
        return ADDRESS_FROM_LAST;
    }
    put_leb(packer, COLUMN_ODD, seep_zigzag((int64_t)from_last));
    return ADDRESS_ODD;
}

static void put_allocation(struct seep_chunk_packer *packer, struct lane *lane,
                           const struct seep_recorded *event, uint32_t i, unsigned operation) {
    struct class *class = class_of(lane, event->size);
    put_site_and_size(packer, lane, event);
    operation |= event->kind == SEEP_EVENT_KEPT ? OPERATION_KEPT : 0;
    operation |= put_address(packer, lane, class, event->address);
    put_byte(packer, COLUMN_OPERATION, operation);
    learn_allocation(&packer->model, lane, class, event, i);
    uint64_t tag = near_hash(event->address) << NEAR_BITS & NEAR_TAG;
    *near_of(packer, event->address) = tag | (uint64_t)packer->model.nr_allocations << INDEX_BITS | i;
}

static unsigned put_near(struct seep_chunk_packer *packer, struct lane *lane, uint32_t number) {
    uint32_t before = lane->freed_number;
    lane->freed_number = number;
    if (number == before + 1)
        return FREE_NEAR_NEXT;
    if (number == before - 1)
        return FREE_NEAR_BEFORE;
    put_number(packer, COLUMN_BACK, packer->model.nr_allocations - number);
    return FREE_NEAR;
}

static unsigned put_freed(struct seep_chunk_packer *packer, const struct lane *lane, uint64_t address) {
    uint64_t from_last = address - lane->freed;
    if (address == lane->behind_freed)
        return FREE_BEHIND;
    if (!(from_last & 15)) {
        put_number(packer, COLUMN_FREED, sixteenths(from_last));
        return FREE_FROM_LAST;
    }
    put_leb(packer, COLUMN_ODD, seep_zigzag((int64_t)from_last));
    return FREE_ODD;
}

static void put_free(struct seep_chunk_packer *packer, struct lane *lane, const struct seep_recorded *events,
                     uint32_t i, unsigned operation) {
    const struct seep_recorded *event = &events[i];
    uint64_t entry = *near_of(packer, event->address);
    const struct seep_recorded *near = entry ? &events[near_index(entry)] : NULL;
    unsigned how;
    if (near && near->address == event->address && near->site == event->site && near->size == event->size) {
        how = put_near(packer, lane, entry >> INDEX_BITS & ((1u << NUMBER_BITS) - 1));
    } else {
        put_site_and_size(packer, lane, event);
        how = put_freed(packer, lane, event->address);
    }
    operation |= OPERATION_FREE | how << 3 | (event->kind - SEEP_EVENT_FREE);
    put_byte(packer, COLUMN_OPERATION, operation);
    learn_free(lane, event);
}

static void put_head(struct seep_put *put, const struct seep_chunk *chunk) {
    seep_put_leb(put, chunk->pid);
    seep_put_zigzag(put, chunk->start_realtime_ns);
    seep_put_leb(put, chunk->nr_events);
    seep_put_leb(put, chunk->begin.stamp);
    seep_put_leb(put, chunk->begin.at_ns);
    seep_put_leb(put, chunk->end.stamp);
    seep_put_leb(put, chunk->end.at_ns);
    seep_put_zigzag(put, chunk->net_bytes);
    seep_put_zigzag(put, chunk->most_bytes);
}

bool seep_chunk_put(struct seep_chunk_packer *packer, struct seep_put *put, const struct seep_chunk *chunk,
                    const struct seep_recorded *events, struct seep_chunk_starts *ret_starts) {
    begin(packer, chunk->nr_events);
    put_head(put, chunk);
    for (uint32_t i = 0; i < chunk->nr_events; i++) {
        const struct seep_recorded *event = &events[i];
        fetch_ahead(packer, events, i, chunk->nr_events);
        bool is_free = seep_event_is_free(event->kind);
        unsigned operation = event->slot == packer->model.slot ? 0 : OPERATION_OTHER_SLOT;
        if (operation)
            put_leb(packer, COLUMN_SLOT, event->slot);
        packer->model.slot = event->slot;
        put_stamp(packer, event, is_free);
        struct lane *lane = lane_of(&packer->model, event->slot);
        if (is_free)
            put_free(packer, lane, events, i, operation);
        else
            put_allocation(packer, lane, event, i, operation);
    }
    for (int i = 0; i < COLUMN_NR; i++)
        seep_put_leb(put, (uint64_t)(packer->at[i] - packer->columns[i]));
    for (int i = 0; i < COLUMN_NR; i++) {
        ret_starts->at[i] = put->used;
        seep_put_bytes(put, packer->columns[i], (size_t)(packer->at[i] - packer->columns[i]));
    }
    return !put->failed;
}

struct seep_error *seep_chunk_write(struct seep_trace_writer *writer, struct seep_chunk_packer *packer,
                                    struct seep_put *scratch, const struct seep_chunk *chunk,
                                    const struct seep_recorded *events) {
    struct seep_chunk_starts starts;
    scratch->used = 0;
    return seep_chunk_put(packer, scratch, chunk, events, &starts)
               ? seep_trace_writer_parts(writer, SEEP_TRACE_EVENTS, SEEP_CHUNK_VERSION, scratch->bytes,
                                         scratch->used, starts.at, SEEP_CHUNK_COLUMNS)
               : seep_error_no_memory();
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

struct seep_chunk_unpacker {
    struct model model;
    struct seep_take columns[COLUMN_NR];
    bool failed;
};

struct seep_chunk_unpacker *seep_chunk_unpacker_create(void) {
    return calloc(1, sizeof(struct seep_chunk_unpacker));
}

void seep_chunk_unpacker_destroy(struct seep_chunk_unpacker *unpacker) {
    free(unpacker);
}

SEEP_INLINE uint32_t take_byte(struct seep_chunk_unpacker *reading, int column) {
    struct seep_take *take = &reading->columns[column];
    if (SEEP_LIKELY(take->at < take->end))
        return *take->at++;
    reading->failed = true;
    return 0;
}

SEEP_INLINE uint64_t take_number(struct seep_chunk_unpacker *reading, int column) {
    uint64_t high = seep_take_leb(&reading->columns[column]);
    return high << 8 | take_byte(reading, column + 1);
}

static uint64_t take_difference(struct seep_chunk_unpacker *reading, int column) {
    return (uint64_t)seep_unzigzag(take_number(reading, column)) << 4;
}

SEEP_INLINE void take_site_and_size(struct seep_chunk_unpacker *reading, const struct lane *lane,
                                    struct seep_recorded *event) {
    struct model *model = &reading->model;
    uint64_t site = seep_take_leb(&reading->columns[COLUMN_SITE]);
    event->site = site == SITE_AFTER_TWO   ? *after_two(model, lane)
                  : site == SITE_AFTER_ONE ? *after_one(model, lane)
                                           : (uint32_t)(site - SITE_ITSELF);
    reading->failed |= site > (uint64_t)UINT32_MAX + SITE_ITSELF;
    uint64_t size = seep_take_leb(&reading->columns[COLUMN_SIZE]);
    event->size = size ? (size - 1) << 8 | take_byte(reading, COLUMN_SIZE_LOW) : *size_of(model, event->site);
}

static uint64_t take_address(struct seep_chunk_unpacker *reading, const struct lane *lane,
                             struct class *class, uint32_t how) {
    if (how < ADDRESS_FREED + FREED) {
        uint64_t address = *freed_at(class, how);
        reading->failed |= how >= class->nr;
        if (!reading->failed)
            take_freed(class, how);
        return address;
    }
    switch (how) {
    case ADDRESS_BEHIND:
        return lane->behind;
    case ADDRESS_STRIDE:
        return class->address + class->stride;
    case ADDRESS_FROM_LAST:
        return lane->address + take_difference(reading, COLUMN_ADDRESS);
    case ADDRESS_FROM_CLASS:
        return class->address + take_difference(reading, COLUMN_ADDRESS);
    case ADDRESS_ODD:
        return lane->address + (uint64_t)seep_take_zigzag(&reading->columns[COLUMN_ODD]);
    default:
        reading->failed = true;
        return 0;
    }
}

static void take_allocation(struct seep_chunk_unpacker *reading, struct lane *lane,
                            struct seep_recorded *event, uint32_t index, uint32_t operation) {
    event->kind = operation & OPERATION_KEPT ? SEEP_EVENT_KEPT : SEEP_EVENT_ALLOCATION;
    take_site_and_size(reading, lane, event);
    struct class *class = class_of(lane, event->size);
    event->address = take_address(reading, lane, class, operation & 31);
    learn_allocation(&reading->model, lane, class, event, index);
}

static void take_near(struct seep_chunk_unpacker *reading, struct lane *lane, struct seep_recorded *events,
                      uint32_t i, uint32_t how) {
    uint64_t number = how == FREE_NEAR_NEXT ? lane->freed_number + UINT64_C(1)
                      : how == FREE_NEAR_BEFORE
                          ? lane->freed_number - UINT64_C(1)
                          : reading->model.nr_allocations - take_number(reading, COLUMN_BACK);
    if (number - 1 >= reading->model.nr_allocations) {
        reading->failed = true;
        return;
    }
    const struct seep_recorded *from = &events[reading->model.index_of[number]];
    lane->freed_number = (uint32_t)number;
    events[i].address = from->address;
    events[i].size = from->size;
    events[i].site = from->site;
}

static void take_free(struct seep_chunk_unpacker *reading, struct lane *lane, struct seep_recorded *events,
                      uint32_t i, uint32_t operation) {
    struct seep_recorded *event = &events[i];
    uint32_t how = operation >> 3 & 7;
    event->kind = SEEP_EVENT_FREE + (operation & 7);
    reading->failed |= !seep_event_is_free(event->kind) || how > FREE_ODD;
    if (how <= FREE_NEAR_BEFORE) {
        take_near(reading, lane, events, i, how);
    } else {
        take_site_and_size(reading, lane, event);
        event->address = how == FREE_BEHIND ? lane->behind_freed
                         : how == FREE_FROM_LAST
                             ? lane->freed + take_difference(reading, COLUMN_FREED)
                             : lane->freed + (uint64_t)seep_take_zigzag(&reading->columns[COLUMN_ODD]);
    }
    learn_free(lane, event);
}

static void take_event(struct seep_chunk_unpacker *reading, struct seep_recorded *events, uint32_t i,
                       uint32_t operation) {
    struct model *model = &reading->model;
    struct seep_recorded *event = &events[i];
    if (operation & OPERATION_OTHER_SLOT) {
        model->slot = seep_take_u32(&reading->columns[COLUMN_SLOT]);
        reading->failed |= model->slot >= SEEP_RING_SLOTS;
    }
    bool is_free = operation & OPERATION_FREE;
    uint64_t since = take_byte(reading, is_free ? COLUMN_STAMP_FREE : COLUMN_STAMP);
    if (SEEP_UNLIKELY(since == STAMP_FAR))
        since = (uint64_t)seep_take_zigzag(&reading->columns[COLUMN_STAMP_FAR]);
    model->stamp += since;
    event->stamp = model->stamp;
    event->slot = model->slot;
    struct lane *lane = lane_of(model, model->slot);
    if (is_free)
        take_free(reading, lane, events, i, operation);
    else
        take_allocation(reading, lane, event, i, operation);
}

static bool take_columns(struct seep_take *take, const struct seep_chunk *chunk,
                         struct seep_take columns[COLUMN_NR]) {
    seep_take_columns(take, COLUMN_NR, columns);
    return !take->failed && seep_take_left(&columns[COLUMN_OPERATION]) == chunk->nr_events &&
           !seep_take_left(take);
}

bool seep_chunk_take_events(struct seep_chunk_unpacker *unpacker, struct seep_take *take, unsigned version,
                            const struct seep_chunk *chunk, struct seep_recorded *ret_events) {
    if (version == 1)
        return seep_chunk_take_events_v1(take, chunk, ret_events);
    if (!take_columns(take, chunk, unpacker->columns))
        return false;
    model_begin(&unpacker->model);
    unpacker->failed = false;
    for (uint32_t i = 0; i < chunk->nr_events && !unpacker->failed; i++)
        take_event(unpacker, ret_events, i, *unpacker->columns[COLUMN_OPERATION].at++);
    bool good = !unpacker->failed;
    for (int i = 0; good && i < COLUMN_NR; i++)
        good = !unpacker->columns[i].failed && !seep_take_left(&unpacker->columns[i]);
    return good;
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

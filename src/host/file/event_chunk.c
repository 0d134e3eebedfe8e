// SPDX-License-Identifier: BSD-2-Clause
// Chunks of a recording, see event_chunk.h.
#include <stdlib.h>
#include <string.h>

#include "file/event_chunk.h"
#include "file/trace.h"

// ---- the model: the same for who writes and who reads ------------------------------------------------

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
    uint32_t index_of[SEEP_CHUNK_EVENTS + 1]; // of an allocation by its number, from 1 on
};

// What glibc makes of a size: another allocator's blocks are foretold less often.
static uint64_t block_bytes(uint64_t size) {
    return size < 9 ? 32 : (size + 23) & ~UINT64_C(15);
}

static struct class *class_of(struct lane *lane, uint64_t size) {
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

static void learn_allocation(struct model *model, struct lane *lane, struct class *class,
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

static void learn_free(struct lane *lane, const struct seep_recorded *event) {
    struct class *class = class_of(lane, event->size);
    class->freed[class->next++ % FREED] = event->address;
    class->nr += class->nr < FREED;
    lane->freed = event->address;
    lane->behind_freed = event->address + block_bytes(event->size);
}

// ---- columns -----------------------------------------------------------------------------------------

// Numbers of several bytes stand in two columns: their lowest byte, and the rest as LEB128.
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

struct writing {
    struct model model;
    uint32_t near[1 << NEAR_BITS]; // the number of the latest allocation of an address, by that
    struct seep_put columns[COLUMN_NR];
};

static void put_byte(struct seep_put *put, unsigned byte) {
    if (SEEP_LIKELY(put->used < put->capacity) || seep_put_room(put, 1))
        put->bytes[put->used++] = (unsigned char)byte;
}

static void put_number(struct writing *writing, int column, uint64_t number) {
    seep_put_leb(&writing->columns[column], number >> 8);
    put_byte(&writing->columns[column + 1], number & 255);
}

static uint32_t *near_of(struct writing *writing, const struct seep_recorded *events, uint64_t address) {
    uint32_t at = (uint32_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - NEAR_BITS));
    while (writing->near[at] && events[writing->model.index_of[writing->near[at]]].address != address)
        at = (at + 1) & ((1u << NEAR_BITS) - 1);
    return &writing->near[at];
}

static void put_stamp(struct writing *writing, const struct seep_recorded *event, bool is_free) {
    uint64_t since = event->stamp - writing->model.stamp;
    writing->model.stamp = event->stamp;
    put_byte(&writing->columns[is_free ? COLUMN_STAMP_FREE : COLUMN_STAMP], (unsigned)SEEP_MIN(since, 255u));
    if (SEEP_UNLIKELY(since >= STAMP_FAR))
        seep_put_zigzag(&writing->columns[COLUMN_STAMP_FAR], (int64_t)since);
}

static void put_site_and_size(struct writing *writing, const struct lane *lane,
                              const struct seep_recorded *event) {
    struct model *model = &writing->model;
    struct seep_put *sites = &writing->columns[COLUMN_SITE];
    if (*after_two(model, lane) == event->site)
        put_byte(sites, SITE_AFTER_TWO);
    else if (*after_one(model, lane) == event->site)
        put_byte(sites, SITE_AFTER_ONE);
    else
        seep_put_leb(sites, (uint64_t)event->site + SITE_ITSELF);
    if (*size_of(model, event->site) == event->size) {
        put_byte(&writing->columns[COLUMN_SIZE], 0);
        return;
    }
    seep_put_leb(&writing->columns[COLUMN_SIZE], (event->size >> 8) + 1);
    put_byte(&writing->columns[COLUMN_SIZE_LOW], event->size & 255);
}

static uint64_t distance(uint64_t difference) {
    return (int64_t)difference < 0 ? -difference : difference;
}

static uint64_t sixteenths(uint64_t difference) {
    return seep_zigzag((int64_t)difference >> 4);
}

// How the address of an allocation is said.
static unsigned put_address(struct writing *writing, const struct lane *lane, struct class *class,
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
        put_number(writing, COLUMN_ADDRESS, sixteenths(from_class));
        return ADDRESS_FROM_CLASS;
    }
    if (!(from_last & 15)) {
        put_number(writing, COLUMN_ADDRESS, sixteenths(from_last));
        return ADDRESS_FROM_LAST;
    }
    seep_put_zigzag(&writing->columns[COLUMN_ODD], (int64_t)from_last);
    return ADDRESS_ODD;
}

static void put_allocation(struct writing *writing, struct lane *lane, const struct seep_recorded *events,
                           uint32_t i, unsigned operation) {
    const struct seep_recorded *event = &events[i];
    struct class *class = class_of(lane, event->size);
    put_site_and_size(writing, lane, event);
    operation |= event->kind == SEEP_EVENT_KEPT ? OPERATION_KEPT : 0;
    operation |= put_address(writing, lane, class, event->address);
    put_byte(&writing->columns[COLUMN_OPERATION], operation);
    uint32_t *near = near_of(writing, events, event->address);
    learn_allocation(&writing->model, lane, class, event, i);
    *near = writing->model.nr_allocations;
}

static unsigned put_near(struct writing *writing, struct lane *lane, uint32_t number) {
    uint32_t before = lane->freed_number;
    lane->freed_number = number;
    if (number == before + 1)
        return FREE_NEAR_NEXT;
    if (number == before - 1)
        return FREE_NEAR_BEFORE;
    put_number(writing, COLUMN_BACK, writing->model.nr_allocations - number);
    return FREE_NEAR;
}

static unsigned put_freed(struct writing *writing, const struct lane *lane, uint64_t address) {
    uint64_t from_last = address - lane->freed;
    if (address == lane->behind_freed)
        return FREE_BEHIND;
    if (!(from_last & 15)) {
        put_number(writing, COLUMN_FREED, sixteenths(from_last));
        return FREE_FROM_LAST;
    }
    seep_put_zigzag(&writing->columns[COLUMN_ODD], (int64_t)from_last);
    return FREE_ODD;
}

static void put_free(struct writing *writing, struct lane *lane, const struct seep_recorded *events,
                     uint32_t i, unsigned operation) {
    const struct seep_recorded *event = &events[i];
    uint32_t number = *near_of(writing, events, event->address);
    const struct seep_recorded *near = number ? &events[writing->model.index_of[number]] : NULL;
    unsigned how;
    if (near && near->site == event->site && near->size == event->size) {
        how = put_near(writing, lane, number);
    } else {
        put_site_and_size(writing, lane, event);
        how = put_freed(writing, lane, event->address);
    }
    operation |= OPERATION_FREE | how << 3 | (event->kind - SEEP_EVENT_FREE);
    put_byte(&writing->columns[COLUMN_OPERATION], operation);
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

bool seep_chunk_put(struct seep_put *put, const struct seep_chunk *chunk, const struct seep_recorded *events,
                    struct seep_chunk_starts *ret_starts) {
    struct writing *writing = calloc(1, sizeof(*writing));
    if (!writing)
        return false;
    put_head(put, chunk);
    for (uint32_t i = 0; i < chunk->nr_events; i++) {
        const struct seep_recorded *event = &events[i];
        bool is_free = seep_event_is_free(event->kind);
        unsigned operation = event->slot == writing->model.slot ? 0 : OPERATION_OTHER_SLOT;
        if (operation)
            seep_put_leb(&writing->columns[COLUMN_SLOT], event->slot);
        writing->model.slot = event->slot;
        put_stamp(writing, event, is_free);
        struct lane *lane = lane_of(&writing->model, event->slot);
        if (is_free)
            put_free(writing, lane, events, i, operation);
        else
            put_allocation(writing, lane, events, i, operation);
    }
    for (int i = 0; i < COLUMN_NR; i++) {
        put->failed |= writing->columns[i].failed;
        seep_put_leb(put, writing->columns[i].used);
    }
    for (int i = 0; i < COLUMN_NR; i++) {
        ret_starts->at[i] = put->used;
        seep_put_bytes(put, writing->columns[i].bytes, writing->columns[i].used);
        seep_put_deinit(&writing->columns[i]);
    }
    free(writing);
    return !put->failed;
}

struct seep_error *seep_chunk_write(struct seep_trace_writer *writer, struct seep_put *scratch,
                                    const struct seep_chunk *chunk, const struct seep_recorded *events) {
    struct seep_chunk_starts starts;
    scratch->used = 0;
    return seep_chunk_put(scratch, chunk, events, &starts)
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

struct reading {
    struct model model;
    struct seep_take columns[COLUMN_NR];
    bool failed;
};

static uint32_t take_byte(struct reading *reading, int column) {
    struct seep_take *take = &reading->columns[column];
    if (SEEP_LIKELY(take->at < take->end))
        return *take->at++;
    reading->failed = true;
    return 0;
}

static uint64_t take_number(struct reading *reading, int column) {
    uint64_t high = seep_take_leb(&reading->columns[column]);
    return high << 8 | take_byte(reading, column + 1);
}

static uint64_t take_difference(struct reading *reading, int column) {
    return (uint64_t)seep_unzigzag(take_number(reading, column)) << 4;
}

static void take_site_and_size(struct reading *reading, const struct lane *lane,
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

static uint64_t take_address(struct reading *reading, const struct lane *lane, struct class *class,
                             uint32_t how) {
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

static void take_allocation(struct reading *reading, struct lane *lane, struct seep_recorded *event,
                            uint32_t index, uint32_t operation) {
    event->kind = operation & OPERATION_KEPT ? SEEP_EVENT_KEPT : SEEP_EVENT_ALLOCATION;
    take_site_and_size(reading, lane, event);
    struct class *class = class_of(lane, event->size);
    event->address = take_address(reading, lane, class, operation & 31);
    learn_allocation(&reading->model, lane, class, event, index);
}

static void take_near(struct reading *reading, struct lane *lane, struct seep_recorded *events, uint32_t i,
                      uint32_t how) {
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

static void take_free(struct reading *reading, struct lane *lane, struct seep_recorded *events, uint32_t i,
                      uint32_t operation) {
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

static void take_event(struct reading *reading, struct seep_recorded *events, uint32_t i,
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
    uint64_t lengths[COLUMN_NR];
    for (int i = 0; i < COLUMN_NR; i++)
        lengths[i] = seep_take_leb(take);
    for (int i = 0; i < COLUMN_NR; i++) {
        const unsigned char *bytes = seep_take_bytes(take, lengths[i]);
        columns[i] = (struct seep_take){bytes, bytes ? bytes + lengths[i] : NULL, !bytes};
    }
    return !take->failed && lengths[COLUMN_OPERATION] == chunk->nr_events && !seep_take_left(take);
}

bool seep_chunk_take_events(struct seep_take *take, unsigned version, const struct seep_chunk *chunk,
                            struct seep_recorded *ret_events) {
    if (version == 1)
        return seep_chunk_take_events_v1(take, chunk, ret_events);
    struct reading *reading = calloc(1, sizeof(*reading));
    bool good = reading && take_columns(take, chunk, reading->columns);
    for (uint32_t i = 0; good && i < chunk->nr_events && !reading->failed; i++)
        take_event(reading, ret_events, i, *reading->columns[COLUMN_OPERATION].at++);
    good = good && !reading->failed;
    for (int i = 0; good && i < COLUMN_NR; i++)
        good = !reading->columns[i].failed && !seep_take_left(&reading->columns[i]);
    free(reading);
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

// SPDX-License-Identifier: BSD-2-Clause
// Merges the events of a library that was alone, see event_alone.h.
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/records.h"
#include "source/image/event_alone.h"
#include "image/raw.h"
#include "source/image/image_copy.h"
#include "source/image/image_decode.h"

// Rows of one thread, at one place of the file.
struct piece {
    const unsigned char *rows;
    size_t nr_bytes;
    uint32_t nr_events;
    uint32_t slot;
    size_t next; // of the same thread, + 1; 0: none
};

// The events of one thread.
struct stream {
    uint32_t slot;
    size_t first; // piece + 1; 0: none
    size_t last;
    size_t next;
    struct seep_recorded *ring; // what was in its ring
    size_t nr_ring;
    bool ring_taken;
    struct seep_recorded *events; // at work: of a piece, or the ring's
    size_t capacity;
    size_t at;
    size_t nr;
    uint64_t wide; // size of the event that follows in the next piece; 0: it has its own
};

struct seep_event_alone {
    struct seep_image_copy *copy;
    struct piece *pieces;
    size_t nr_pieces;
    size_t pieces_capacity;
    struct stream *streams;
    size_t nr_streams;
    size_t streams_capacity;
    struct seep_map stream_of;    // slot to stream + 1
    struct seep_map sizes, sites; // by address, of its latest block
    uint32_t *heap;               // streams that have events, the one with the lowest stamp first
    size_t nr_heap;
    struct seep_chunk_clock begin, end;
    uint64_t nr_damaged;
};

void seep_event_alone_destroy(struct seep_event_alone *alone) {
    if (!alone)
        return;
    for (size_t i = 0; i < alone->nr_streams; i++) {
        free(alone->streams[i].ring);
        free(alone->streams[i].events);
    }
    seep_image_copy_destroy(alone->copy);
    seep_map_deinit(&alone->stream_of);
    seep_map_deinit(&alone->sizes);
    seep_map_deinit(&alone->sites);
    free(alone->pieces);
    free(alone->streams);
    free(alone->heap);
    free(alone);
}

static struct stream *stream_of(struct seep_event_alone *alone, uint32_t slot) {
    uint64_t *place = seep_map_at(&alone->stream_of, slot, NULL);
    if (!place)
        return NULL;
    if (!*place) {
        if (!seep_grow(&alone->streams, &alone->streams_capacity, alone->nr_streams + 1,
                       sizeof(*alone->streams)))
            return NULL;
        alone->streams[alone->nr_streams++].slot = slot;
        *place = alone->nr_streams;
    }
    return &alone->streams[*place - 1];
}

// ---- what there is -----------------------------------------------------------------------------------

static void note_clock(struct seep_event_alone *alone, uint64_t stamp, uint64_t at_ns) {
    uint64_t start_ns = alone->copy->head.header.start_ns;
    if (stamp > alone->end.stamp)
        alone->end = (struct seep_chunk_clock){stamp, at_ns > start_ns ? at_ns - start_ns : 0};
}

static struct seep_error *add_piece(struct seep_event_alone *alone, const unsigned char *bytes,
                                    size_t nr_bytes) {
    struct seep_raw_events head;
    if (nr_bytes < sizeof(head))
        return NULL; // cut
    const struct seep_image_head *image = &alone->copy->head;
    head = (struct seep_raw_events){.slot = seep_image_u32(image, bytes),
                                    .nr_events = seep_image_u32(image, bytes + 4),
                                    .stamp = seep_image_u64(image, bytes + 8),
                                    .at_ns = seep_image_u64(image, bytes + 16)};
    enum { ROW_LEAST = 3 };
    nr_bytes -= sizeof(head);
    if (head.slot >= SEEP_RING_SLOTS || head.nr_events > nr_bytes / ROW_LEAST) {
        alone->nr_damaged++;
        return NULL;
    }
    struct stream *stream = stream_of(alone, head.slot);
    if (!stream ||
        !seep_grow(&alone->pieces, &alone->pieces_capacity, alone->nr_pieces + 1, sizeof(*alone->pieces)))
        return seep_error_no_memory();
    alone->pieces[alone->nr_pieces++] = (struct piece){
        .rows = bytes + sizeof(head), .nr_bytes = nr_bytes, .nr_events = head.nr_events, .slot = head.slot};
    if (stream->last)
        alone->pieces[stream->last - 1].next = alone->nr_pieces;
    else
        stream->first = alone->nr_pieces;
    stream->last = alone->nr_pieces;
    note_clock(alone, head.stamp, head.at_ns);
    return NULL;
}

static struct seep_error *find_pieces(struct seep_event_alone *alone, const unsigned char *bytes,
                                      size_t nr_bytes) {
    struct seep_error *error = NULL;
    size_t at = sizeof(struct seep_raw_header);
    bool is_swapped;
    if (!seep_image_is_raw(bytes, nr_bytes, &is_swapped))
        return NULL;
    while (!error && at <= nr_bytes && nr_bytes - at >= sizeof(struct seep_raw_record)) {
        struct seep_raw_record record = seep_image_raw_record(bytes + at, is_swapped);
        at += sizeof(record);
        if (record.image_offset == SEEP_RAW_END || record.image_offset == SEEP_RAW_WHOLE ||
            record.nr_bytes > nr_bytes - at || (!record.image_offset && !record.nr_bytes))
            break;
        if (record.image_offset == SEEP_RAW_EVENTS)
            error = add_piece(alone, bytes + at, (size_t)record.nr_bytes);
        at += (size_t)record.nr_bytes;
    }
    return error;
}

static bool is_known(uint32_t kind) {
    return kind == SEEP_EVENT_ALLOCATION || kind == SEEP_EVENT_KEPT || seep_event_is_free(kind);
}

// What is left in the ring at that page.
static struct seep_error *take_ring(struct seep_event_alone *alone, uint32_t slot, uint32_t page) {
    struct seep_ring ring;
    uint64_t off = seep_image_pool_off(alone->copy, page);
    seep_image_read(alone->copy, off, &ring, sizeof(ring));
    seep_image_swap_ring(&alone->copy->head, &ring);
    ring.read = ring.own ? ring.own - 1 : ring.read; // of a tool that was taken over from
    uint64_t nr = ring.written - ring.read;
    if (!nr || !ring.capacity || ring.capacity > SEEP_RING_EVENTS || ring.capacity & (ring.capacity - 1) ||
        nr > ring.capacity) {
        alone->nr_damaged += nr != 0;
        return NULL;
    }
    struct stream *stream = stream_of(alone, slot);
    if (!stream)
        return seep_error_no_memory();
    stream->ring = calloc((size_t)nr, sizeof(*stream->ring));
    if (!stream->ring)
        return seep_error_no_memory();
    uint64_t wide = 0;
    for (uint64_t i = ring.read; i != ring.written; i++) {
        struct seep_event event;
        seep_image_read(alone->copy, off + SEEP_POOL_PAGE + (i & (ring.capacity - 1)) * sizeof(event), &event,
                        sizeof(event));
        seep_image_swap_words(&alone->copy->head, (uint64_t *)&event, sizeof(event) / sizeof(uint64_t));
        uint32_t kind = SEEP_EVENT_KIND(event);
        if (is_known(kind))
            stream->ring[stream->nr_ring++] =
                (struct seep_recorded){.stamp = SEEP_EVENT_STAMP(event),
                                       .address = event.address,
                                       .size = wide ? wide : SEEP_ENTRY_SIZE(event.entry),
                                       .site = SEEP_ENTRY_SITE(event.entry),
                                       .slot = slot,
                                       .kind = kind};
        wide = kind == SEEP_EVENT_WIDE ? event.address : 0;
    }
    return NULL;
}

bool seep_event_alone_add_ring(struct seep_event_alone *alone, uint32_t slot,
                               const struct seep_recorded *events, size_t nr) {
    struct stream *stream = stream_of(alone, slot);
    if (!stream)
        return false;
    if (!nr || stream->nr_ring)
        return true;
    stream->ring = calloc(nr, sizeof(*events));
    if (stream->ring)
        memcpy(stream->ring, events, nr * sizeof(*events));
    stream->nr_ring = stream->ring ? nr : 0;
    uint32_t *heap = realloc(alone->heap, (alone->nr_streams + 1) * sizeof(*heap));
    alone->heap = heap ? heap : alone->heap;
    return stream->ring && heap;
}

static struct seep_error *take_rings(struct seep_event_alone *alone) {
    const struct seep_image_header *header = &alone->copy->head.header;
    uint64_t nr_pages = header->areas[SEEP_AREA_POOL].size / SEEP_POOL_PAGE;
    uint64_t nr = SEEP_MIN(header->areas[SEEP_AREA_THREADS].used, (uint64_t)SEEP_RING_SLOTS);
    struct seep_error *error = NULL;
    for (uint32_t slot = 0; !error && header->ring_dir_page && slot < nr; slot++) {
        unsigned char entry[sizeof(uint32_t)];
        seep_image_read(alone->copy,
                        seep_image_pool_off(alone->copy, header->ring_dir_page) + slot * sizeof(entry), entry,
                        sizeof(entry));
        uint32_t page = seep_image_u32(&alone->copy->head, entry);
        if (page && page < nr_pages)
            error = take_ring(alone, slot, page);
    }
    return error;
}

// ---- rows --------------------------------------------------------------------------------------------

static uint64_t plus_zigzag(struct seep_take *take, uint64_t before) {
    return before + (uint64_t)seep_take_zigzag(take);
}

// false: the rows make no sense from here on.
static bool take_row(struct seep_take *take, struct seep_recorded *last, uint64_t *ret_known) {
    const unsigned char *head = seep_take_bytes(take, 1);
    if (!head)
        return false;
    last->kind = *head & SEEP_ROW_KIND;
    last->stamp += seep_take_leb(take);
    last->address = plus_zigzag(take, last->address);
    *ret_known = *head & SEEP_ROW_KNOWN;
    if (*ret_known)
        return !take->failed && seep_event_is_free(last->kind);
    if (!(*head & SEEP_ROW_SAME_SITE)) {
        uint64_t site = plus_zigzag(take, last->site);
        take->failed |= site > UINT32_MAX;
        last->site = (uint32_t)site;
    }
    if (!(*head & SEEP_ROW_SAME_SIZE))
        last->size = seep_take_leb(take);
    return !take->failed && (is_known(last->kind) || last->kind == SEEP_EVENT_WIDE);
}

// Size UINT64_MAX: those of the block's allocation.
static struct seep_error *unpack(struct seep_event_alone *alone, struct stream *stream,
                                 const struct piece *piece) {
    if (!seep_grow(&stream->events, &stream->capacity, piece->nr_events ? piece->nr_events : 1,
                   sizeof(*stream->events)))
        return seep_error_no_memory();
    struct seep_take take = {piece->rows, piece->rows + piece->nr_bytes, false};
    struct seep_recorded last = {.slot = piece->slot};
    stream->at = stream->nr = 0;
    for (uint32_t i = 0; i < piece->nr_events; i++) {
        uint64_t known;
        if (!take_row(&take, &last, &known)) {
            alone->nr_damaged++;
            break;
        }
        if (last.kind == SEEP_EVENT_WIDE) {
            stream->wide = last.address;
            continue;
        }
        struct seep_recorded *event = &stream->events[stream->nr++];
        *event = last;
        event->size = known ? UINT64_MAX : stream->wide ? stream->wide : last.size;
        stream->wide = 0;
    }
    return NULL;
}

// The next piece of a thread, or what was in its ring; nr 0: no more.
static struct seep_error *refill(struct seep_event_alone *alone, struct stream *stream) {
    stream->at = stream->nr = 0;
    while (stream->next && !stream->nr) {
        const struct piece *piece = &alone->pieces[stream->next - 1];
        stream->next = piece->next;
        struct seep_error *error = unpack(alone, stream, piece);
        if (error)
            return error;
    }
    if (stream->nr || stream->ring_taken || !stream->nr_ring)
        return NULL;
    stream->ring_taken = true;
    if (!seep_grow(&stream->events, &stream->capacity, stream->nr_ring, sizeof(*stream->events)))
        return seep_error_no_memory();
    memcpy(stream->events, stream->ring, stream->nr_ring * sizeof(*stream->events));
    stream->nr = stream->nr_ring;
    stream->events[0].size = stream->wide ? stream->wide : stream->events[0].size;
    stream->wide = 0;
    return NULL;
}

// ---- merging -----------------------------------------------------------------------------------------

static uint64_t stamp_of(const struct seep_event_alone *alone, uint32_t stream) {
    return alone->streams[stream].events[alone->streams[stream].at].stamp;
}

static void sift_down(struct seep_event_alone *alone, size_t at) {
    uint32_t *heap = alone->heap;
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < alone->nr_heap; child++)
            if (stamp_of(alone, heap[child]) < stamp_of(alone, heap[least]))
                least = child;
        if (least == at)
            return;
        uint32_t moved = heap[at];
        heap[at] = heap[least];
        heap[least] = moved;
        at = least;
    }
}

struct seep_error *seep_event_alone_rewind(struct seep_event_alone *alone) {
    seep_map_deinit(&alone->sizes);
    seep_map_deinit(&alone->sites);
    alone->sizes = alone->sites = (struct seep_map)SEEP_MAP_INIT;
    alone->nr_heap = 0;
    for (size_t i = 0; i < alone->nr_streams; i++) {
        alone->streams[i].next = alone->streams[i].first;
        alone->streams[i].ring_taken = false;
        alone->streams[i].wide = 0;
        struct seep_error *error = refill(alone, &alone->streams[i]);
        if (error)
            return error;
        if (alone->streams[i].nr)
            alone->heap[alone->nr_heap++] = (uint32_t)i;
    }
    for (size_t i = alone->nr_heap / 2; i-- > 0;)
        sift_down(alone, i);
    return NULL;
}

// Takes the first of the heap.
static struct seep_error *take_first(struct seep_event_alone *alone, struct seep_recorded *ret_event) {
    struct stream *stream = &alone->streams[alone->heap[0]];
    *ret_event = stream->events[stream->at++];
    if (stream->at == stream->nr) {
        struct seep_error *error = refill(alone, stream);
        if (error)
            return error;
    }
    if (!stream->nr)
        alone->heap[0] = alone->heap[--alone->nr_heap];
    if (alone->nr_heap)
        sift_down(alone, 0);
    if (seep_event_is_free(ret_event->kind)) {
        if (ret_event->size != UINT64_MAX)
            return NULL;
        const uint64_t *size = seep_map_find(&alone->sizes, ret_event->address);
        const uint64_t *site = seep_map_find(&alone->sites, ret_event->address);
        ret_event->size = size ? *size : 0;
        ret_event->site = site ? (uint32_t)*site : SEEP_SITE_UNKNOWN;
        return NULL;
    }
    uint64_t *size = seep_map_at(&alone->sizes, ret_event->address, NULL);
    uint64_t *site = seep_map_at(&alone->sites, ret_event->address, NULL);
    if (!size || !site)
        return seep_error_no_memory();
    *size = ret_event->size;
    *site = ret_event->site;
    return NULL;
}

struct seep_error *seep_event_alone_next(struct seep_event_alone *alone, struct seep_chunk *ret_chunk,
                                         struct seep_recorded *ret_events) {
    struct seep_chunk chunk = {.pid = alone->copy->head.header.pid,
                               .start_realtime_ns = (int64_t)alone->copy->head.header.start_realtime_ns,
                               .begin = alone->begin,
                               .end = alone->end};
    struct seep_error *error = NULL;
    while (!error && alone->nr_heap && chunk.nr_events < SEEP_CHUNK_EVENTS) {
        const struct seep_recorded *event = &ret_events[chunk.nr_events];
        error = take_first(alone, &ret_events[chunk.nr_events++]);
        int64_t size = (int64_t)SEEP_MIN(event->size, (uint64_t)INT64_MAX / SEEP_CHUNK_EVENTS);
        chunk.net_bytes += seep_event_is_free(event->kind) ? -size : size;
        chunk.most_bytes = SEEP_MAX(chunk.most_bytes, chunk.net_bytes);
    }
    *ret_chunk = chunk;
    return error;
}

uint64_t seep_event_alone_start(const struct seep_event_alone *alone) {
    return alone->copy->head.header.start_realtime_ns;
}

uint64_t seep_event_alone_damaged(const struct seep_event_alone *alone) {
    return alone->nr_damaged;
}

static struct seep_error *fill(struct seep_event_alone *alone, const void *bytes, size_t nr_bytes,
                               const char *name) {
    struct seep_error *error = seep_image_copy_from_raw(bytes, nr_bytes, name, &alone->copy);
    if (error)
        return error;
    const struct seep_image_header *header = &alone->copy->head.header;
    if (!(header->flags & SEEP_FLAG_EVENTS))
        return seep_error_create(SEEP_E_UNSUPPORTED, "%s: there are no events in it", name);
    alone->begin = (struct seep_chunk_clock){
        header->ring_stamp,
        header->ring_stamp_ns > header->start_ns ? header->ring_stamp_ns - header->start_ns : 0};
    alone->end = alone->begin;
    note_clock(alone, header->copied_stamp, header->copied_ns);
    error = find_pieces(alone, bytes, nr_bytes);
    if (!error)
        error = take_rings(alone);
    if (!error && !(alone->heap = calloc(alone->nr_streams + 1, sizeof(*alone->heap))))
        error = seep_error_no_memory();
    return error ? error : seep_event_alone_rewind(alone);
}

struct seep_error *seep_event_alone_create(const void *bytes, size_t nr_bytes, const char *name,
                                           struct seep_event_alone **ret_alone) {
    struct seep_event_alone *alone = calloc(1, sizeof(*alone));
    if (!alone)
        return seep_error_no_memory();
    struct seep_error *error = fill(alone, bytes, nr_bytes, name);
    if (error)
        seep_event_alone_destroy(alone);
    else
        *ret_alone = alone;
    return error;
}

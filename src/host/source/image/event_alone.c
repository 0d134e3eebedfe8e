// SPDX-License-Identifier: BSD-2-Clause
// Merges the events of a library that was alone, see event_alone.h.
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/merge_heap.h"
#include "base/read_at.h"
#include "base/records.h"
#include "source/image/event_alone.h"
#include "source/image/image_copy.h"
#include "source/image/image_decode.h"
#include "source/image/raw_file.h"

// Rows of one thread, at one place of the file.
struct piece {
    uint64_t off;
    uint32_t nr_bytes;
    uint32_t nr_events;
    size_t next; // of the same thread, + 1; 0: none
};

// The events of one thread: those of its pieces, then what was in its ring.
struct stream {
    uint32_t slot;
    size_t first; // piece + 1; 0: none
    size_t last;
    size_t next;
    unsigned char *rows; // of the piece at work
    size_t rows_capacity;
    struct seep_take take;
    uint32_t nr_left; // of its events
    struct seep_recorded row;
    struct ring {
        uint64_t off; // of its events in the image; 0: there are none
        uint64_t mask;
        uint64_t first, end;
    } ring;
    uint64_t ring_at;
    struct seep_recorded *queue; // in place of the ring
    size_t nr_queue;
    size_t queue_at;
    struct seep_recorded event; // the next
    bool has_event;
    uint64_t wide; // size of the event that follows; 0: it has its own
};

struct seep_event_alone {
    int fd;
    struct seep_image_copy *copy;
    struct seep_raw_file file;
    struct piece *pieces;
    size_t nr_pieces;
    struct stream *streams;
    size_t nr_streams;
    size_t streams_capacity;
    struct seep_map stream_of; // slot to stream + 1
    struct seep_map blocks;    // those that live: address to site << 32 | size, or SIZE_IS_WIDE
    struct seep_map sizes;     // of the latter
    uint64_t nr_in_rings;
    uint32_t *heap; // streams that have events, the one with the lowest stamp first
    size_t nr_heap;
    struct seep_chunk_clock begin, end;
    uint64_t nr_damaged;      // what was found when it was opened
    uint64_t nr_damaged_rows; // and since the latest rewind
};
#define SIZE_IS_WIDE UINT32_MAX

void seep_event_alone_destroy(struct seep_event_alone *alone) {
    if (!alone)
        return;
    for (size_t i = 0; i < alone->nr_streams; i++) {
        free(alone->streams[i].rows);
        free(alone->streams[i].queue);
    }
    seep_image_copy_destroy(alone->copy);
    seep_raw_file_deinit(&alone->file);
    seep_map_deinit(&alone->stream_of);
    seep_map_deinit(&alone->blocks);
    seep_map_deinit(&alone->sizes);
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

static struct seep_error *take_pieces(struct seep_event_alone *alone) {
    struct seep_raw_file *file = &alone->file;
    alone->nr_damaged = file->nr_damaged;
    alone->pieces = calloc(file->nr_rows + 1, sizeof(*alone->pieces));
    if (!alone->pieces)
        return seep_error_no_memory();
    for (size_t i = 0; i < file->nr_rows; i++) {
        const struct seep_raw_rows *rows = &file->rows[i];
        struct stream *stream = stream_of(alone, rows->head.slot);
        if (!stream)
            return seep_error_no_memory();
        alone->pieces[alone->nr_pieces++] =
            (struct piece){.off = rows->off, .nr_bytes = rows->nr_bytes, .nr_events = rows->head.nr_events};
        if (stream->last)
            alone->pieces[stream->last - 1].next = alone->nr_pieces;
        else
            stream->first = alone->nr_pieces;
        stream->last = alone->nr_pieces;
        note_clock(alone, rows->head.stamp, rows->head.at_ns);
    }
    free(file->rows);
    file->rows = NULL;
    return NULL;
}

static bool is_known(uint32_t kind) {
    return kind == SEEP_EVENT_ALLOCATION || kind == SEEP_EVENT_KEPT || seep_event_is_free(kind);
}

// What is left in the ring at that page.
static struct seep_error *find_ring(struct seep_event_alone *alone, uint32_t slot, uint32_t page) {
    struct seep_ring ring;
    uint64_t off = seep_image_page_off(alone->copy, page);
    seep_image_read(alone->copy, off, &ring, sizeof(ring));
    seep_image_swap_ring(&alone->copy->head, &ring);
    ring.read = ring.own ? ring.own - 1 : ring.read; // of a tool that was taken over from
    uint64_t nr = ring.written - ring.read;
    // All rings together have no more events than the image has data, because a hole has no events.
    uint64_t room = alone->copy->data_bytes / sizeof(struct seep_event) - alone->nr_in_rings;
    if (!nr || !ring.capacity || ring.capacity > SEEP_RING_EVENTS || ring.capacity & (ring.capacity - 1) ||
        nr > SEEP_MIN(ring.capacity, room)) {
        alone->nr_damaged += nr != 0;
        return NULL;
    }
    struct stream *stream = stream_of(alone, slot);
    if (!stream)
        return seep_error_no_memory();
    alone->nr_in_rings += nr;
    stream->ring = (struct ring){
        .off = off + SEEP_IMAGE_PAGE, .mask = ring.capacity - 1, .first = ring.read, .end = ring.written};
    return NULL;
}

bool seep_event_alone_add_ring(struct seep_event_alone *alone, uint32_t slot,
                               const struct seep_recorded *events, size_t nr) {
    struct stream *stream = stream_of(alone, slot);
    if (!stream)
        return false;
    if (!nr || stream->ring.off || stream->queue)
        return true;
    stream->queue = calloc(nr, sizeof(*events));
    if (stream->queue)
        memcpy(stream->queue, events, nr * sizeof(*events));
    stream->nr_queue = stream->queue ? nr : 0;
    uint32_t *heap = realloc(alone->heap, (alone->nr_streams + 1) * sizeof(*heap));
    alone->heap = heap ? heap : alone->heap;
    return stream->queue && heap;
}

static struct seep_error *find_rings(struct seep_event_alone *alone) {
    const struct seep_image_header *header = &alone->copy->head.header;
    uint64_t nr_pages = header->areas[SEEP_AREA_PAGES].size / SEEP_IMAGE_PAGE;
    uint64_t nr = SEEP_MIN(header->areas[SEEP_AREA_THREADS].used, (uint64_t)SEEP_RING_SLOTS);
    struct seep_error *error = NULL;
    for (uint32_t slot = 0; !error && header->ring_dir_page && slot < nr; slot++) {
        unsigned char entry[sizeof(uint32_t)];
        seep_image_read(alone->copy,
                        seep_image_page_off(alone->copy, header->ring_dir_page) + slot * sizeof(entry), entry,
                        sizeof(entry));
        uint32_t page = seep_image_u32(&alone->copy->head, entry);
        if (page && page < nr_pages)
            error = find_ring(alone, slot, page);
    }
    return error;
}

// ---- the events of a thread --------------------------------------------------------------------------

// false: the rows make no sense from here on.
static bool take_row(struct seep_take *take, struct seep_recorded *last, uint64_t *ret_known) {
    const unsigned char *head = seep_take_bytes(take, 1);
    if (!head)
        return false;
    last->kind = *head & SEEP_ROW_KIND;
    last->stamp += seep_take_leb(take);
    last->address += (uint64_t)seep_take_zigzag(take) << (*head & SEEP_ROW_SIXTEENTHS ? 4 : 0);
    *ret_known = *head & SEEP_ROW_KNOWN;
    if (*ret_known)
        return !take->failed && seep_event_is_free(last->kind);
    if (!(*head & SEEP_ROW_SAME_SITE)) {
        uint64_t site = last->site + (uint64_t)seep_take_zigzag(take);
        take->failed |= site > UINT32_MAX;
        last->site = (uint32_t)site;
    }
    if (!(*head & SEEP_ROW_SAME_SIZE))
        last->size = seep_take_leb(take);
    return !take->failed && (is_known(last->kind) || last->kind == SEEP_EVENT_WIDE);
}

static struct seep_error *begin_piece(struct seep_event_alone *alone, struct stream *stream) {
    const struct piece *piece = &alone->pieces[stream->next - 1];
    stream->next = piece->next;
    if (!seep_grow(&stream->rows, &stream->rows_capacity, piece->nr_bytes, 1))
        return seep_error_no_memory();
    bool good = seep_read_at(alone->fd, piece->off, stream->rows, piece->nr_bytes);
    alone->nr_damaged_rows += !good; // it became shorter
    stream->nr_left = good ? piece->nr_events : 0;
    stream->take = (struct seep_take){stream->rows, stream->rows + piece->nr_bytes, false};
    stream->row = (struct seep_recorded){.slot = stream->slot};
    return NULL;
}

// false: it is no event by itself. Size UINT64_MAX: those of the block's allocation.
static bool next_row(struct seep_event_alone *alone, struct stream *stream) {
    uint64_t known;
    stream->nr_left--;
    if (!take_row(&stream->take, &stream->row, &known)) {
        alone->nr_damaged_rows++;
        stream->nr_left = 0;
        return false;
    }
    if (stream->row.kind == SEEP_EVENT_WIDE) {
        stream->wide = stream->row.address;
        return false;
    }
    stream->event = stream->row;
    if (known)
        stream->event.size = UINT64_MAX;
    else if (stream->wide)
        stream->event.size = stream->wide;
    stream->wide = 0;
    return true;
}

static bool next_of_ring(struct seep_event_alone *alone, struct stream *stream) {
    struct seep_event event;
    uint64_t at = stream->ring_at++ & stream->ring.mask;
    seep_image_read(alone->copy, stream->ring.off + at * sizeof(event), &event, sizeof(event));
    seep_image_swap_words(&alone->copy->head, (uint64_t *)&event, sizeof(event) / sizeof(uint64_t));
    uint64_t size = stream->wide ? stream->wide : SEEP_ENTRY_SIZE(event.entry);
    stream->wide = SEEP_EVENT_KIND(event) == SEEP_EVENT_WIDE ? event.address : 0;
    stream->event = (struct seep_recorded){.stamp = SEEP_EVENT_STAMP(event),
                                           .address = event.address,
                                           .size = size,
                                           .site = SEEP_ENTRY_SITE(event.entry),
                                           .slot = stream->slot,
                                           .kind = SEEP_EVENT_KIND(event)};
    return is_known(stream->event.kind);
}

static bool next_of_queue(struct stream *stream) {
    stream->event = stream->queue[stream->queue_at++];
    if (stream->wide)
        stream->event.size = stream->wide;
    stream->wide = 0;
    return true;
}

static struct seep_error *advance(struct seep_event_alone *alone, struct stream *stream) {
    struct seep_error *error = NULL;
    stream->has_event = false;
    while (!error && !stream->has_event) {
        if (stream->nr_left)
            stream->has_event = next_row(alone, stream);
        else if (stream->next)
            error = begin_piece(alone, stream);
        else if (stream->ring_at != stream->ring.end)
            stream->has_event = next_of_ring(alone, stream);
        else if (stream->queue_at < stream->nr_queue)
            stream->has_event = next_of_queue(stream);
        else
            break;
    }
    return error;
}

// ---- merging -----------------------------------------------------------------------------------------

static uint64_t stamp_of(const void *streams, uint32_t stream) {
    return ((const struct stream *)streams)[stream].event.stamp;
}

struct seep_error *seep_event_alone_rewind(struct seep_event_alone *alone) {
    seep_map_deinit(&alone->blocks);
    seep_map_deinit(&alone->sizes);
    alone->nr_heap = 0;
    alone->nr_damaged_rows = 0;
    for (size_t i = 0; i < alone->nr_streams; i++) {
        struct stream *stream = &alone->streams[i];
        stream->next = stream->first;
        stream->nr_left = 0;
        stream->ring_at = stream->ring.first;
        stream->queue_at = 0;
        stream->wide = 0;
        struct seep_error *error = advance(alone, stream);
        if (error)
            return error;
        if (stream->has_event)
            alone->heap[alone->nr_heap++] = (uint32_t)i;
    }
    seep_merge_heap_make(alone->heap, alone->nr_heap, stamp_of, alone->streams);
    return NULL;
}

// What is known of a block that is freed.
static void forget_block(struct seep_event_alone *alone, struct seep_recorded *event) {
    const uint64_t *block = seep_map_find(&alone->blocks, event->address);
    bool is_wide = block && (uint32_t)*block == SIZE_IS_WIDE;
    if (event->size == UINT64_MAX) {
        event->size = !block ? 0 : is_wide ? *seep_map_find(&alone->sizes, event->address) : (uint32_t)*block;
        event->site = block ? (uint32_t)(*block >> 32) : SEEP_SITE_UNKNOWN;
    }
    if (block)
        seep_map_remove(&alone->blocks, event->address);
    if (is_wide)
        seep_map_remove(&alone->sizes, event->address);
}

static bool keep_block(struct seep_event_alone *alone, const struct seep_recorded *event) {
    uint64_t *block = seep_map_at(&alone->blocks, event->address, NULL);
    bool is_wide = event->size >= SIZE_IS_WIDE;
    uint64_t *size = block && is_wide ? seep_map_at(&alone->sizes, event->address, NULL) : NULL;
    if (!block || (is_wide && !size))
        return false;
    *block = (uint64_t)event->site << 32 | (is_wide ? SIZE_IS_WIDE : event->size);
    if (size)
        *size = event->size;
    return true;
}

// Takes the first of the heap.
static struct seep_error *take_first(struct seep_event_alone *alone, struct seep_recorded *ret_event) {
    struct stream *stream = &alone->streams[alone->heap[0]];
    *ret_event = stream->event;
    struct seep_error *error = advance(alone, stream);
    if (error)
        return error;
    if (!stream->has_event)
        alone->heap[0] = alone->heap[--alone->nr_heap];
    if (alone->nr_heap)
        seep_merge_heap_sift_down(alone->heap, alone->nr_heap, 0, stamp_of, alone->streams);
    if (seep_event_is_free(ret_event->kind))
        forget_block(alone, ret_event);
    else if (!keep_block(alone, ret_event))
        return seep_error_no_memory();
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
    return alone->nr_damaged + alone->nr_damaged_rows;
}

static struct seep_error *fill(struct seep_event_alone *alone, const char *name, uint64_t most_bytes) {
    struct seep_error *error = seep_raw_file_read(alone->fd, name, most_bytes, &alone->file);
    if (!error)
        error = seep_image_copy_from_raw(alone->file.bytes, alone->file.nr_bytes, name, &alone->copy);
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
    error = take_pieces(alone);
    if (!error)
        error = find_rings(alone);
    if (!error && !(alone->heap = calloc(alone->nr_streams + 1, sizeof(*alone->heap))))
        error = seep_error_no_memory();
    return error ? error : seep_event_alone_rewind(alone);
}

struct seep_error *seep_event_alone_create(int fd, const char *name, uint64_t most_bytes,
                                           struct seep_event_alone **ret_alone) {
    struct seep_event_alone *alone = calloc(1, sizeof(*alone));
    if (!alone)
        return seep_error_no_memory();
    alone->fd = fd;
    struct seep_error *error = fill(alone, name, most_bytes);
    if (error)
        seep_event_alone_destroy(alone);
    else
        *ret_alone = alone;
    return error;
}

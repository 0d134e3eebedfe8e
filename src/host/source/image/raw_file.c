// SPDX-License-Identifier: BSD-2-Clause
// Raw dumps without the rows of their events, see raw_file.h.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "base/read_at.h"
#include "source/image/image_decode.h"
#include "source/image/raw_file.h"

enum {
    WINDOW_BYTES = 4096,
    ROW_LEAST = 3,
    ROW_MOST = 40,
};

struct reading {
    int fd;
    const char *name;
    uint64_t size; // of the file
    uint64_t most_bytes;
    bool is_swapped;
    struct seep_raw_file *file;
    size_t capacity;
    size_t rows_capacity;
    bool early;            // between events: of a page the last one counts
    struct seep_map pages; // those of `early`: number to place in file->bytes
    unsigned char window[WINDOW_BYTES];
    uint64_t window_off;
    size_t window_bytes;
};

void seep_raw_file_deinit(struct seep_raw_file *file) {
    free(file->bytes);
    free(file->rows);
    *file = (struct seep_raw_file){.bytes = NULL};
}

bool seep_raw_file_is_one(int fd) {
    uint64_t magic;
    bool is_swapped;
    return seep_read_at(fd, 0, &magic, sizeof(magic)) &&
           seep_image_is_raw(&magic, sizeof(magic), &is_swapped);
}

// Headers may be dense: they are read by the page. NULL: the file ends before.
static const unsigned char *peek(struct reading *reading, uint64_t off, size_t nr_bytes) {
    if (off < reading->window_off || off + nr_bytes > reading->window_off + reading->window_bytes) {
        if (off > reading->size || reading->size - off < nr_bytes)
            return NULL;
        reading->window_off = off;
        reading->window_bytes = (size_t)SEEP_MIN(reading->size - off, (uint64_t)WINDOW_BYTES);
        if (!seep_read_at(reading->fd, off, reading->window, reading->window_bytes)) {
            reading->window_bytes = 0;
            return NULL;
        }
    }
    return reading->window + (off - reading->window_off);
}

// Room for so many bytes more. What is not written to takes no memory, so it may be more than is needed.
static struct seep_error *make_room(struct reading *reading, uint64_t nr_bytes) {
    struct seep_raw_file *file = reading->file;
    if (nr_bytes > reading->most_bytes || file->nr_bytes > reading->most_bytes - nr_bytes)
        return seep_error_create(SEEP_E_FORMAT,
                                 "%s: more than %llu MiB, too large for a trace on this machine",
                                 reading->name, (unsigned long long)(reading->most_bytes >> 20));
    size_t need = file->nr_bytes + (size_t)nr_bytes;
    if (need <= reading->capacity)
        return NULL;
    size_t capacity = SEEP_MAX(need, reading->capacity * 2);
    unsigned char *larger = realloc(file->bytes, capacity);
    if (!larger)
        return seep_error_no_memory();
    file->bytes = larger;
    reading->capacity = capacity;
    return NULL;
}

static struct seep_error *cannot_read(const struct reading *reading) {
    return seep_error_system(errno, "%s: cannot read", reading->name);
}

// A record, and as many of its bytes as there are.
static struct seep_error *append(struct reading *reading, struct seep_raw_record record, uint64_t off,
                                 uint64_t there) {
    struct seep_error *error = make_room(reading, sizeof(record) + there);
    if (error)
        return error;
    struct seep_raw_file *file = reading->file;
    if (reading->is_swapped)
        record = seep_image_raw_record(&record, true);
    memcpy(file->bytes + file->nr_bytes, &record, sizeof(record));
    file->nr_bytes += sizeof(record);
    if (!seep_read_at(reading->fd, off, file->bytes + file->nr_bytes, (size_t)there))
        return cannot_read(reading);
    file->nr_bytes += (size_t)there;
    return NULL;
}

static struct seep_error *take_early_pages(struct reading *reading, const struct seep_raw_record *record,
                                           uint64_t off, uint64_t there) {
    for (uint64_t done = 0; done < there; done += SEEP_IMAGE_PAGE) {
        uint64_t nr_bytes = SEEP_MIN(there - done, (uint64_t)SEEP_IMAGE_PAGE);
        uint64_t image_offset = record->image_offset + done;
        bool is_new;
        uint64_t *place = seep_map_at(&reading->pages, image_offset / SEEP_IMAGE_PAGE, &is_new);
        if (!place)
            return seep_error_no_memory();
        if (!is_new) {
            if (!seep_read_at(reading->fd, off + done, reading->file->bytes + *place, (size_t)nr_bytes))
                return cannot_read(reading);
            continue;
        }
        *place = reading->file->nr_bytes + sizeof(*record);
        struct seep_raw_record page = {image_offset, SEEP_IMAGE_PAGE};
        struct seep_error *error = append(reading, page, off + done, nr_bytes);
        if (error)
            return error;
    }
    return NULL;
}

static struct seep_error *take_rows(struct reading *reading, uint64_t off, uint64_t there) {
    struct seep_raw_file *file = reading->file;
    struct seep_raw_rows rows;
    const unsigned char *bytes = there < sizeof(rows.head) ? NULL : peek(reading, off, sizeof(rows.head));
    if (!bytes)
        return NULL; // cut
    rows.head = seep_image_raw_events(bytes, reading->is_swapped);
    there -= sizeof(rows.head);
    if (rows.head.slot >= SEEP_RING_SLOTS || rows.head.nr_events > there / ROW_LEAST ||
        there > (uint64_t)SEEP_RING_EVENTS * ROW_MOST) {
        file->nr_damaged++;
        return NULL;
    }
    rows.off = off + sizeof(rows.head);
    rows.nr_bytes = (uint32_t)there;
    if (!seep_grow(&file->rows, &reading->rows_capacity, file->nr_rows + 1, sizeof(*file->rows)))
        return seep_error_no_memory();
    file->rows[file->nr_rows++] = rows;
    return NULL;
}

static struct seep_error *take_record(struct reading *reading, const struct seep_raw_record *record,
                                      uint64_t off, uint64_t there) {
    bool was_early = reading->early;
    switch (record->image_offset) {
    case SEEP_RAW_WHOLE: // behind it comes all of the image
        reading->early = false;
        seep_map_deinit(&reading->pages);
        reading->file->nr_bytes = sizeof(struct seep_raw_header);
        return append(reading, *record, off, there);
    case SEEP_RAW_EVENTS:
        reading->early = true;
        if (!was_early) { // one of them, without rows, says which pages count
            struct seep_error *error = append(reading, (struct seep_raw_record){SEEP_RAW_EVENTS, 0}, off, 0);
            if (error)
                return error;
        }
        return take_rows(reading, off, there);
    default:
        return reading->early ? take_early_pages(reading, record, off, there)
                              : append(reading, *record, off, there);
    }
}

static struct seep_error *read_records(struct reading *reading) {
    uint64_t at = sizeof(struct seep_raw_header);
    const unsigned char *bytes;
    while ((bytes = peek(reading, at, sizeof(struct seep_raw_record)))) {
        struct seep_raw_record record = seep_image_raw_record(bytes, reading->is_swapped);
        if (record.image_offset == SEEP_RAW_END)
            return append(reading, record, at, 0);
        struct seep_error *error = seep_image_raw_check(&record, reading->name, at);
        if (error && reading->early && !record.image_offset) { // a hole: it was not written any more
            seep_error_destroy(error);
            return NULL;
        }
        at += sizeof(record);
        uint64_t there = SEEP_MIN(record.nr_bytes, reading->size - at);
        if (!error)
            error = take_record(reading, &record, at, there);
        if (error)
            return error;
        at += there;
    }
    return NULL;
}

static struct seep_error *read_all(struct reading *reading) {
    struct stat status;
    if (fstat(reading->fd, &status) != 0)
        return cannot_read(reading);
    reading->size = status.st_size > 0 ? (uint64_t)status.st_size : 0;
    size_t nr = (size_t)SEEP_MIN(reading->size, (uint64_t)sizeof(struct seep_raw_header));
    const unsigned char *bytes = peek(reading, 0, nr);
    struct seep_error *error =
        bytes ? seep_image_raw_begin(bytes, nr, reading->name, &reading->is_swapped) : cannot_read(reading);
    if (!error)
        error = make_room(reading, nr);
    if (error)
        return error;
    memcpy(reading->file->bytes, bytes, nr);
    reading->file->nr_bytes = nr;
    return read_records(reading);
}

struct seep_error *seep_raw_file_read(int fd, const char *name, uint64_t most_bytes,
                                      struct seep_raw_file *ret_file) {
    struct seep_raw_file file = {.bytes = NULL};
    struct reading reading = {.fd = fd, .name = name, .most_bytes = most_bytes, .file = &file};
    struct seep_error *error = read_all(&reading);
    seep_map_deinit(&reading.pages);
    if (error)
        seep_raw_file_deinit(&file);
    else
        *ret_file = file;
    return seep_image_file_damaged(error);
}

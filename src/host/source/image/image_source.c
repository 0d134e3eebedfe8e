// SPDX-License-Identifier: BSD-2-Clause
//
// Where the bytes of an image copy come from: a descriptor of the memory file, the memory of a
// process, or a raw dump. Nothing is mapped. See image_copy.h for the order of reading.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "source/image/image_source.h"
#include "image/raw.h"

// Pieces of this size bound what one lie about the size can make us allocate.
#define PIECE_BYTES ((size_t)1 << 20)
#define SPARE_BYTES (UINT64_C(64) << 20)
#define SHORT_NOTE  "the memory file of the image is shorter than it was made: something cut it"

bool seep_image_source_data(const struct seep_image_source *source, uint64_t from, uint64_t end,
                            uint64_t *ret_start, uint64_t *ret_stop) {
    off_t start = lseek(source->fd, (off_t)from, SEEK_DATA);
    if (start < 0 && (errno == EINVAL || errno == EOPNOTSUPP))
        start = (off_t)from; // a file system that knows no holes: all of it is data
    if (start < 0 || (uint64_t)start >= end)
        return false;
    off_t stop = lseek(source->fd, start, SEEK_HOLE);
    *ret_start = (uint64_t)start;
    *ret_stop = stop <= start ? end : SEEP_MIN((uint64_t)stop, end);
    return true;
}

static const struct seep_image_window *window_at(const struct seep_image_source *source, uint64_t off) {
    for (size_t i = 0; i < source->nr_windows; i++)
        if (off >= source->windows[i].image_off &&
            off - source->windows[i].image_off < source->windows[i].nr_bytes)
            return &source->windows[i];
    return NULL;
}

// The next run of pages that are present (or swapped out) in the process's page table. A page that
// only the file has does not show; that is why the arrays are read without asking (copy_arrays).
static bool mem_next(const struct seep_image_source *source, uint64_t from, uint64_t end, uint64_t *ret_start,
                     uint64_t *ret_stop) {
    uint64_t page = source->page_bytes;
    uint64_t start = UINT64_MAX;
    uint64_t entries[512];
    for (uint64_t at = from / page * page; at < end;) {
        const struct seep_image_window *window = window_at(source, at);
        if (!window)
            break;
        uint64_t in_window = window->nr_bytes - (at - window->image_off);
        uint64_t nr =
            SEEP_MIN(SEEP_MIN(in_window, end - at + page - 1) / page, (uint64_t)SEEP_ARRAY_SIZE(entries));
        uint64_t address = window->address + (at - window->image_off);
        ssize_t got =
            pread(source->pagemap_fd, entries, nr * sizeof(entries[0]), (off_t)(address / page * 8));
        if (got <= 0)
            break;
        for (ssize_t i = 0; i < got / 8; i++, at += page) {
            bool there = entries[i] >> 62;
            if (there && start == UINT64_MAX)
                start = at;
            if (!there && start != UINT64_MAX) {
                *ret_start = SEEP_MAX(start, from);
                *ret_stop = at;
                return true;
            }
        }
    }
    if (start == UINT64_MAX)
        return false;
    *ret_start = SEEP_MAX(start, from);
    *ret_stop = end;
    return true;
}

static ssize_t read_at(const struct seep_image_source *source, uint64_t off, unsigned char *bytes,
                       size_t nr) {
    uint64_t position = off;
    if (source->windows) {
        const struct seep_image_window *window = window_at(source, off);
        if (!window)
            return 0;
        position = window->address + (off - window->image_off);
        nr = SEEP_MIN(nr, window->nr_bytes - (off - window->image_off));
    }
    ssize_t got;
    do
        got = pread(source->fd, bytes, nr, (off_t)position);
    while (got < 0 && errno == EINTR);
    return got;
}

static struct seep_error *source_error(const struct seep_image_source *source) {
    int trouble = errno;
    if (source->windows && (trouble == ESRCH || trouble == EIO))
        return seep_error_create(SEEP_E_NOT_FOUND, "%s ended while it was read", source->name);
    return seep_error_system(trouble, "%s: cannot read the image", source->name);
}

// What a header or a file system says of the size may be anything. Of a file it cannot be much more than the
// file has blocks, though it grows while we look; and never half of this machine's memory.
static bool fits(const struct seep_image_copy *copy, const struct seep_image_source *source, uint64_t more) {
    static uint64_t memory; // the system is asked once
    if (!memory)
        memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
    uint64_t most = source->windows ? memory : SEEP_MIN(memory, source->data_bytes * 2 + SPARE_BYTES);
    return copy->data_bytes <= most && more <= most - copy->data_bytes;
}

// Copies [start, stop), which should be data.
static struct seep_error *copy_data(struct seep_image_copy *copy, const struct seep_image_source *source,
                                    uint64_t start, uint64_t stop, bool *ret_short) {
    if (stop > start && !fits(copy, source, stop - start))
        return seep_error_hint(seep_error_create(SEEP_E_FORMAT,
                                                 "%s: its image says it has %llu bytes more than can be",
                                                 source->name, (unsigned long long)(stop - start)),
                               "the image is damaged, or a process wants to hurt us: it is left out");
    while (start < stop) {
        size_t want = SEEP_MIN(stop - start, (uint64_t)PIECE_BYTES);
        unsigned char *bytes;
        struct seep_error *err = seep_image_copy_append(copy, start, want, &bytes);
        if (err)
            return err;
        for (size_t done = 0; done < want;) {
            ssize_t got = read_at(source, start + done, bytes + done, want - done);
            if (got <= 0)
                memset(bytes + done, 0, want - done);
            if (got < 0)
                return source_error(source);
            if (got == 0) { // cut off under our hands: the rest is zero
                *ret_short = true;
                return NULL;
            }
            done += (size_t)got;
        }
        start += want;
    }
    return NULL;
}

static struct seep_error *copy_range(struct seep_image_copy *copy, const struct seep_image_source *source,
                                     uint64_t from, uint64_t end, bool *ret_short) {
    uint64_t start = 0, stop = 0;
    while (from < end &&
           (source->windows ? mem_next : seep_image_source_data)(source, from, end, &start, &stop)) {
        struct seep_error *err = copy_data(copy, source, start, stop, ret_short);
        if (err)
            return err;
        from = stop;
    }
    return NULL;
}

#define KIND(kind) (UINT32_C(1) << (kind))

// Copies the used pages of the areas `kinds` that lie in [at, end).
static struct seep_error *copy_areas(struct seep_image_copy *copy, const struct seep_image_source *source,
                                     const struct seep_image_header *header, uint32_t kinds, uint64_t at,
                                     uint64_t end, bool *ret_short) {
    struct seep_error *err = NULL;
    for (int kind = 0; kind < SEEP_AREA_NR && !err; kind++) {
        const struct seep_image_area *area = &header->areas[kind];
        if (!(kinds & KIND(kind)) || !area->used)
            continue;
        uint64_t start = SEEP_MAX(area->off / SEEP_IMAGE_PAGE * SEEP_IMAGE_PAGE, at);
        uint64_t stop = area->off + area->used * area->element_bytes;
        stop = SEEP_MIN((stop + SEEP_IMAGE_PAGE - 1) / SEEP_IMAGE_PAGE * SEEP_IMAGE_PAGE, end);
        if (start >= stop)
            continue;
        err = (source->windows ? copy_data : copy_range)(copy, source, start, stop, ret_short);
        at = stop;
    }
    return err;
}

// What follows the arrays: heap map and counters.
static struct seep_error *copy_map(struct seep_image_copy *copy, const struct seep_image_source *source,
                                   const struct seep_image_head *head, bool *ret_short) {
    const struct seep_image_header *header = &head->header;
    uint64_t split = header->areas[SEEP_AREA_ODD].off / SEEP_IMAGE_PAGE * SEEP_IMAGE_PAGE;
    if (!source->windows)
        return seep_image_copy_around_rings(copy, source, head, split, source->nr_bytes, copy_range,
                                            ret_short);
    // Asking the page table for every page of a huge, nearly empty area takes long.
    const struct seep_image_area *pages = &header->areas[SEEP_AREA_PAGES];
    uint64_t end = SEEP_MIN(pages->off + pages->used * SEEP_IMAGE_PAGE, source->nr_bytes);
    struct seep_error *err = copy_range(copy, source, split, end, ret_short);
    if (err)
        return err;
    uint32_t behind = KIND(SEEP_AREA_NR) - KIND(SEEP_AREA_PAGES + 1);
    return copy_areas(copy, source, header, behind, end, source->nr_bytes, ret_short);
}

static struct seep_error *read_head(const struct seep_image_source *source,
                                    struct seep_image_head *ret_head) {
    unsigned char page[SEEP_IMAGE_PAGE];
    ssize_t got = read_at(source, 0, page, sizeof(page));
    return got < 0 ? source_error(source) : seep_image_head_decode(page, (size_t)got, source->name, ret_head);
}

static struct seep_error *copy_arrays(struct seep_image_copy *copy, const struct seep_image_source *source,
                                      uint64_t split, bool *ret_short) {
    if (!source->windows)
        return copy_range(copy, source, 0, split, ret_short);
    struct seep_image_head head;
    struct seep_error *err = read_head(source, &head);
    if (!err)
        err = copy_data(copy, source, 0, SEEP_IMAGE_PAGE, ret_short);
    if (err)
        return err;
    uint32_t arrays = KIND(SEEP_AREA_THREADS + 1) - KIND(SEEP_AREA_STRINGS);
    return copy_areas(copy, source, &head.header, arrays, SEEP_IMAGE_PAGE, split, ret_short);
}

static struct seep_error *copy_all(struct seep_image_copy *copy, const struct seep_image_source *source,
                                   const struct seep_image_head *head, bool *ret_short) {
    uint64_t split = head->header.areas[SEEP_AREA_ODD].off / SEEP_IMAGE_PAGE * SEEP_IMAGE_PAGE;
    seep_image_copy_reserve(copy, SEEP_MIN(source->data_bytes, source->nr_bytes));
    struct seep_error *err = copy_map(copy, source, head, ret_short);
    return err ? err : copy_arrays(copy, source, SEEP_MIN(split, source->nr_bytes), ret_short);
}

// The header, and the arrays that do not grow with the sites.
static struct seep_error *copy_small(struct seep_image_copy *copy, const struct seep_image_source *source,
                                     const struct seep_image_head *head, bool *ret_short) {
    const uint32_t small = KIND(SEEP_AREA_STRINGS) | KIND(SEEP_AREA_MODULES) | KIND(SEEP_AREA_THREADS);
    struct seep_error *err = copy_data(copy, source, 0, SEEP_IMAGE_PAGE, ret_short);
    return err ? err
               : copy_areas(copy, source, &head->header, small, SEEP_IMAGE_PAGE, source->nr_bytes, ret_short);
}

// Copies the parts of the image that a copy needs.
typedef struct seep_error *copy_parts(struct seep_image_copy *copy, const struct seep_image_source *source,
                                      const struct seep_image_head *head, bool *ret_short);

static struct seep_error *fill(struct seep_image_copy *copy, const struct seep_image_source *source,
                               copy_parts *parts) {
    struct seep_image_head head;
    struct seep_error *err = read_head(source, &head);
    if (err)
        return err;
    bool is_short = source->nr_bytes < head.header.file_size;
    err = parts(copy, source, &head, &is_short);
    if (!err && is_short)
        err = seep_image_copy_note(copy, SEEP_NOTE_IMAGE_CUT, SHORT_NOTE);
    if (!err)
        err = seep_image_copy_finish(copy, source->name);
    copy->taken_ns = (uint64_t)seep_monotonic_ns();
    return err;
}

static struct seep_error *copy_of(const struct seep_image_source *source, copy_parts *parts,
                                  struct seep_image_copy **ret_copy) {
    struct seep_image_copy *copy;
    struct seep_error *err = seep_image_copy_create(&copy);
    if (err)
        return err;
    err = fill(copy, source, parts);
    if (err) {
        seep_image_copy_destroy(copy);
        return err;
    }
    *ret_copy = copy;
    return NULL;
}

struct seep_error *seep_image_copy_from_source(const struct seep_image_source *source,
                                               struct seep_image_copy **ret_copy) {
    return copy_of(source, copy_all, ret_copy);
}

static struct seep_error *source_of_fd(int fd, const char *name, struct seep_image_source *ret_source) {
    struct stat status;
    if (fstat(fd, &status))
        return seep_error_system(errno, "%s", name);
    if (!S_ISREG(status.st_mode))
        return seep_error_create(SEEP_E_FORMAT, "%s: not a heap image (not a file)", name);
    *ret_source = (struct seep_image_source){.name = name,
                                             .fd = fd,
                                             .nr_bytes = (uint64_t)status.st_size,
                                             .data_bytes = (uint64_t)status.st_blocks * 512,
                                             .pagemap_fd = -1};
    return NULL;
}

struct seep_error *seep_image_copy_from_fd(int fd, const char *name, struct seep_image_copy **ret_copy) {
    struct seep_image_source source;
    struct seep_error *err = source_of_fd(fd, name, &source);
    return err ? err : copy_of(&source, copy_all, ret_copy);
}

struct seep_error *seep_image_copy_small_from_fd(int fd, const char *name,
                                                 struct seep_image_copy **ret_copy) {
    struct seep_image_source source;
    struct seep_error *err = source_of_fd(fd, name, &source);
    return err ? err : copy_of(&source, copy_small, ret_copy);
}

// A record of pages: its place in the file, and how many bytes of it are there.
struct raw_pages {
    uint64_t image_offset;
    const unsigned char *bytes;
    size_t nr_bytes;
};

struct raw_records {
    struct raw_pages *pages;
    size_t nr;
    size_t capacity;
    bool early; // they stand between events: of a page the last one counts
};

static struct seep_error *add_pages(struct raw_records *records, uint64_t image_offset,
                                    const unsigned char *bytes, size_t nr_bytes) {
    if (!seep_grow(&records->pages, &records->capacity, records->nr + 1, sizeof(*records->pages)))
        return seep_error_no_memory();
    records->pages[records->nr++] = (struct raw_pages){image_offset, bytes, nr_bytes};
    return NULL;
}

// The last record of each page, from the end of the file on.
static struct seep_error *borrow_latest(struct seep_image_copy *copy, const struct raw_records *records) {
    struct seep_map seen = SEEP_MAP_INIT;
    struct seep_error *err = NULL;
    for (size_t i = records->nr; !err && i-- > 0;) {
        const struct raw_pages *pages = &records->pages[i];
        for (size_t off = 0; !err && off < pages->nr_bytes; off += SEEP_IMAGE_PAGE) {
            bool is_new;
            if (!seep_map_at(&seen, (pages->image_offset + off) / SEEP_IMAGE_PAGE, &is_new))
                err = seep_error_no_memory();
            else if (is_new)
                err = seep_image_copy_borrow(copy, pages->image_offset + off, pages->bytes + off,
                                             SEEP_MIN(pages->nr_bytes - off, (size_t)SEEP_IMAGE_PAGE));
        }
    }
    seep_map_deinit(&seen);
    return err;
}

static struct seep_error *borrow_pages(struct seep_image_copy *copy, const struct raw_records *records) {
    if (records->early)
        return borrow_latest(copy, records);
    struct seep_error *err = NULL;
    for (size_t i = 0; !err && i < records->nr; i++)
        err = seep_image_copy_borrow(copy, records->pages[i].image_offset, records->pages[i].bytes,
                                     records->pages[i].nr_bytes);
    return err;
}

struct seep_error *seep_image_file_damaged(struct seep_error *error) {
    if (!error || error->code != SEEP_E_FORMAT || error->hint)
        return error;
    return seep_error_hint(error, "the file is damaged: copy it again from where it was made");
}

struct seep_error *seep_image_raw_check(const struct seep_raw_record *record, const char *name, uint64_t at) {
    if (record->image_offset == SEEP_RAW_EVENTS || record->image_offset == SEEP_RAW_WHOLE ||
        (record->image_offset % SEEP_IMAGE_PAGE == 0 && record->nr_bytes % SEEP_IMAGE_PAGE == 0 &&
         record->nr_bytes && record->image_offset <= UINT64_MAX - record->nr_bytes))
        return NULL;
    return seep_error_create(SEEP_E_FORMAT, "%s: record at offset %llu is not whole pages of an image", name,
                             (unsigned long long)at);
}

// *ret_end: of the end record, with how many bytes of data it counts; nr_bytes 0: there is none.
static struct seep_error *find_records(const unsigned char *bytes, size_t nr_bytes, const char *name,
                                       bool is_swapped, struct raw_records *records,
                                       struct seep_raw_record *ret_end) {
    size_t at = sizeof(struct seep_raw_header);
    while (nr_bytes - at >= sizeof(struct seep_raw_record)) {
        struct seep_raw_record record = seep_image_raw_record(bytes + at, is_swapped);
        if (record.image_offset == SEEP_RAW_END) {
            *ret_end = record;
            return NULL;
        }
        struct seep_error *err = seep_image_raw_check(&record, name, at);
        if (err && records->early && !record.image_offset) { // a hole: it was not written any more
            seep_error_destroy(err);
            return NULL;
        }
        at += sizeof(record);
        size_t there = SEEP_MIN(record.nr_bytes, (uint64_t)(nr_bytes - at));
        if (!err && record.image_offset == SEEP_RAW_WHOLE) {
            records->nr = 0;
            records->early = false;
        } else if (!err && record.image_offset == SEEP_RAW_EVENTS) {
            records->early = true;
        } else if (!err) {
            err = add_pages(records, record.image_offset, bytes + at, there);
        }
        if (err)
            return err;
        at += there;
    }
    return NULL;
}

static struct seep_error *read_records(struct seep_image_copy *copy, const unsigned char *bytes,
                                       size_t nr_bytes, const char *name, bool is_swapped) {
    struct raw_records records = {NULL};
    struct seep_raw_record end = {0};
    struct seep_error *err = find_records(bytes, nr_bytes, name, is_swapped, &records, &end);
    if (!err)
        err = borrow_pages(copy, &records);
    free(records.pages);
    if (err)
        return err;
    if (end.image_offset == SEEP_RAW_END && end.nr_bytes != copy->data_bytes)
        return seep_error_create(SEEP_E_FORMAT, "%s: its end counts %llu bytes of data, but it has %llu",
                                 name, (unsigned long long)end.nr_bytes,
                                 (unsigned long long)copy->data_bytes);
    if (end.image_offset == SEEP_RAW_END)
        return NULL;
    copy->cut = true;
    return seep_image_copy_note(copy, SEEP_NOTE_IMAGE_CUT, "the dump was cut: what came after is missing");
}

static struct seep_error *read_raw(struct seep_image_copy *copy, const unsigned char *bytes, size_t nr_bytes,
                                   const char *name) {
    bool is_swapped = false;
    struct seep_error *err = seep_image_raw_begin(bytes, nr_bytes, name, &is_swapped);
    if (!err)
        err = read_records(copy, bytes, nr_bytes, name, is_swapped);
    return err ? err : seep_image_copy_finish(copy, name);
}

struct seep_error *seep_image_copy_from_raw(const void *bytes, size_t nr_bytes, const char *name,
                                            struct seep_image_copy **ret_copy) {
    struct seep_image_copy *copy;
    struct seep_error *err = seep_image_copy_create(&copy);
    if (err)
        return err;
    err = read_raw(copy, bytes, nr_bytes, name);
    copy->taken_ns = copy->head.header.copied_ns;
    if (err) {
        seep_image_copy_destroy(copy);
        return seep_image_file_damaged(err);
    }
    *ret_copy = copy;
    return NULL;
}

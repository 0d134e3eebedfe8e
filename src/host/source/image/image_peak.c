// SPDX-License-Identifier: BSD-2-Clause
// What the sites had when live bytes were highest; see image_reader.h and at_peak of the image's header.
#include <stdlib.h>
#include <string.h>

#include "image/sample.h"
#include "source/image/image_reader.h"

// Of the peak: what is that near to it counts as the peak.
#define NEAR_PARTS 100

enum { FIELDS = 5 };
#define SITE_BYTES      (FIELDS * sizeof(uint64_t))
#define CHUNK_BYTES     (SEEP_CHUNK_SITES * SITE_BYTES)
#define CHUNK_DIR_BYTES ((uint64_t)SEEP_CHUNKS_PER_THREAD * sizeof(uint32_t))

static bool is_near(const struct seep_image_reader *reader, uint64_t bytes) {
    const struct seep_totals *totals = &reader->profile->totals;
    uint64_t most = totals->peak_bytes / NEAR_PARTS + (totals->peak_exact ? 0 : totals->peak_error_bytes);
    return bytes + most >= totals->peak_bytes;
}

static uint64_t weighed(const struct seep_image_reader *reader, uint64_t sum) {
    return reader->copy->head.header.sample_bytes ? seep_sample_blocks(sum) : sum;
}

static void begin(struct seep_mark *mark, struct seep_mark_site *sites, uint64_t at_ns) {
    *mark = (struct seep_mark){.name = "peak",
                               .at_ns = (int64_t)SEEP_MIN(at_ns, (uint64_t)INT64_MAX),
                               .counted = true,
                               .sites = sites};
}

// Sites come in ascending order.
static void add(const struct seep_image_reader *reader, struct seep_mark *mark, uint32_t site,
                const uint64_t fields[FIELDS]) {
    if (!fields[0])
        return;
    mark->sites[mark->nr_sites++] = (struct seep_mark_site){
        .site = site,
        .allocations = weighed(reader, fields[0]),
        .allocated_bytes = fields[1],
        .frees = weighed(reader, fields[2]),
        .freed_bytes = fields[3],
        .temporary = weighed(reader, fields[4]),
    };
}

static void take_copy(struct seep_image_reader *reader, const struct seep_image_peak *record,
                      struct seep_mark *mark) {
    const struct seep_image_copy *copy = reader->copy;
    uint64_t nr_pages = copy->head.header.areas[SEEP_AREA_PAGES].used;
    uint64_t nr_sites = SEEP_MIN(record->nr_sites, (uint64_t)reader->profile->nr_sites);
    for (uint64_t first = 0; first < nr_sites; first += SEEP_CHUNK_SITES) {
        uint32_t page = seep_image_number32(copy, seep_image_page_off(copy, record->dir_page) +
                                                      (first >> SEEP_CHUNK_SITES_SHIFT) * sizeof(page));
        if (!page || page >= nr_pages || CHUNK_BYTES / SEEP_IMAGE_PAGE > nr_pages - page) {
            reader->nr_damaged++;
            continue;
        }
        uint64_t off = seep_image_page_off(copy, page);
        uint64_t nr = SEEP_MIN(nr_sites - first, (uint64_t)SEEP_CHUNK_SITES);
        const unsigned char *whole = seep_image_bytes(copy, off, nr * SITE_BYTES); // mostly
        for (uint64_t i = 0; i < nr; i++) {
            uint64_t fields[FIELDS];
            if (whole)
                memcpy(fields, whole + i * SITE_BYTES, sizeof(fields));
            else
                seep_image_read(copy, off + i * SITE_BYTES, fields, sizeof(fields));
            seep_image_swap_words(&copy->head, fields, FIELDS);
            if (first + i > 0)
                add(reader, mark, (uint32_t)(first + i), fields);
        }
    }
}

static void take_current(const struct seep_image_reader *reader, struct seep_mark *mark) {
    for (uint32_t i = 1; i < reader->profile->nr_sites; i++) {
        const struct seep_counters *counters = &reader->profile->sites[i].counters;
        if (counters->allocations)
            mark->sites[mark->nr_sites++] =
                (struct seep_mark_site){.site = i,
                                        .allocations = counters->allocations,
                                        .allocated_bytes = counters->allocated_bytes,
                                        .frees = counters->frees,
                                        .freed_bytes = counters->freed_bytes,
                                        .temporary = counters->temporary};
    }
}

struct seep_error *seep_image_read_peak(struct seep_image_reader *reader) {
    struct seep_profile *profile = reader->profile;
    const struct seep_image_header *header = &reader->copy->head.header;
    const struct seep_image_peak *record = header->at_peak_which == 1 || header->at_peak_which == 2
                                               ? &header->at_peak[header->at_peak_which - 1]
                                               : NULL;
    uint64_t nr_pages = header->areas[SEEP_AREA_PAGES].used;
    if (record && (record->dir_page >= nr_pages || !record->dir_page ||
                   CHUNK_DIR_BYTES / SEEP_IMAGE_PAGE > nr_pages - record->dir_page)) {
        reader->nr_damaged++;
        record = NULL;
    }
    bool is_copy = record && is_near(reader, record->peak_bytes);
    if (!is_copy && !is_near(reader, profile->totals.live_bytes))
        return NULL; // it was not kept
    struct seep_mark_site *sites = seep_arena_alloc(&profile->arena, profile->nr_sites, sizeof(*sites));
    if (!sites)
        return seep_error_no_memory();
    if (is_copy) {
        begin(&profile->at_peak, sites, record->at_ns - SEEP_MIN(record->at_ns, header->start_ns));
        take_copy(reader, record, &profile->at_peak);
    } else {
        begin(&profile->at_peak, sites,
              profile->process.duration_ns > 0 ? (uint64_t)profile->process.duration_ns : 0);
        take_current(reader, &profile->at_peak);
    }
    seep_profile_derive(profile);
    // A copy that was being written over while it was read.
    if (is_copy && profile->at_peak_bytes + profile->totals.peak_bytes / NEAR_PARTS * 2 +
                           profile->totals.peak_error_bytes <
                       profile->totals.peak_bytes)
        profile->at_peak.counted = false;
    return NULL;
}

// SPDX-License-Identifier: BSD-2-Clause
//
// Reads a raw dump (image/raw.h) from a file without the rows of its events, which may be larger than the
// memory: where they lie is told instead. Memory: the image, and 40 bytes for each record of events.
#ifndef SEEP_SOURCE_IMAGE_RAW_FILE_H
#define SEEP_SOURCE_IMAGE_RAW_FILE_H

#include "base/error.h"
#include "image/raw.h"

struct seep_raw_rows {
    struct seep_raw_events head;
    uint64_t off; // in the file
    uint32_t nr_bytes;
};

struct seep_raw_file {
    unsigned char *bytes; // a dump for seep_image_copy_from_raw(), each page once
    size_t nr_bytes;
    struct seep_raw_rows *rows; // in the order of the file
    size_t nr_rows;
    uint64_t nr_damaged; // records of events that make no sense, and are left out
};

// Whether a file that can be read at any place begins as a raw dump does.
bool seep_raw_file_is_one(int fd);

// SEEP_E_FORMAT where more than `most_bytes` of memory would be needed. On failure there is nothing to free.
SEEP_MUST_CHECK struct seep_error *seep_raw_file_read(int fd, const char *name, uint64_t most_bytes,
                                                      struct seep_raw_file *ret_file);
void seep_raw_file_deinit(struct seep_raw_file *file);

#endif

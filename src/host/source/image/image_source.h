// SPDX-License-Identifier: BSD-2-Clause
//
// Where an image is read from; private to capture. Either a descriptor of its file, or
// /proc/PID/mem with the windows through which the process sees the file.
#ifndef SEEP_SOURCE_IMAGE_IMAGE_SOURCE_H
#define SEEP_SOURCE_IMAGE_IMAGE_SOURCE_H

#include "source/image/image_copy.h"

// One mapping of the file: image bytes [image_off, image_off + nr_bytes) at `address`.
struct seep_image_window {
    uint64_t address;
    uint64_t nr_bytes;
    uint64_t image_off;
};

struct seep_image_source {
    const char *name;                        // for messages
    int fd;                                  // the file, or /proc/PID/mem
    uint64_t nr_bytes;                       // of the file, or to the end of the last window
    uint64_t data_bytes;                     // that are no hole, as the file says; 0: not known
    const struct seep_image_window *windows; // NULL: fd is the file
    size_t nr_windows;
    int pagemap_fd;
    uint64_t page_bytes; // of the machine
};

// All of the image. The caller destroys the copy.
SEEP_MUST_CHECK struct seep_error *seep_image_copy_from_source(const struct seep_image_source *source,
                                                               struct seep_image_copy **ret_copy);

// Copies [at, end).
typedef struct seep_error *seep_image_copy_part(struct seep_image_copy *copy,
                                                const struct seep_image_source *source, uint64_t at,
                                                uint64_t end, bool *ret_short);
// The next range of data in [from, end) of a file; false: none.
bool seep_image_source_data(const struct seep_image_source *source, uint64_t from, uint64_t end,
                            uint64_t *ret_start, uint64_t *ret_stop);

// Copies [at, end) of a file by `part`, without the rings and the stamps of a recorded process, which are
// most of its image. Events are taken from the file, and stamps are for the library alone.
SEEP_MUST_CHECK struct seep_error *seep_image_copy_around_rings(struct seep_image_copy *copy,
                                                                const struct seep_image_source *source,
                                                                const struct seep_image_head *head,
                                                                uint64_t at, uint64_t end,
                                                                seep_image_copy_part *part, bool *ret_short);

#endif

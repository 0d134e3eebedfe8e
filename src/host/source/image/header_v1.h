// SPDX-License-Identifier: BSD-2-Clause
// The header of images of version 1, which older libraries write; private to image_decode.c. Elements of
// areas are the same in both versions.
#ifndef SEEP_SOURCE_IMAGE_HEADER_V1_H
#define SEEP_SOURCE_IMAGE_HEADER_V1_H

#include "image/layout.h"

// Bytes from the start of the file, bytes that it may have, and elements that are used.
struct seep_image_area_v1 {
    uint64_t off;
    uint64_t size;
    uint64_t used;
};

struct seep_image_header_v1 {
    uint64_t magic;
    uint32_t version;
    uint32_t header_size;
    uint8_t byte_order;
    uint8_t word_bytes;
    uint16_t elf_machine;
    uint32_t flags;
    uint64_t file_size;
    struct seep_image_area_v1 areas[16]; // SEEP_AREA_STRINGS to SEEP_AREA_TOOL_MARKS

    uint32_t pid;
    uint32_t ppid;
    uint32_t forked_from;
    uint32_t state;
    uint32_t passive_reason;
    int32_t exit_code;
    uint64_t start_realtime_ns;
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t exe_off;
    uint64_t args_off;
    uint32_t nr_args;
    uint32_t nr_args_all;
    uint64_t preempted_by_off;
    uint32_t granule_shift;
    uint32_t leaf_shift;
    uint32_t dir_bits;
    uint32_t depth_limit;
    uint64_t sample_bytes;
    uint64_t live_bytes_flushed;
    uint64_t peak_bytes_flushed;
    uint64_t peak_slack_bytes;

    uint64_t lost[16];
    uint64_t cut[8];
    uint64_t reserved;
    uint64_t nr_thread_starts;
    struct seep_image_range own[32];
    uint64_t pools_created;
    uint64_t pools_destroyed;
    uint64_t unknown_piece_frees;
    uint64_t deep_bound_off;
    uint64_t namespace_off;
    uint32_t nr_deep_bound;
    uint32_t nr_namespaces;

    uint64_t lost_more[32];
    uint64_t space_bytes;
    uint64_t space_most_bytes;
    uint64_t inherited_blocks;
    uint64_t inherited_bytes;
    uint64_t copied_ns;
    struct seep_image_peak at_peak[2];
    uint64_t at_peak_which;
    uint64_t ring_dir_page;
    uint64_t ring_beat;
};
// The first writers ended with unknown_piece_frees.
#define SEEP_IMAGE_HEADER_V1_LEAST 1288u

// What the decoder copies in runs lies in both in the same order.
#define SEEP_IMAGE_RUN_BYTES(header, first, last) (offsetof(header, last) - offsetof(header, first))
#define SEEP_IMAGE_SAME_RUN(first, last)                                                                     \
    _Static_assert(SEEP_IMAGE_RUN_BYTES(struct seep_image_header_v1, first, last) ==                         \
                       SEEP_IMAGE_RUN_BYTES(struct seep_image_header, first, last),                          \
                   "one run of both versions")
SEEP_IMAGE_SAME_RUN(pid, peak_slack_bytes);
SEEP_IMAGE_SAME_RUN(cut, nr_namespaces);
SEEP_IMAGE_SAME_RUN(space_bytes, ring_beat);
_Static_assert(sizeof(struct seep_image_header_v1) == 1696, "wire size");

#endif

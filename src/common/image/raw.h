// SPDX-License-Identifier: BSD-2-Clause
//
// The raw dump: how the library alone (no tool) leaves its image in a file. A struct seep_raw_header,
// then records: a struct seep_raw_record followed by its nr_bytes bytes of the image. Pages in no
// record are zero. Records may come in any order and must not overlap. The record with image_offset
// SEEP_RAW_END ends the dump; a file without it was cut, and what is there may be used.
#ifndef SEEP_IMAGE_RAW_H
#define SEEP_IMAGE_RAW_H

#include "image/layout.h"

#define SEEP_RAW_MAGIC   UINT64_C(0x0a57415250454553) // "SEEPRAW\n", little-endian
#define SEEP_RAW_VERSION 1u
#define SEEP_RAW_END     UINT64_MAX

struct seep_raw_header {
    uint64_t magic;
    uint32_t version;
    uint32_t reserved; // 0
};

struct seep_raw_record {
    uint64_t image_offset; // multiple of SEEP_POOL_PAGE, or SEEP_RAW_END
    uint64_t nr_bytes;     // multiple of SEEP_POOL_PAGE; in the end record: data bytes of all records
};

_Static_assert(sizeof(struct seep_raw_header) == 16, "wire size");
_Static_assert(sizeof(struct seep_raw_record) == 16, "wire size");

#endif

// SPDX-License-Identifier: BSD-2-Clause
//
// The raw dump: how the library alone (no tool) leaves its image in a file. A struct seep_raw_header,
// then records: a struct seep_raw_record followed by its nr_bytes bytes of the image. Pages in no
// record are zero. Records may come in any order and must not overlap. The record with image_offset
// SEEP_RAW_END ends the dump; a file without it was cut, and what is there may be used.
//
// Of a process that records events alone (image/ring.h) the file begins with those that found no room in its
// rings: records with SEEP_RAW_EVENTS. Between them stand pages of the image with what they refer to, of
// which the last one of a page counts, up to the record SEEP_RAW_WHOLE, of no bytes: behind it comes the
// whole image.
#ifndef SEEP_IMAGE_RAW_H
#define SEEP_IMAGE_RAW_H

#include "image/layout.h"

#define SEEP_RAW_MAGIC   UINT64_C(0x0a57415250454553) // "SEEPRAW\n", little-endian
#define SEEP_RAW_VERSION 1u
#define SEEP_RAW_END     UINT64_MAX
#define SEEP_RAW_EVENTS  (UINT64_MAX - 1)
#define SEEP_RAW_WHOLE   (UINT64_MAX - 2)

struct seep_raw_header {
    uint64_t magic;
    uint32_t version;
    uint32_t reserved; // 0
};

struct seep_raw_record {
    uint64_t image_offset; // multiple of SEEP_IMAGE_PAGE, or SEEP_RAW_*
    uint64_t nr_bytes;     // multiple of SEEP_IMAGE_PAGE; in the end record: data bytes of all records
};

// A record SEEP_RAW_EVENTS begins with it; then a row for each event, of as many bytes as it takes: the kind
// in the low four bits and SEEP_ROW_*, then as LEB128 the stamp minus that of the row before (0 before the
// first), zigzag of the address minus that of the row before, and unless SEEP_ROW_SAME_* or SEEP_ROW_KNOWN is
// set zigzag of the site minus that of the row before, and the size.
struct seep_raw_events {
    uint32_t slot;
    uint32_t nr_events;
    uint64_t stamp; // and CLOCK_MONOTONIC of the moment when it was written
    uint64_t at_ns;
};
#define SEEP_ROW_KIND      0x0fu
#define SEEP_ROW_SAME_SITE 0x10u // that of the row before that had one; 0 before the first
#define SEEP_ROW_SAME_SIZE 0x20u
#define SEEP_ROW_KNOWN                                                                                       \
    0x40u // a free: site and size are those of the block's allocation, which has an event too
#define SEEP_ROW_SIXTEENTHS                                                                                  \
    0x80u // the address minus that of the row before is a multiple of 16, and is divided

_Static_assert(sizeof(struct seep_raw_events) == 24, "wire size");
_Static_assert(sizeof(struct seep_raw_header) == 16, "wire size");
_Static_assert(sizeof(struct seep_raw_record) == 16, "wire size");

#endif

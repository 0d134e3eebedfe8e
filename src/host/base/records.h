// SPDX-License-Identifier: BSD-2-Clause
//
// What stands in the bytes of a trace: the fixed structs of the container, the types of the
// sections, and the number encodings of their contents. docs/trace-format.md is the same in words
// and is the authority; a change here needs a change there.
#ifndef SEEP_BASE_RECORDS_H
#define SEEP_BASE_RECORDS_H

#include <stdlib.h>
#include <string.h>

#include "core/attr.h"

// "SEEP" to be seen, the line ends and Ctrl-Z to notice a transfer in text mode.
#define SEEP_TRACE_MAGIC       "SEEP\r\n\x1a\n"
#define SEEP_TRACE_MAGIC_BYTES 8u
#define SEEP_TRACE_MAJOR       1u
#define SEEP_TRACE_MINOR       2u

// File header: magic, u16 major, u16 minor, u32 header bytes, u64 0, u32 0, u32 CRC of the 28 before.
#define SEEP_TRACE_HEADER_BYTES 32u
// Section header: u32 type, u16 version, u16 flags, u64 stored bytes, u64 raw bytes, u32 CRC of the
// 24 before, u32 CRC of the stored bytes.
#define SEEP_TRACE_SECTION_BYTES 32u
// The index ends with a u64: the bytes of its section, header and all, so that it is found from the end.
#define SEEP_TRACE_INDEX_TAIL_BYTES 8u
// Contents of the END section: u64 sections in the file (itself too), u64 bytes in the file.
#define SEEP_TRACE_END_BYTES 16u

#define SEEP_TRACE_FLAG_ZSTD     1u // the stored bytes are zstd frames
#define SEEP_TRACE_FLAG_REQUIRED 2u // a reader that does not know this type must refuse the file
#define SEEP_TRACE_FLAGS_KNOWN   3u

// Limits that let a reader bound its memory by the bytes of the file. Proof: test_trace.c.
#define SEEP_TRACE_RAW_MAX   (UINT64_C(64) << 20)
#define SEEP_TRACE_RATIO_MAX 256u // raw bytes for each stored byte of a zstd section

enum seep_trace_type {
    SEEP_TRACE_END = 1,
    SEEP_TRACE_SESSION = 2,
    SEEP_TRACE_PROCESS = 3,
    SEEP_TRACE_HEALTH = 4,
    SEEP_TRACE_TOTALS = 5,
    SEEP_TRACE_MODULES = 6,
    SEEP_TRACE_NODES = 7,
    SEEP_TRACE_SITES = 8,
    SEEP_TRACE_THREADS = 9,
    SEEP_TRACE_THREAD_SITES = 10,
    SEEP_TRACE_BLOCKS = 11,
    SEEP_TRACE_LEAKS = 12, // only where a scan was made; no minor version needed: older readers skip it
    SEEP_TRACE_MAPPINGS = 13,
    SEEP_TRACE_WRONG_RELEASES = 14,
    SEEP_TRACE_ACCOUNT = 15, // only where it was taken
    SEEP_TRACE_POOLS = 16,   // only where the program told of some
    SEEP_TRACE_PIECES = 17,
    SEEP_TRACE_MARKS = 18,     // one section a mark
    SEEP_TRACE_SNAPSHOTS = 19, // one section a snapshot
    SEEP_TRACE_HOLDERS = 20,   // only where a scan was made
    SEEP_TRACE_CHAINS = 21,
    SEEP_TRACE_LEADERS = 22,        // only where something is indirectly lost
    SEEP_TRACE_NAMES = 23,          // one section a module that has names of its own
    SEEP_TRACE_FIRST_RELEASES = 24, // only where some are known
    SEEP_TRACE_ARRIVALS = 25,       // only where there are CHAINS with blocks
    SEEP_TRACE_PEAK = 26,           // only where it is known
    SEEP_TRACE_EVENTS = 27,         // only of recordings; anywhere, of no group; one section a chunk
    SEEP_TRACE_STACKS = 28,         // only of recordings; before the chunks that refer to them, of no group
    SEEP_TRACE_PLATFORM = 29,       // only where it is known
    SEEP_TRACE_INDEX = 30,          // last before END, where there are several processes; of no group
    SEEP_TRACE_EVENT_INDEX = 31,    // of recordings: where the chunks are, and until when; of no group
    SEEP_TRACE_GAP = 32,            // what was there is gone: skipped by all readers
    SEEP_TRACE_HELD = 33,           // only where sites have several holders; after CHAINS
    SEEP_TRACE_RESIDENCE = 34,      // of recordings: what was in memory of blocks; anywhere, of no group
    SEEP_TRACE_EVENT_SUMS = 35,     // of recordings: counts of sites up to there; of no group
    SEEP_TRACE_SLABS = 36,          // only of the kernel's memory
    SEEP_TRACE_LINES = 37,          // one section a module that has lines of its own
    SEEP_TRACE_GIVEN = 38,          // only where libseep.so was in the process
    SEEP_TRACE_TYPE_NR
};

// Small numbers of either sign as small numbers: 0, -1, 1, -2 become 0, 1, 2, 3.
SEEP_INLINE uint64_t seep_zigzag(int64_t value) {
    return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

// The inverse of seep_zigzag.
SEEP_INLINE int64_t seep_unzigzag(uint64_t value) {
    return (int64_t)(value >> 1 ^ (value & 1 ? UINT64_MAX : 0));
}

// ---- Writing: a buffer that grows. After a failed growth nothing more is written; test `failed` once.
struct seep_put {
    unsigned char *bytes; // malloc'ed
    size_t used;
    size_t capacity;
    bool failed;
};

// Room for nr_bytes more; false: out of memory.
bool seep_put_room(struct seep_put *put, size_t nr_bytes);
void seep_put_bytes(struct seep_put *put, const void *bytes, size_t nr_bytes);
// LEB128 of length + 1, then the bytes; NULL is one byte 0.
void seep_put_text(struct seep_put *put, const char *text);
void seep_put_deinit(struct seep_put *put);

#define SEEP_LEB_BYTES_MOST 10u

// LEB128 at `at`, where there is room for it. Returns the place behind it.
SEEP_INLINE unsigned char *seep_store_leb(unsigned char *at, uint64_t value) {
    while (value >= 0x80) {
        *at++ = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    *at++ = (unsigned char)value;
    return at;
}

// Appends LEB128. Without memory nothing is appended, and `failed` is set.
SEEP_INLINE void seep_put_leb(struct seep_put *put, uint64_t value) {
    if (SEEP_UNLIKELY(put->capacity - put->used < SEEP_LEB_BYTES_MOST) &&
        !seep_put_room(put, SEEP_LEB_BYTES_MOST))
        return;
    put->used = (size_t)(seep_store_leb(put->bytes + put->used, value) - put->bytes);
}

// As seep_put_leb, for numbers of either sign.
SEEP_INLINE void seep_put_zigzag(struct seep_put *put, int64_t value) {
    seep_put_leb(put, seep_zigzag(value));
}

// ---- Reading: numbers of a section that was unpacked. After the first thing that does not fit
// `failed` stays set and every number reads as 0; so test it once for each element.
struct seep_take {
    const unsigned char *at;
    const unsigned char *end;
    bool failed;
};

uint64_t seep_take_leb_slow(struct seep_take *take);
// Points into the section; NULL (and failed) where there are fewer.
const unsigned char *seep_take_bytes(struct seep_take *take, uint64_t nr_bytes);
// Columns: `nr` lengths, at most SEEP_COLUMNS_MOST, then the bytes of each column. If a column does not fit,
// the take, this column and those behind it have failed.
#define SEEP_COLUMNS_MOST 16u
void seep_take_columns(struct seep_take *take, size_t nr, struct seep_take *ret_columns);
// Not NUL-terminated; *ret_length is 0 for NULL, which returns NULL. A NUL inside it fails.
const char *seep_take_text(struct seep_take *take, size_t *ret_length);

// Reads LEB128. At the end, or if it is longer than 64 bits: 0, and `failed` is set.
SEEP_INLINE uint64_t seep_take_leb(struct seep_take *take) {
    if (SEEP_LIKELY(take->at < take->end && *take->at < 0x80))
        return *take->at++;
    if (SEEP_LIKELY(take->end - take->at >= 2 && take->at[1] < 0x80)) {
        take->at += 2;
        return (take->at[-2] & 0x7fu) | (uint64_t)take->at[-1] << 7;
    }
    return seep_take_leb_slow(take);
}

// As seep_take_leb, for numbers of either sign.
SEEP_INLINE int64_t seep_take_zigzag(struct seep_take *take) {
    return seep_unzigzag(seep_take_leb(take));
}

// One that must fit: else it fails.
SEEP_INLINE uint32_t seep_take_u32(struct seep_take *take) {
    uint64_t value = seep_take_leb(take);
    if (value <= UINT32_MAX)
        return (uint32_t)value;
    take->failed = true;
    return 0;
}

// Reads 0 or 1; another number sets `failed`.
SEEP_INLINE bool seep_take_bool(struct seep_take *take) {
    uint64_t value = seep_take_leb(take);
    if (value > 1)
        take->failed = true;
    return value;
}

// A longer list comes from a newer seep with more places: what is beyond ours is not dropped but
// added to the last, which has no name here.
void seep_take_list(struct seep_take *take, uint64_t *values, size_t nr_values);
// The length of it, then its numbers.
void seep_put_list(struct seep_put *put, const uint64_t *values, size_t nr_values);

// All that was put.
SEEP_INLINE struct seep_take seep_take_of(const struct seep_put *put) {
    static const unsigned char nothing;
    const unsigned char *bytes = put->bytes ? put->bytes : &nothing;
    return (struct seep_take){bytes, bytes + put->used, false};
}

// Bytes that are not read yet.
SEEP_INLINE size_t seep_take_left(const struct seep_take *take) {
    return (size_t)(take->end - take->at);
}

// Little-endian numbers at any address.
SEEP_INLINE void seep_store16(unsigned char *at, uint16_t value) {
    at[0] = (unsigned char)value;
    at[1] = (unsigned char)(value >> 8);
}
SEEP_INLINE void seep_store32(unsigned char *at, uint32_t value) {
    seep_store16(at, (uint16_t)value);
    seep_store16(at + 2, (uint16_t)(value >> 16));
}
SEEP_INLINE void seep_store64(unsigned char *at, uint64_t value) {
    seep_store32(at, (uint32_t)value);
    seep_store32(at + 4, (uint32_t)(value >> 32));
}
SEEP_INLINE uint16_t seep_fetch16(const unsigned char *at) {
    return (uint16_t)(at[0] | at[1] << 8);
}
SEEP_INLINE uint32_t seep_fetch32(const unsigned char *at) {
    return seep_fetch16(at) | (uint32_t)seep_fetch16(at + 2) << 16;
}
SEEP_INLINE uint64_t seep_fetch64(const unsigned char *at) {
    return seep_fetch32(at) | (uint64_t)seep_fetch32(at + 4) << 32;
}

#endif

// SPDX-License-Identifier: BSD-2-Clause
//
// What writer and reader of a trace share: the checksum, the names of sections, and the number
// encodings of records.h.
#include "base/map.h"
#include "file/sections.h"
#include "file/trace.h"

// Source: CRC-32 of ISO 3309 / ITU-T V.42, reflected polynomial 0xEDB88320. Eight table look-ups take
// eight bytes at a time: with one, the checksum would cost as much as decoding.
static uint32_t crc_table[8][256];

// Filled before main, so that readers in several threads need no lock.
__attribute__((constructor)) static void fill_crc_table(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xedb88320) : 0);
        crc_table[0][i] = crc;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int k = 1; k < 8; k++)
            crc_table[k][i] = crc_table[k - 1][i] >> 8 ^ crc_table[0][crc_table[k - 1][i] & 0xff];
}

uint32_t seep_trace_crc32(uint32_t crc, const void *bytes, size_t nr_bytes) {
    const unsigned char *at = bytes;
    crc = ~crc;
    for (; nr_bytes >= 8; nr_bytes -= 8, at += 8) {
        uint64_t eight = seep_fetch64(at) ^ crc;
        crc = 0;
        for (int k = 0; k < 8; k++)
            crc ^= crc_table[7 - k][eight >> (8 * k) & 0xff];
    }
    for (; nr_bytes; nr_bytes--)
        crc = crc >> 8 ^ crc_table[0][(crc ^ *at++) & 0xff];
    return ~crc;
}

static const char *known_name(uint32_t type) {
    static const char *const names[SEEP_TRACE_TYPE_NR] = {
        [SEEP_TRACE_END] = "END",         [SEEP_TRACE_SESSION] = "SESSION",
        [SEEP_TRACE_PROCESS] = "PROCESS", [SEEP_TRACE_HEALTH] = "HEALTH",
        [SEEP_TRACE_TOTALS] = "TOTALS",   [SEEP_TRACE_MODULES] = "MODULES",
        [SEEP_TRACE_NODES] = "NODES",     [SEEP_TRACE_SITES] = "SITES",
        [SEEP_TRACE_THREADS] = "THREADS", [SEEP_TRACE_THREAD_SITES] = "THREAD_SITES",
        [SEEP_TRACE_BLOCKS] = "BLOCKS",   [SEEP_TRACE_EVENTS] = "EVENTS",
        [SEEP_TRACE_STACKS] = "STACKS",   [SEEP_TRACE_EVENT_INDEX] = "EVENT_INDEX",
        [SEEP_TRACE_INDEX] = "INDEX",
    };
    const struct seep_section *section = seep_section_of(type);
    return section ? section->name : type < SEEP_TRACE_TYPE_NR ? names[type] : NULL;
}

bool seep_trace_type_is_known(uint32_t type) {
    return known_name(type) != NULL;
}

const char *seep_trace_type_name(uint32_t type) {
    return seep_trace_type_is_known(type) ? known_name(type) : "of unknown type";
}

bool seep_put_room(struct seep_put *put, size_t nr_bytes) {
    if (put->failed)
        return false;
    if (put->capacity - put->used >= nr_bytes)
        return true;
    size_t need;
    if (__builtin_add_overflow(put->used, nr_bytes, &need) ||
        !seep_grow(&put->bytes, &put->capacity, need, 1))
        put->failed = true;
    return !put->failed;
}

void seep_put_bytes(struct seep_put *put, const void *bytes, size_t nr_bytes) {
    if (!nr_bytes || !seep_put_room(put, nr_bytes))
        return;
    memcpy(put->bytes + put->used, bytes, nr_bytes);
    put->used += nr_bytes;
}

void seep_put_text(struct seep_put *put, const char *text) {
    size_t length = text ? strlen(text) : 0;
    seep_put_leb(put, text ? (uint64_t)length + 1 : 0);
    seep_put_bytes(put, text, length);
}

void seep_put_deinit(struct seep_put *put) {
    free(put->bytes);
    *put = (struct seep_put){0};
}

uint64_t seep_take_leb_slow(struct seep_take *take) {
    uint64_t value = 0;
    const unsigned char *at = take->at;
    for (unsigned shift = 0; !take->failed && at < take->end && shift < 70; shift += 7) {
        unsigned char byte = *at++;
        if (shift == 63 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            take->at = at;
            return value;
        }
    }
    // Nothing can be read after this, so a loop over elements fails fast.
    take->failed = true;
    take->at = take->end;
    return 0;
}

const unsigned char *seep_take_bytes(struct seep_take *take, uint64_t nr_bytes) {
    if (take->failed || nr_bytes > seep_take_left(take)) {
        take->failed = true;
        take->at = take->end;
        return NULL;
    }
    const unsigned char *bytes = take->at;
    take->at += nr_bytes;
    return bytes;
}

const char *seep_take_text(struct seep_take *take, size_t *ret_length) {
    *ret_length = 0;
    uint64_t coded = seep_take_leb(take);
    if (coded == 0)
        return NULL;
    const unsigned char *bytes = seep_take_bytes(take, coded - 1);
    if (!bytes)
        return NULL;
    if (memchr(bytes, 0, (size_t)(coded - 1))) {
        take->failed = true;
        take->at = take->end;
        return NULL;
    }
    *ret_length = (size_t)(coded - 1);
    return (const char *)bytes;
}

void seep_take_list(struct seep_take *take, uint64_t *values, size_t nr_values) {
    uint64_t nr = seep_take_leb(take);
    for (uint64_t i = 0; i < nr && !take->failed; i++) {
        uint64_t value = seep_take_leb(take);
        uint64_t *at = &values[SEEP_MIN(i, nr_values - 1)];
        if (__builtin_add_overflow(*at, value, at))
            *at = UINT64_MAX;
    }
}

void seep_put_list(struct seep_put *put, const uint64_t *values, size_t nr_values) {
    seep_put_leb(put, nr_values);
    for (size_t i = 0; i < nr_values; i++)
        seep_put_leb(put, values[i]);
}

// SPDX-License-Identifier: BSD-2-Clause
// A bounds-checked reader, see cursor.h.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"

struct seep_error *seep_cursor_error(const struct seep_cursor *cursor, const char *format, ...) {
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return seep_error_create(SEEP_E_FORMAT, "%s: %s at offset %zu", cursor->name, text,
                             cursor->base + cursor->at);
}

struct seep_error *seep_cursor_bytes(struct seep_cursor *cursor, size_t nr_bytes, const unsigned char **ret) {
    if (cursor->size_bytes - cursor->at < nr_bytes)
        return seep_cursor_error(cursor, "cut short");
    *ret = cursor->bytes + cursor->at;
    cursor->at += nr_bytes;
    return NULL;
}

static struct seep_error *little_endian(struct seep_cursor *cursor, unsigned nr_bytes, uint64_t *ret) {
    const unsigned char *bytes;
    struct seep_error *error = seep_cursor_bytes(cursor, nr_bytes, &bytes);
    if (error)
        return error;
    uint64_t value = 0;
    for (unsigned i = 0; i < nr_bytes; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    *ret = value;
    return NULL;
}

struct seep_error *seep_cursor_u8(struct seep_cursor *cursor, uint8_t *ret) {
    uint64_t value;
    struct seep_error *error = little_endian(cursor, 1, &value);
    if (!error)
        *ret = (uint8_t)value;
    return error;
}

struct seep_error *seep_cursor_u16(struct seep_cursor *cursor, uint16_t *ret) {
    uint64_t value;
    struct seep_error *error = little_endian(cursor, 2, &value);
    if (!error)
        *ret = (uint16_t)value;
    return error;
}

struct seep_error *seep_cursor_u32(struct seep_cursor *cursor, uint32_t *ret) {
    uint64_t value;
    struct seep_error *error = little_endian(cursor, 4, &value);
    if (!error)
        *ret = (uint32_t)value;
    return error;
}

struct seep_error *seep_cursor_u64(struct seep_cursor *cursor, uint64_t *ret) {
    return little_endian(cursor, 8, ret);
}

struct seep_error *seep_cursor_leb(struct seep_cursor *cursor, uint64_t *ret) {
    uint64_t value = 0;
    for (unsigned i = 0; cursor->at + i < cursor->size_bytes; i++) {
        unsigned char byte = cursor->bytes[cursor->at + i];
        if (i > 9 || (i == 9 && byte > 1))
            return seep_cursor_error(cursor, "number of more than 64 bits");
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (!(byte & 0x80)) {
            cursor->at += i + 1;
            *ret = value;
            return NULL;
        }
    }
    return seep_cursor_error(cursor, "cut short");
}

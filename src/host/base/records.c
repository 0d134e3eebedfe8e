// SPDX-License-Identifier: BSD-2-Clause
// Numbers and texts as bytes, see records.h.
#include <stdlib.h>

#include "base/records.h"

bool seep_put_room(struct seep_put *put, size_t nr_bytes) {
    if (put->failed)
        return false;
    if (put->capacity - put->used >= nr_bytes)
        return true;
    // Not zeroed, as pages without bytes in them take no memory.
    size_t need, wanted;
    unsigned char *larger = NULL;
    if (!__builtin_add_overflow(put->used, nr_bytes, &need) &&
        !__builtin_add_overflow(need, need / 2 + 64, &wanted))
        larger = realloc(put->bytes, wanted);
    put->failed = !larger;
    if (!larger)
        return false;
    put->bytes = larger;
    put->capacity = wanted;
    return true;
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

void seep_take_columns(struct seep_take *take, size_t nr, struct seep_take *ret_columns) {
    uint64_t lengths[SEEP_COLUMNS_MOST];
    for (size_t i = 0; i < nr; i++)
        lengths[i] = seep_take_leb(take);
    for (size_t i = 0; i < nr; i++) {
        const unsigned char *bytes = seep_take_bytes(take, lengths[i]);
        ret_columns[i] = (struct seep_take){bytes, bytes ? bytes + lengths[i] : NULL, !bytes};
    }
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

// SPDX-License-Identifier: BSD-2-Clause
//
// See cfi_read.h.
#include "unwind/cfi_read.h"
#include "unwind/arch.h"

struct seep_cfi_cursor seep_cfi_cursor_at(const struct seep_cfi_object *object, uint64_t address) {
    struct seep_cfi_cursor cursor = {
        .object = object, .at = address - object->start, .end = object->size_bytes};
    cursor.bad = address < object->start || cursor.at > cursor.end;
    return cursor;
}

uint64_t seep_cfi_read_unsigned(struct seep_cfi_cursor *cursor, unsigned nr_bytes) {
    if (!seep_cfi_take(cursor, nr_bytes))
        return 0;
    const uint8_t *from = cursor->object->bytes + cursor->at - nr_bytes;
    if (nr_bytes == 1) // most are: operations and their short operands
        return *from;
    uint64_t value = 0;
    for (unsigned i = 0; i < nr_bytes; i++) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        value = value << 8 | from[i];
#else
        value |= (uint64_t)from[i] << 8 * i;
#endif
    }
    return value;
}

static uint64_t read_signed(struct seep_cfi_cursor *cursor, unsigned nr_bytes) {
    unsigned shift = 64 - 8 * nr_bytes;
    return (uint64_t)((int64_t)(seep_cfi_read_unsigned(cursor, nr_bytes) << shift) >> shift);
}

// Ten bytes hold 64 bits; some padding beyond them is accepted, bits are not. Without an end to it, a number
// that each row of a function has read again would make its rows cost the square of its length.
#define LEB_BITS_MAX 112

uint64_t seep_cfi_read_uleb(struct seep_cfi_cursor *cursor) {
    if (!cursor->bad && cursor->at < cursor->end && cursor->object->bytes[cursor->at] < 0x80)
        return cursor->object->bytes[cursor->at++]; // nearly all are of one byte
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = (uint8_t)seep_cfi_read_unsigned(cursor, 1);
        uint64_t bits = byte & 0x7f;
        if (shift < 64 && (bits << shift >> shift) == bits)
            value |= bits << shift;
        else if (bits)
            cursor->bad = true;
        if (cursor->bad)
            return 0;
        if (!(byte & 0x80))
            return value;
        cursor->bad |= shift >= LEB_BITS_MAX;
    }
}

int64_t seep_cfi_read_sleb(struct seep_cfi_cursor *cursor) {
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = (uint8_t)seep_cfi_read_unsigned(cursor, 1);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        cursor->bad |= shift > LEB_BITS_MAX;
    } while (byte & 0x80 && !cursor->bad);
    if (cursor->bad)
        return 0;
    if (shift < 64 && byte & 0x40)
        value |= ~(uint64_t)0 << shift;
    return (int64_t)value;
}

unsigned seep_cfi_format_bytes(uint8_t encoding) {
    switch (encoding & PE_FORMAT) {
    case PE_ABSPTR:
    case PE_SIGNED:
        return SEEP_ARCH_WORD;
    case PE_UDATA2:
    case PE_SDATA2:
        return 2;
    case PE_UDATA4:
    case PE_SDATA4:
        return 4;
    case PE_UDATA8:
    case PE_SDATA8:
        return 8;
    default:
        return 0;
    }
}

uint64_t seep_cfi_read_format(struct seep_cfi_cursor *cursor, uint8_t encoding) {
    unsigned nr_bytes = seep_cfi_format_bytes(encoding);
    switch (encoding & PE_FORMAT) {
    case PE_ULEB128:
        return seep_cfi_read_uleb(cursor);
    case PE_SLEB128:
        return (uint64_t)seep_cfi_read_sleb(cursor);
    default:
        break;
    }
    if (!nr_bytes) {
        cursor->bad = true;
        return 0;
    }
    return encoding & PE_SIGNED ? read_signed(cursor, nr_bytes) : seep_cfi_read_unsigned(cursor, nr_bytes);
}

void seep_cfi_skip_encoded(struct seep_cfi_cursor *cursor, uint8_t encoding) {
    if (encoding == PE_OMIT)
        return;
    if ((encoding & PE_BASE) == PE_ALIGNED) {
        seep_cfi_take(cursor, -seep_cfi_cursor_address(cursor) % SEEP_ARCH_WORD);
        encoding = PE_ABSPTR;
    }
    seep_cfi_read_format(cursor, encoding);
}

uint64_t seep_cfi_read_encoded(struct seep_cfi_cursor *cursor, uint8_t encoding) {
    const struct seep_cfi_object *object = cursor->object;
    if (encoding == PE_OMIT) {
        cursor->bad = true;
        return 0;
    }
    if ((encoding & PE_BASE) == PE_ALIGNED)
        seep_cfi_take(cursor, -seep_cfi_cursor_address(cursor) % SEEP_ARCH_WORD);
    uint64_t base = 0;
    switch (encoding & PE_BASE) {
    case PE_ABSPTR:
    case PE_ALIGNED:
        break;
    case PE_PCREL:
        base = seep_cfi_cursor_address(cursor);
        break;
    case PE_DATAREL: // inside .eh_frame_hdr: its start
        base = object->eh_frame_hdr;
        break;
    default: // textrel, funcrel: their base is not known here
        cursor->bad = true;
        return 0;
    }
    uint64_t value = base + seep_cfi_read_format(cursor, encoding);
    if (cursor->bad || !(encoding & PE_INDIRECT))
        return value;
    struct seep_cfi_cursor slot = seep_cfi_cursor_at(object, value);
    value = seep_cfi_read_unsigned(&slot, SEEP_ARCH_WORD);
    cursor->bad |= slot.bad;
    return value;
}

// SPDX-License-Identifier: BSD-2-Clause
//
// Reads the numbers and pointers of call-frame information. Invariant: a cursor never leaves the object it
// was made for; once a read fails the cursor is spent (`bad`) and yields zeros, so a run of reads is checked
// once.
//
// Source: DWARF 5 section 7.6 (LEB128); LSB 5.0 Core 10.5 (DW_EH_PE_*).
#ifndef SEEP_UNWIND_CFI_READ_H
#define SEEP_UNWIND_CFI_READ_H

#include "unwind/cfi.h"

// Pointer encodings: low four bits are the format, the next three the base, then "indirect".
enum {
    PE_ABSPTR = 0x00,
    PE_ULEB128 = 0x01,
    PE_UDATA2 = 0x02,
    PE_UDATA4 = 0x03,
    PE_UDATA8 = 0x04,
    PE_SIGNED = 0x08, // the width of absptr, signed
    PE_SLEB128 = 0x09,
    PE_SDATA2 = 0x0a,
    PE_SDATA4 = 0x0b,
    PE_SDATA8 = 0x0c,
    PE_FORMAT = 0x0f,
    PE_PCREL = 0x10,
    PE_DATAREL = 0x30,
    PE_ALIGNED = 0x50,
    PE_BASE = 0x70,
    PE_INDIRECT = 0x80,
    PE_OMIT = 0xff,
};

struct seep_cfi_cursor {
    const struct seep_cfi_object *object;
    uint64_t at; // offset in the object
    uint64_t end;
    bool bad;
};

// At an address of the object; bad where that is none.
struct seep_cfi_cursor seep_cfi_cursor_at(const struct seep_cfi_object *object, uint64_t address);

// The runtime address of the next byte, for encodings that count from there.
SEEP_INLINE uint64_t seep_cfi_cursor_address(const struct seep_cfi_cursor *cursor) {
    return cursor->object->start + cursor->at;
}

// Moves over so many bytes.
SEEP_INLINE bool seep_cfi_take(struct seep_cfi_cursor *cursor, uint64_t nr_bytes) {
    if (cursor->bad || cursor->end - cursor->at < nr_bytes) {
        cursor->bad = true;
        return false;
    }
    cursor->at += nr_bytes;
    return true;
}

// 1 to 8 bytes, in the byte order of this machine.
uint64_t seep_cfi_read_unsigned(struct seep_cfi_cursor *cursor, unsigned nr_bytes);
uint64_t seep_cfi_read_uleb(struct seep_cfi_cursor *cursor);
int64_t seep_cfi_read_sleb(struct seep_cfi_cursor *cursor);

// Bytes of a pointer of this format; 0: no fixed width.
unsigned seep_cfi_format_bytes(uint8_t encoding);
// The number alone, without base.
uint64_t seep_cfi_read_format(struct seep_cfi_cursor *cursor, uint8_t encoding);
// A pointer whose target is not wanted: only moves over it.
void seep_cfi_skip_encoded(struct seep_cfi_cursor *cursor, uint8_t encoding);
// An address. The cursor is bad where its base is not known here (textrel, funcrel), or where it is read
// through a pointer that lies outside of the object.
uint64_t seep_cfi_read_encoded(struct seep_cfi_cursor *cursor, uint8_t encoding);

#endif

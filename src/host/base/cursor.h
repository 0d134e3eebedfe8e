// SPDX-License-Identifier: BSD-2-Clause
//
// A bounds-checked reader over bytes from outside. It remembers the offset to blame.
#ifndef SEEP_BASE_CURSOR_H
#define SEEP_BASE_CURSOR_H

#include "base/error.h"

struct seep_cursor {
    const unsigned char *bytes; // borrowed
    size_t size_bytes;
    size_t at;
    const char *name; // borrowed: file or section, for messages
    size_t base;      // offset of bytes[0] in that file, for messages
};

// All integers are little-endian. On failure (SEEP_E_FORMAT: "<name>: cut short at offset N") the
// cursor does not move and *ret is untouched.
SEEP_MUST_CHECK struct seep_error *seep_cursor_u8(struct seep_cursor *cursor, uint8_t *ret);
SEEP_MUST_CHECK struct seep_error *seep_cursor_u16(struct seep_cursor *cursor, uint16_t *ret);
SEEP_MUST_CHECK struct seep_error *seep_cursor_u32(struct seep_cursor *cursor, uint32_t *ret);
SEEP_MUST_CHECK struct seep_error *seep_cursor_u64(struct seep_cursor *cursor, uint64_t *ret);
// Unsigned LEB128; more than 64 bits is an error.
SEEP_MUST_CHECK struct seep_error *seep_cursor_leb(struct seep_cursor *cursor, uint64_t *ret);
// *ret points into the cursor's bytes.
SEEP_MUST_CHECK struct seep_error *seep_cursor_bytes(struct seep_cursor *cursor, size_t nr_bytes,
                                                     const unsigned char **ret);
// SEEP_E_FORMAT with name and present offset.
SEEP_MUST_CHECK SEEP_PRINTF(2, 3) struct seep_error *seep_cursor_error(const struct seep_cursor *cursor,
                                                                       const char *format, ...);

#endif

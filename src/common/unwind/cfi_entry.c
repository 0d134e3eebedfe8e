// SPDX-License-Identifier: BSD-2-Clause
//
// See cfi_entry.h. Source: DWARF 5 section 6.4.1; LSB 5.0 Core 10.6 (.eh_frame, .eh_frame_hdr).
#include "unwind/cfi_entry.h"
#include "unwind/arch.h"

int seep_cfi_enter_entry(struct seep_cfi_cursor *cursor) {
    uint64_t length = seep_cfi_read_unsigned(cursor, 4);
    if (length == 0xffffffff)
        length = seep_cfi_read_unsigned(cursor, 8);
    else if (length >= 0xfffffff0)
        return SEEP_CFI_BAD; // reserved values
    if (cursor->bad || !length || length > cursor->end - cursor->at)
        return SEEP_CFI_BAD;
    cursor->end = cursor->at + length;
    return SEEP_CFI_OK;
}

// Interprets the letters after 'z'; the cursor is at the augmentation data.
static int read_augmentation(struct seep_cfi_cursor *cursor, struct seep_cfi_cursor letters,
                             struct seep_cfi_cie *cie) {
    uint64_t nr_bytes = seep_cfi_read_uleb(cursor);
    if (cursor->bad || nr_bytes > cursor->end - cursor->at)
        return SEEP_CFI_BAD;
    struct seep_cfi_cursor data = *cursor;
    data.end = data.at + nr_bytes;
    cursor->at = data.end;
    for (;;) {
        switch (seep_cfi_read_unsigned(&letters, 1)) {
        case '\0':
            return data.bad ? SEEP_CFI_BAD : SEEP_CFI_OK;
        case 'R':
            cie->pointer_encoding = (uint8_t)seep_cfi_read_unsigned(&data, 1);
            if ((cie->pointer_encoding & PE_BASE) == PE_DATAREL)
                return SEEP_CFI_BAD; // relative to the GOT here, whose place is not known
            break;
        case 'P': // the personality routine; not followed: it may be in another object
            seep_cfi_skip_encoded(&data, (uint8_t)seep_cfi_read_unsigned(&data, 1));
            break;
        case 'L':
            seep_cfi_take(&data, 1);
            break;
        case 'S':
            cie->signal_frame = true;
            break;
        case 'B': // AArch64: return addresses signed with key B
        case 'G': // AArch64: tagged stack
            break;
        default:
            return SEEP_CFI_BAD;
        }
    }
}

// Each entry runs the program of its CIE again. Those of compilers have 20 to 40 bytes.
#define CIE_BYTES_MAX 512u

int seep_cfi_read_cie(struct seep_cfi_cursor cursor, uint64_t id, struct seep_cfi_cie *cie) {
    if (seep_cfi_enter_entry(&cursor) || cursor.end - cursor.at > CIE_BYTES_MAX)
        return SEEP_CFI_BAD;
    if (seep_cfi_read_unsigned(&cursor, 4) != id)
        return SEEP_CFI_BAD;
    uint64_t version = seep_cfi_read_unsigned(&cursor, 1);
    if (version != 1 && version != 3 && version != 4)
        return SEEP_CFI_BAD;
    struct seep_cfi_cursor letters = cursor;
    while (seep_cfi_read_unsigned(&cursor, 1))
        ;
    if (cursor.bad)
        return SEEP_CFI_BAD;
    if (version == 4 &&
        (seep_cfi_read_unsigned(&cursor, 1) != SEEP_ARCH_WORD || seep_cfi_read_unsigned(&cursor, 1) != 0))
        return SEEP_CFI_BAD; // address and segment selector sizes
    cie->code_align = seep_cfi_read_uleb(&cursor);
    cie->data_align = seep_cfi_read_sleb(&cursor);
    uint64_t return_reg = seep_arch_fold_register(version == 1 ? seep_cfi_read_unsigned(&cursor, 1)
                                                               : seep_cfi_read_uleb(&cursor));
    if (cursor.bad || return_reg >= SEEP_CFI_NR_REGS)
        return SEEP_CFI_BAD;
    cie->return_reg = (uint8_t)return_reg;
    cie->pointer_encoding = PE_ABSPTR;
    uint64_t first = seep_cfi_read_unsigned(&letters, 1);
    if (first == 'z') {
        cie->sized = true;
        if (read_augmentation(&cursor, letters, cie))
            return SEEP_CFI_BAD;
    } else if (first) {
        return SEEP_CFI_BAD;
    }
    cie->program = cursor;
    return cursor.bad ? SEEP_CFI_BAD : SEEP_CFI_OK;
}

int seep_cfi_read_fde_body(struct seep_cfi_cursor cursor, const struct seep_cfi_cie *cie,
                           struct seep_cfi_fde *fde) {
    fde->start = seep_cfi_read_encoded(&cursor, cie->pointer_encoding);
    uint64_t nr_bytes = seep_cfi_read_format(&cursor, cie->pointer_encoding);
    if (cie->sized)
        seep_cfi_take(&cursor, seep_cfi_read_uleb(&cursor)); // the language-specific data area, if any
    if (cursor.bad || __builtin_add_overflow(fde->start, nr_bytes, &fde->end))
        return SEEP_CFI_BAD;
    fde->program = cursor;
    return SEEP_CFI_OK;
}

int seep_cfi_read_fde(struct seep_cfi_cursor cursor, struct seep_cfi_cie *cie, struct seep_cfi_fde *fde) {
    if (seep_cfi_enter_entry(&cursor))
        return SEEP_CFI_BAD;
    uint64_t place = seep_cfi_cursor_address(&cursor);
    uint64_t distance = seep_cfi_read_unsigned(&cursor, 4);
    if (cursor.bad || !distance || distance > place - cursor.object->start)
        return SEEP_CFI_BAD;
    if (seep_cfi_read_cie(seep_cfi_cursor_at(cursor.object, place - distance), 0, cie))
        return SEEP_CFI_BAD;
    return seep_cfi_read_fde_body(cursor, cie, fde);
}

struct table {
    struct seep_cfi_cursor entries;
    uint64_t nr_entries;
    unsigned entry_bytes;
    uint8_t encoding;
};

static int open_table(const struct seep_cfi_object *object, struct table *table) {
    struct seep_cfi_cursor cursor = seep_cfi_cursor_at(object, object->eh_frame_hdr);
    uint64_t version = seep_cfi_read_unsigned(&cursor, 1);
    uint8_t frame_encoding = (uint8_t)seep_cfi_read_unsigned(&cursor, 1);
    uint8_t count_encoding = (uint8_t)seep_cfi_read_unsigned(&cursor, 1);
    table->encoding = (uint8_t)seep_cfi_read_unsigned(&cursor, 1);
    seep_cfi_skip_encoded(&cursor, frame_encoding);
    if (cursor.bad || version != 1)
        return SEEP_CFI_BAD;
    if (count_encoding == PE_OMIT || table->encoding == PE_OMIT)
        return SEEP_CFI_NONE; // the linker made no table
    table->nr_entries = seep_cfi_read_encoded(&cursor, count_encoding);
    table->entry_bytes = 2 * seep_cfi_format_bytes(table->encoding);
    if (cursor.bad || !table->entry_bytes || (table->encoding & PE_BASE) == PE_ALIGNED ||
        table->nr_entries > (cursor.end - cursor.at) / table->entry_bytes)
        return SEEP_CFI_BAD;
    table->entries = cursor;
    return SEEP_CFI_OK;
}

static struct seep_cfi_cursor table_entry(const struct table *table, uint64_t index) {
    struct seep_cfi_cursor cursor = table->entries;
    cursor.at += index * table->entry_bytes;
    return cursor;
}

// Same as read_encoded, for what all linkers write: a search reads a score of them. open_table has seen to
// it that the entry is in the object.
static uint64_t read_start(struct seep_cfi_cursor *entry, uint8_t encoding) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (encoding == (PE_DATAREL | PE_SDATA4)) {
        int32_t offset;
        __builtin_memcpy(&offset, entry->object->bytes + entry->at, sizeof(offset));
        return entry->object->eh_frame_hdr + (uint64_t)(int64_t)offset;
    }
#endif
    return seep_cfi_read_encoded(entry, encoding);
}

int seep_cfi_find_fde(const struct seep_cfi_object *object, uint64_t pc, struct seep_cfi_cursor *ret_fde) {
    struct table table;
    int status = open_table(object, &table);
    if (status)
        return status;
    uint64_t low = 0, high = table.nr_entries; // the entry sought is below high
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        struct seep_cfi_cursor entry = table_entry(&table, middle);
        uint64_t start = read_start(&entry, table.encoding);
        if (entry.bad)
            return SEEP_CFI_BAD;
        if (start <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return SEEP_CFI_NONE;
    struct seep_cfi_cursor entry = table_entry(&table, low - 1);
    seep_cfi_read_encoded(&entry, table.encoding);
    uint64_t address = seep_cfi_read_encoded(&entry, table.encoding);
    if (entry.bad)
        return SEEP_CFI_BAD;
    *ret_fde = seep_cfi_cursor_at(object, address);
    return ret_fde->bad ? SEEP_CFI_BAD : SEEP_CFI_OK;
}

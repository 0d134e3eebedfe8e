// SPDX-License-Identifier: BSD-2-Clause
//
// Call-frame information: the binary search table of .eh_frame_hdr, one CIE, one FDE, and the
// interpreter of their programs. Invariant: a cursor never leaves the object it was made for; once a
// read fails the cursor is spent (`bad`) and yields zeros, so a run of reads is checked once.
//
// Source: DWARF 5 sections 6.4 and 7.24; LSB 5.0 Core 10.5 to 10.6 (.eh_frame, DW_EH_PE_*);
// AADWARF64 (augmentation B, DW_CFA_AARCH64_negate_ra_state).

#include "unwind/cfi.h"
#include "unwind/arch.h"

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

// The operations whose number is in the high two bits, then the others.
enum {
    CFA_ADVANCE = 1,
    CFA_OFFSET = 2,
    CFA_RESTORE = 3,
};

enum {
    CFA_NOP = 0x00,
    CFA_SET_LOC = 0x01,
    CFA_ADVANCE1 = 0x02,
    CFA_ADVANCE2 = 0x03,
    CFA_ADVANCE4 = 0x04,
    CFA_OFFSET_EXTENDED = 0x05,
    CFA_RESTORE_EXTENDED = 0x06,
    CFA_UNDEFINED = 0x07,
    CFA_SAME_VALUE = 0x08,
    CFA_REGISTER = 0x09,
    CFA_REMEMBER_STATE = 0x0a,
    CFA_RESTORE_STATE = 0x0b,
    CFA_DEF_CFA = 0x0c,
    CFA_DEF_CFA_REGISTER = 0x0d,
    CFA_DEF_CFA_OFFSET = 0x0e,
    CFA_DEF_CFA_EXPRESSION = 0x0f,
    CFA_EXPRESSION = 0x10,
    CFA_OFFSET_EXTENDED_SF = 0x11,
    CFA_DEF_CFA_SF = 0x12,
    CFA_DEF_CFA_OFFSET_SF = 0x13,
    CFA_VAL_OFFSET = 0x14,
    CFA_VAL_OFFSET_SF = 0x15,
    CFA_VAL_EXPRESSION = 0x16,
    CFA_ADVANCE8 = 0x1d,
    CFA_NEGATE_RA_STATE_WITH_PC = 0x2c,
    CFA_NEGATE_RA_STATE = 0x2d,
    CFA_ARGS_SIZE = 0x2e,
    CFA_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

// Compilers nest remember_state once or twice; the bound keeps the stack use of a row under 4 KiB.
#define NR_REMEMBERED 8

struct cursor {
    const struct seep_cfi_object *object;
    uint64_t at; // offset in the object
    uint64_t end;
    bool bad;
};

struct cie {
    struct cursor program;
    uint64_t code_align;
    int64_t data_align;
    uint8_t return_reg;
    uint8_t pointer_encoding; // of the addresses in the FDEs
    bool sized;               // 'z': FDEs have augmentation data with a length
    bool signal_frame;
};

struct fde {
    struct cursor program;
    uint64_t start;
    uint64_t end;
};

// One row while it is computed: a third of the size of seep_cfi_row, because several are remembered.
// value: offset; register number; or for an expression the place in the object of its length.
struct state {
    uint64_t value[SEEP_CFI_NR_REGS];
    uint64_t cfa_value;
    uint8_t kind[SEEP_CFI_NR_REGS];
    uint8_t cfa_kind; // UNDEFINED, REGISTER or VAL_EXPRESSION
    uint8_t cfa_reg;
};

struct machine {
    const struct cie *cie;
    struct state now;
    struct state initial; // after the CIE's program
    struct state remembered[NR_REMEMBERED];
    unsigned nr_remembered;
    bool in_cie;
    uint64_t pc;
    uint64_t start; // of the row being built
    uint64_t end;
    uint64_t args_bytes;
};

static struct cursor cursor_at(const struct seep_cfi_object *object, uint64_t address) {
    struct cursor cursor = {.object = object, .at = address - object->start, .end = object->size_bytes};
    cursor.bad = address < object->start || cursor.at > cursor.end;
    return cursor;
}

static uint64_t cursor_address(const struct cursor *cursor) {
    return cursor->object->start + cursor->at;
}

static bool take(struct cursor *cursor, uint64_t nr_bytes) {
    if (cursor->bad || cursor->end - cursor->at < nr_bytes) {
        cursor->bad = true;
        return false;
    }
    cursor->at += nr_bytes;
    return true;
}

static uint64_t read_unsigned(struct cursor *cursor, unsigned nr_bytes) {
    if (!take(cursor, nr_bytes))
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

static uint64_t read_signed(struct cursor *cursor, unsigned nr_bytes) {
    unsigned shift = 64 - 8 * nr_bytes;
    return (uint64_t)((int64_t)(read_unsigned(cursor, nr_bytes) << shift) >> shift);
}

// Ten bytes hold 64 bits; some padding beyond them is accepted, bits are not. Without an end to it, a number
// that each row of a function has read again would make its rows cost the square of its length.
#define LEB_BITS_MAX 112

static uint64_t read_uleb(struct cursor *cursor) {
    if (!cursor->bad && cursor->at < cursor->end && cursor->object->bytes[cursor->at] < 0x80)
        return cursor->object->bytes[cursor->at++]; // nearly all are of one byte
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = (uint8_t)read_unsigned(cursor, 1);
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

static int64_t read_sleb(struct cursor *cursor) {
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = (uint8_t)read_unsigned(cursor, 1);
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

// Bytes of a pointer of this format; 0: no fixed width.
static unsigned format_bytes(uint8_t encoding) {
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

// The number alone, without base.
static uint64_t read_format(struct cursor *cursor, uint8_t encoding) {
    unsigned nr_bytes = format_bytes(encoding);
    switch (encoding & PE_FORMAT) {
    case PE_ULEB128:
        return read_uleb(cursor);
    case PE_SLEB128:
        return (uint64_t)read_sleb(cursor);
    default:
        break;
    }
    if (!nr_bytes) {
        cursor->bad = true;
        return 0;
    }
    return encoding & PE_SIGNED ? read_signed(cursor, nr_bytes) : read_unsigned(cursor, nr_bytes);
}

// A pointer whose target is not wanted: only moves over it.
static void skip_encoded(struct cursor *cursor, uint8_t encoding) {
    if (encoding == PE_OMIT)
        return;
    if ((encoding & PE_BASE) == PE_ALIGNED) {
        take(cursor, -cursor_address(cursor) % SEEP_ARCH_WORD);
        encoding = PE_ABSPTR;
    }
    read_format(cursor, encoding);
}

static uint64_t read_encoded(struct cursor *cursor, uint8_t encoding) {
    const struct seep_cfi_object *object = cursor->object;
    if (encoding == PE_OMIT) {
        cursor->bad = true;
        return 0;
    }
    if ((encoding & PE_BASE) == PE_ALIGNED)
        take(cursor, -cursor_address(cursor) % SEEP_ARCH_WORD);
    uint64_t base = 0;
    switch (encoding & PE_BASE) {
    case PE_ABSPTR:
    case PE_ALIGNED:
        break;
    case PE_PCREL:
        base = cursor_address(cursor);
        break;
    case PE_DATAREL: // inside .eh_frame_hdr: its start
        base = object->eh_frame_hdr;
        break;
    default: // textrel, funcrel: their base is not known here
        cursor->bad = true;
        return 0;
    }
    uint64_t value = base + read_format(cursor, encoding);
    if (cursor->bad || !(encoding & PE_INDIRECT))
        return value;
    struct cursor slot = cursor_at(object, value);
    value = read_unsigned(&slot, SEEP_ARCH_WORD);
    cursor->bad |= slot.bad;
    return value;
}

// Reads the length of a CIE or FDE and makes its end the cursor's.
static int enter_entry(struct cursor *cursor) {
    uint64_t length = read_unsigned(cursor, 4);
    if (length == 0xffffffff)
        length = read_unsigned(cursor, 8);
    else if (length >= 0xfffffff0)
        return SEEP_CFI_BAD; // reserved values
    if (cursor->bad || !length || length > cursor->end - cursor->at)
        return SEEP_CFI_BAD;
    cursor->end = cursor->at + length;
    return SEEP_CFI_OK;
}

// Interprets the letters after 'z'; the cursor is at the augmentation data.
static int read_augmentation(struct cursor *cursor, struct cursor letters, struct cie *cie) {
    uint64_t nr_bytes = read_uleb(cursor);
    if (cursor->bad || nr_bytes > cursor->end - cursor->at)
        return SEEP_CFI_BAD;
    struct cursor data = *cursor;
    data.end = data.at + nr_bytes;
    cursor->at = data.end;
    for (;;) {
        switch (read_unsigned(&letters, 1)) {
        case '\0':
            return data.bad ? SEEP_CFI_BAD : SEEP_CFI_OK;
        case 'R':
            cie->pointer_encoding = (uint8_t)read_unsigned(&data, 1);
            if ((cie->pointer_encoding & PE_BASE) == PE_DATAREL)
                return SEEP_CFI_BAD; // relative to the GOT here, whose place is not known
            break;
        case 'P': // the personality routine; not followed: it may be in another object
            skip_encoded(&data, (uint8_t)read_unsigned(&data, 1));
            break;
        case 'L':
            take(&data, 1);
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

// In .eh_frame the id of a CIE is 0, and an FDE has the distance to its CIE there; in .debug_frame it is
// all ones, and an FDE has the place of its CIE in the section.
#define DEBUG_FRAME_CIE_ID 0xffffffff

// Each entry runs the program of its CIE again. Those of compilers have 20 to 40 bytes.
#define CIE_BYTES_MAX 512u

static int read_cie(struct cursor cursor, uint64_t id, struct cie *cie) {
    if (enter_entry(&cursor) || cursor.end - cursor.at > CIE_BYTES_MAX)
        return SEEP_CFI_BAD;
    if (read_unsigned(&cursor, 4) != id)
        return SEEP_CFI_BAD;
    uint64_t version = read_unsigned(&cursor, 1);
    if (version != 1 && version != 3 && version != 4)
        return SEEP_CFI_BAD;
    struct cursor letters = cursor;
    while (read_unsigned(&cursor, 1))
        ;
    if (cursor.bad)
        return SEEP_CFI_BAD;
    if (version == 4 && (read_unsigned(&cursor, 1) != SEEP_ARCH_WORD || read_unsigned(&cursor, 1) != 0))
        return SEEP_CFI_BAD; // address and segment selector sizes
    cie->code_align = read_uleb(&cursor);
    cie->data_align = read_sleb(&cursor);
    uint64_t return_reg =
        seep_arch_fold_register(version == 1 ? read_unsigned(&cursor, 1) : read_uleb(&cursor));
    if (cursor.bad || return_reg >= SEEP_CFI_NR_REGS)
        return SEEP_CFI_BAD;
    cie->return_reg = (uint8_t)return_reg;
    cie->pointer_encoding = PE_ABSPTR;
    uint64_t first = read_unsigned(&letters, 1);
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

// The cursor is behind the FDE's reference to its CIE.
static int read_fde_body(struct cursor cursor, const struct cie *cie, struct fde *fde) {
    fde->start = read_encoded(&cursor, cie->pointer_encoding);
    uint64_t nr_bytes = read_format(&cursor, cie->pointer_encoding);
    if (cie->sized)
        take(&cursor, read_uleb(&cursor)); // the language-specific data area, if any
    if (cursor.bad || __builtin_add_overflow(fde->start, nr_bytes, &fde->end))
        return SEEP_CFI_BAD;
    fde->program = cursor;
    return SEEP_CFI_OK;
}

static int read_fde(struct cursor cursor, struct cie *cie, struct fde *fde) {
    if (enter_entry(&cursor))
        return SEEP_CFI_BAD;
    uint64_t place = cursor_address(&cursor);
    uint64_t distance = read_unsigned(&cursor, 4);
    if (cursor.bad || !distance || distance > place - cursor.object->start)
        return SEEP_CFI_BAD;
    if (read_cie(cursor_at(cursor.object, place - distance), 0, cie))
        return SEEP_CFI_BAD;
    return read_fde_body(cursor, cie, fde);
}

struct table {
    struct cursor entries;
    uint64_t nr_entries;
    unsigned entry_bytes;
    uint8_t encoding;
};

static int open_table(const struct seep_cfi_object *object, struct table *table) {
    struct cursor cursor = cursor_at(object, object->eh_frame_hdr);
    uint64_t version = read_unsigned(&cursor, 1);
    uint8_t frame_encoding = (uint8_t)read_unsigned(&cursor, 1);
    uint8_t count_encoding = (uint8_t)read_unsigned(&cursor, 1);
    table->encoding = (uint8_t)read_unsigned(&cursor, 1);
    skip_encoded(&cursor, frame_encoding);
    if (cursor.bad || version != 1)
        return SEEP_CFI_BAD;
    if (count_encoding == PE_OMIT || table->encoding == PE_OMIT)
        return SEEP_CFI_NONE; // the linker made no table
    table->nr_entries = read_encoded(&cursor, count_encoding);
    table->entry_bytes = 2 * format_bytes(table->encoding);
    if (cursor.bad || !table->entry_bytes || (table->encoding & PE_BASE) == PE_ALIGNED ||
        table->nr_entries > (cursor.end - cursor.at) / table->entry_bytes)
        return SEEP_CFI_BAD;
    table->entries = cursor;
    return SEEP_CFI_OK;
}

static struct cursor table_entry(const struct table *table, uint64_t index) {
    struct cursor cursor = table->entries;
    cursor.at += index * table->entry_bytes;
    return cursor;
}

// Same as read_encoded, for what all linkers write: a search reads a score of them. open_table has seen to
// it that the entry is in the object.
static uint64_t read_start(struct cursor *entry, uint8_t encoding) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (encoding == (PE_DATAREL | PE_SDATA4)) {
        int32_t offset;
        __builtin_memcpy(&offset, entry->object->bytes + entry->at, sizeof(offset));
        return entry->object->eh_frame_hdr + (uint64_t)(int64_t)offset;
    }
#endif
    return read_encoded(entry, encoding);
}

// Finds the last entry that begins at or before pc. An unsorted table gives a wrong entry, no worse:
// the FDE's own range decides.
static int find_fde(const struct seep_cfi_object *object, uint64_t pc, struct cursor *ret_fde) {
    struct table table;
    int status = open_table(object, &table);
    if (status)
        return status;
    uint64_t low = 0, high = table.nr_entries; // the entry sought is below high
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        struct cursor entry = table_entry(&table, middle);
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
    struct cursor entry = table_entry(&table, low - 1);
    read_encoded(&entry, table.encoding);
    uint64_t address = read_encoded(&entry, table.encoding);
    if (entry.bad)
        return SEEP_CFI_BAD;
    *ret_fde = cursor_at(object, address);
    return ret_fde->bad ? SEEP_CFI_BAD : SEEP_CFI_OK;
}

static void set_rule(struct machine *machine, uint64_t reg, enum seep_cfi_kind kind, uint64_t value) {
    reg = seep_arch_fold_register(reg);
    if (reg >= SEEP_CFI_NR_REGS)
        return; // vector registers and the like: not kept
    machine->now.kind[reg] = (uint8_t)kind;
    machine->now.value[reg] = value;
}

static int restore_rule(struct machine *machine, uint64_t reg) {
    if (machine->in_cie)
        return SEEP_CFI_BAD; // there is no initial state yet
    uint64_t kept = seep_arch_fold_register(reg);
    if (kept < SEEP_CFI_NR_REGS)
        set_rule(machine, reg, machine->initial.kind[kept], machine->initial.value[kept]);
    return SEEP_CFI_OK;
}

// Moves over a length and that many bytes; gives the place of the length.
static uint64_t read_block(struct cursor *program) {
    uint64_t place = program->at;
    take(program, read_uleb(program));
    return place;
}

static int define_cfa(struct machine *machine, uint64_t reg, uint64_t offset) {
    reg = seep_arch_fold_register(reg);
    if (reg >= SEEP_CFI_NR_REGS)
        return SEEP_CFI_BAD;
    machine->now.cfa_kind = SEEP_CFI_REGISTER;
    machine->now.cfa_reg = (uint8_t)reg;
    machine->now.cfa_value = offset;
    return SEEP_CFI_OK;
}

// def_cfa_register and def_cfa_offset change one half of what must already be register plus offset. In a CIE
// GNU as begins with the register alone where the offset is 0 (RISC-V).
static int redefine_cfa(struct machine *machine, bool new_reg, uint64_t value) {
    bool begins = new_reg && machine->in_cie && machine->now.cfa_kind == SEEP_CFI_UNDEFINED;
    if (machine->now.cfa_kind != SEEP_CFI_REGISTER && !begins)
        return SEEP_CFI_BAD;
    return new_reg ? define_cfa(machine, value, machine->now.cfa_value)
                   : define_cfa(machine, machine->now.cfa_reg, value);
}

// The row that begins at `location` follows. Stops the program when that is beyond the pc.
SEEP_INLINE int move_to(struct machine *machine, uint64_t location, bool *ret_done) {
    if (machine->in_cie || location < machine->start)
        return SEEP_CFI_BAD;
    if (location > machine->pc) {
        machine->end = SEEP_MIN(machine->end, location);
        *ret_done = true;
    } else {
        machine->start = location;
    }
    return SEEP_CFI_OK;
}

SEEP_INLINE int advance(struct machine *machine, uint64_t delta, bool *ret_done) {
    uint64_t location;
    if (__builtin_mul_overflow(delta, machine->cie->code_align, &location) ||
        __builtin_add_overflow(machine->start, location, &location))
        return SEEP_CFI_BAD;
    return move_to(machine, location, ret_done);
}

static int execute_location(struct machine *machine, struct cursor *program, uint8_t op, bool *ret_done) {
    uint64_t value;
    switch (op) {
    case CFA_SET_LOC:
        value = read_encoded(program, machine->cie->pointer_encoding);
        return program->bad ? SEEP_CFI_BAD : move_to(machine, value, ret_done);
    case CFA_ADVANCE1:
        value = read_unsigned(program, 1);
        break;
    case CFA_ADVANCE2:
        value = read_unsigned(program, 2);
        break;
    case CFA_ADVANCE4:
        value = read_unsigned(program, 4);
        break;
    default:
        value = read_unsigned(program, 8);
        break;
    }
    return program->bad ? SEEP_CFI_BAD : advance(machine, value, ret_done);
}

static int execute_cfa(struct machine *machine, struct cursor *program, uint8_t op) {
    uint64_t scale = (uint64_t)machine->cie->data_align; // products wrap, as addresses do
    uint64_t reg;
    switch (op) {
    case CFA_DEF_CFA:
        reg = read_uleb(program);
        return define_cfa(machine, reg, read_uleb(program));
    case CFA_DEF_CFA_SF:
        reg = read_uleb(program);
        return define_cfa(machine, reg, (uint64_t)read_sleb(program) * scale);
    case CFA_DEF_CFA_REGISTER:
        return redefine_cfa(machine, true, read_uleb(program));
    case CFA_DEF_CFA_OFFSET:
        return redefine_cfa(machine, false, read_uleb(program));
    case CFA_DEF_CFA_OFFSET_SF:
        return redefine_cfa(machine, false, (uint64_t)read_sleb(program) * scale);
    default:
        machine->now.cfa_kind = SEEP_CFI_VAL_EXPRESSION;
        machine->now.cfa_value = read_block(program);
        return SEEP_CFI_OK;
    }
}

static int execute_register(struct machine *machine, struct cursor *program, uint8_t op) {
    uint64_t scale = (uint64_t)machine->cie->data_align;
    uint64_t reg = read_uleb(program), from;
    switch (op) {
    case CFA_OFFSET_EXTENDED:
        set_rule(machine, reg, SEEP_CFI_OFFSET, read_uleb(program) * scale);
        return SEEP_CFI_OK;
    case CFA_OFFSET_EXTENDED_SF:
        set_rule(machine, reg, SEEP_CFI_OFFSET, (uint64_t)read_sleb(program) * scale);
        return SEEP_CFI_OK;
    case CFA_NEGATIVE_OFFSET_EXTENDED:
        set_rule(machine, reg, SEEP_CFI_OFFSET, -(read_uleb(program) * scale));
        return SEEP_CFI_OK;
    case CFA_VAL_OFFSET:
        set_rule(machine, reg, SEEP_CFI_VAL_OFFSET, read_uleb(program) * scale);
        return SEEP_CFI_OK;
    case CFA_VAL_OFFSET_SF:
        set_rule(machine, reg, SEEP_CFI_VAL_OFFSET, (uint64_t)read_sleb(program) * scale);
        return SEEP_CFI_OK;
    case CFA_UNDEFINED:
        set_rule(machine, reg, SEEP_CFI_UNDEFINED, 0);
        return SEEP_CFI_OK;
    case CFA_SAME_VALUE:
        set_rule(machine, reg, SEEP_CFI_SAME, 0);
        return SEEP_CFI_OK;
    case CFA_REGISTER: // from a register that is not kept, nothing can be known
        from = seep_arch_fold_register(read_uleb(program));
        set_rule(machine, reg, from < SEEP_CFI_NR_REGS ? SEEP_CFI_REGISTER : SEEP_CFI_UNDEFINED, from);
        return SEEP_CFI_OK;
    case CFA_EXPRESSION:
        set_rule(machine, reg, SEEP_CFI_EXPRESSION, read_block(program));
        return SEEP_CFI_OK;
    case CFA_VAL_EXPRESSION:
        set_rule(machine, reg, SEEP_CFI_VAL_EXPRESSION, read_block(program));
        return SEEP_CFI_OK;
    default:
        return restore_rule(machine, reg);
    }
}

static int execute_other(struct machine *machine, struct cursor *program, uint8_t op) {
    switch (op) {
    case CFA_NOP:
    case CFA_NEGATE_RA_STATE: // the pointer authentication code is no part of an address
    case CFA_NEGATE_RA_STATE_WITH_PC:
        return SEEP_CFI_OK;
    case CFA_REMEMBER_STATE:
        if (machine->nr_remembered == NR_REMEMBERED)
            return SEEP_CFI_BAD;
        machine->remembered[machine->nr_remembered++] = machine->now;
        return SEEP_CFI_OK;
    case CFA_RESTORE_STATE:
        if (!machine->nr_remembered)
            return SEEP_CFI_BAD;
        machine->now = machine->remembered[--machine->nr_remembered];
        return SEEP_CFI_OK;
    case CFA_ARGS_SIZE:
        machine->args_bytes = read_uleb(program);
        return SEEP_CFI_OK;
    default:
        return SEEP_CFI_BAD;
    }
}

// One operation that execute_common leaves.
static int execute_op(struct machine *machine, struct cursor *program, bool *ret_done) {
    uint8_t op = (uint8_t)read_unsigned(program, 1);
    uint8_t low = op & 0x3f;
    if (op >> 6 == CFA_OFFSET) {
        set_rule(machine, low, SEEP_CFI_OFFSET, read_uleb(program) * (uint64_t)machine->cie->data_align);
        return SEEP_CFI_OK;
    }
    switch (op) {
    case CFA_SET_LOC:
    case CFA_ADVANCE1:
    case CFA_ADVANCE2:
    case CFA_ADVANCE4:
    case CFA_ADVANCE8:
        return execute_location(machine, program, op, ret_done);
    case CFA_DEF_CFA:
    case CFA_DEF_CFA_SF:
    case CFA_DEF_CFA_REGISTER:
    case CFA_DEF_CFA_OFFSET:
    case CFA_DEF_CFA_OFFSET_SF:
    case CFA_DEF_CFA_EXPRESSION:
        return execute_cfa(machine, program, op);
    case CFA_OFFSET_EXTENDED:
    case CFA_OFFSET_EXTENDED_SF:
    case CFA_NEGATIVE_OFFSET_EXTENDED:
    case CFA_VAL_OFFSET:
    case CFA_VAL_OFFSET_SF:
    case CFA_UNDEFINED:
    case CFA_SAME_VALUE:
    case CFA_REGISTER:
    case CFA_EXPRESSION:
    case CFA_VAL_EXPRESSION:
    case CFA_RESTORE_EXTENDED:
        return execute_register(machine, program, op);
    default:
        return execute_other(machine, program, op);
    }
}

// What nearly all of a program is, as far as its operands are of one byte: all in one loop, for functions of
// compilers have programs of hundreds of operations. It stops before anything else, which execute_op does.
static int execute_common(struct machine *machine, struct cursor *program, bool *ret_done) {
    const uint8_t *const bytes = program->object->bytes, *const end = bytes + program->end;
    const uint8_t *at = bytes + program->at;
    int status = SEEP_CFI_OK;
    while (!status && !*ret_done && at < end) {
        const uint8_t op = at[0], low = op & 0x3f;
        const uint8_t operand = end - at > 1 ? at[1] : 0x80; // of more than a byte, or none
        unsigned nr_bytes = 2;
        if (op >> 6 == CFA_ADVANCE || (op == CFA_ADVANCE1 && operand < 0x80)) {
            nr_bytes = op == CFA_ADVANCE1 ? 2 : 1;
            status = advance(machine, op == CFA_ADVANCE1 ? operand : low, ret_done);
        } else if (op >> 6 == CFA_RESTORE) {
            nr_bytes = 1;
            status = restore_rule(machine, low);
        } else if (op == CFA_DEF_CFA_OFFSET && operand < 0x80) {
            status = redefine_cfa(machine, false, operand);
        } else if (op >> 6 == CFA_OFFSET && operand < 0x80) {
            set_rule(machine, low, SEEP_CFI_OFFSET, operand * (uint64_t)machine->cie->data_align);
        } else {
            break;
        }
        at += nr_bytes;
    }
    program->at = (uint64_t)(at - bytes);
    return status;
}

// Every operation consumes a byte or more, so this ends with the program.
static int execute(struct machine *machine, struct cursor *program) {
    bool done = false;
    for (;;) {
        int status = execute_common(machine, program, &done);
        if (status || done || program->at >= program->end)
            return status;
        status = execute_op(machine, program, &done);
        if (status)
            return status;
        if (program->bad)
            return SEEP_CFI_BAD;
    }
}

// Runs the CIE's program, so that the FDE's can begin. Only what is read is set: the remembered states
// are most of a machine.
static int machine_start(struct machine *machine, const struct cie *cie, const struct fde *fde, uint64_t pc) {
    machine->cie = cie;
    machine->now = (struct state){.cfa_kind = SEEP_CFI_UNDEFINED};
    machine->nr_remembered = 0;
    machine->in_cie = true;
    machine->pc = pc;
    machine->start = fde->start;
    machine->end = fde->end;
    machine->args_bytes = 0;
    struct cursor program = cie->program;
    int status = execute(machine, &program);
    machine->initial = machine->now;
    machine->nr_remembered = 0;
    machine->in_cie = false;
    return status;
}

static bool has_expression(uint8_t kind) {
    return kind == SEEP_CFI_EXPRESSION || kind == SEEP_CFI_VAL_EXPRESSION;
}

static int make_rule(const struct seep_cfi_object *object, uint8_t kind, uint64_t value,
                     struct seep_cfi_rule *rule) {
    *rule = (struct seep_cfi_rule){.kind = kind};
    if (!has_expression(kind)) {
        if (kind == SEEP_CFI_REGISTER)
            rule->reg = (uint8_t)value;
        else
            rule->offset = (int64_t)value;
        return SEEP_CFI_OK;
    }
    struct cursor block = {.object = object, .at = value, .end = object->size_bytes};
    uint64_t nr_bytes = read_uleb(&block);
    if (block.bad || nr_bytes > UINT32_MAX)
        return SEEP_CFI_BAD;
    rule->expression = object->bytes + block.at;
    rule->expression_bytes = (uint32_t)nr_bytes;
    return SEEP_CFI_OK;
}

static bool expressions_fit(const struct seep_cfi_object *object, const struct state *state) {
    struct seep_cfi_rule rule;
    for (unsigned i = 0; i < SEEP_CFI_NR_REGS; i++)
        if (has_expression(state->kind[i]) && make_rule(object, state->kind[i], state->value[i], &rule))
            return false;
    return !has_expression(state->cfa_kind) || !make_rule(object, state->cfa_kind, state->cfa_value, &rule);
}

static int finish(const struct seep_cfi_object *object, const struct machine *machine,
                  struct seep_cfi_row *ret_row) {
    const struct state *now = &machine->now;
    if (now->cfa_kind == SEEP_CFI_UNDEFINED || !expressions_fit(object, now))
        return SEEP_CFI_BAD;
    int status = SEEP_CFI_OK;
    ret_row->start = machine->start;
    ret_row->end = machine->end;
    for (unsigned i = 0; i < SEEP_CFI_NR_REGS; i++)
        status |= make_rule(object, now->kind[i], now->value[i], &ret_row->regs[i]);
    if (now->cfa_kind == SEEP_CFI_REGISTER)
        ret_row->cfa = (struct seep_cfi_rule){
            .kind = SEEP_CFI_REGISTER, .reg = now->cfa_reg, .offset = (int64_t)now->cfa_value};
    else
        status |= make_rule(object, now->cfa_kind, now->cfa_value, &ret_row->cfa);
    ret_row->return_reg = machine->cie->return_reg;
    ret_row->signal_frame = machine->cie->signal_frame;
    ret_row->args_bytes = machine->args_bytes;
    return status;
}

int seep_cfi_row_at(const struct seep_cfi_object *object, uint64_t pc, struct seep_cfi_row *ret_row) {
    if (object->size_bytes > UINT64_MAX - object->start)
        return SEEP_CFI_BAD;
    struct cursor entry;
    int status = find_fde(object, pc, &entry);
    if (status)
        return status;
    struct cie cie = {0};
    struct fde fde;
    status = read_fde(entry, &cie, &fde);
    if (status)
        return status;
    if (pc < fde.start || pc >= fde.end)
        return SEEP_CFI_NONE;

    struct machine machine;
    status = machine_start(&machine, &cie, &fde, pc);
    if (status)
        return status;
    status = execute(&machine, &fde.program);
    if (status)
        return status;
    return finish(object, &machine, ret_row);
}

#define STOPPED 1 // by the visitor

// All rows of one FDE: each is what row_at gives for its start.
static int visit_fde(const struct seep_cfi_object *object, const struct cie *cie, struct fde *fde,
                     seep_cfi_visit *visit, void *context) {
    struct machine machine;
    struct seep_cfi_row row;
    int status = fde->start < fde->end ? machine_start(&machine, cie, fde, fde->start) : SEEP_CFI_BAD;
    while (!status) {
        machine.pc = machine.start;
        machine.end = fde->end;
        status = execute(&machine, &fde->program);
        if (!status)
            status = finish(object, &machine, &row);
        if (!status && !visit(context, &row))
            return STOPPED;
        if (status || machine.end >= fde->end)
            break;
        machine.start = machine.end;
    }
    return status;
}

// The CIE that an FDE at `entry` refers to, by its place; the cursor is behind the reference.
static bool find_cie(struct cursor *entry, const struct cursor *section, bool is_debug_frame,
                     uint64_t *ret_place) {
    uint64_t place = entry->at;
    uint64_t reference = read_unsigned(entry, 4);
    if (is_debug_frame) {
        *ret_place = section->at + reference;
        return !entry->bad && reference != DEBUG_FRAME_CIE_ID && reference < section->end - section->at;
    }
    *ret_place = place - reference;
    return !entry->bad && reference && reference <= place;
}

uint64_t seep_cfi_visit_rows(const struct seep_cfi_object *object, const struct seep_cfi_section *where,
                             seep_cfi_visit *visit, void *context) {
    if (object->size_bytes > UINT64_MAX - object->start || where->size_bytes > object->size_bytes)
        return 0;
    struct cursor section = cursor_at(object, where->start);
    if (section.bad || where->size_bytes > section.end - section.at)
        return 0;
    section.end = section.at + where->size_bytes;
    struct cursor at = section;
    struct cie cie = {0};
    uint64_t cie_place = UINT64_MAX, nr_bad = 0; // neighbours mostly share their CIE
    while (section.end - at.at >= 4) {
        struct cursor entry = at;
        if (enter_entry(&entry))
            break; // the end, or no telling where the next one begins
        at.at = entry.end;
        struct cursor body = entry;
        uint64_t id = where->is_debug_frame ? DEBUG_FRAME_CIE_ID : 0;
        if (read_unsigned(&body, 4) == id)
            continue;
        uint64_t place;
        struct fde fde;
        if (!visit(context, NULL))
            break;
        int status = find_cie(&entry, &section, where->is_debug_frame, &place) ? SEEP_CFI_OK : SEEP_CFI_BAD;
        if (!status && place != cie_place) {
            struct cursor cie_cursor = section;
            cie_cursor.at = place;
            cie = (struct cie){0};
            status = read_cie(cie_cursor, id, &cie);
            cie_place = status ? UINT64_MAX : place;
        }
        if (!status)
            status = read_fde_body(entry, &cie, &fde);
        if (!status)
            status = visit_fde(object, &cie, &fde, visit, context);
        if (status == STOPPED)
            break;
        nr_bad += status != SEEP_CFI_OK;
    }
    return nr_bad;
}

// SPDX-License-Identifier: BSD-2-Clause
//
// See cfi_program.h. Source: DWARF 5 sections 6.4.2 and 7.24; AADWARF64 (DW_CFA_AARCH64_negate_ra_state).
#include "unwind/cfi_program.h"
#include "unwind/arch.h"

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

static void set_rule(struct seep_cfi_machine *machine, uint64_t reg, enum seep_cfi_kind kind,
                     uint64_t value) {
    reg = seep_arch_fold_register(reg);
    if (reg >= SEEP_CFI_NR_REGS)
        return; // vector registers and the like: not kept
    machine->now.kind[reg] = (uint8_t)kind;
    machine->now.value[reg] = value;
}

static int restore_rule(struct seep_cfi_machine *machine, uint64_t reg) {
    if (machine->in_cie)
        return SEEP_CFI_BAD; // there is no initial state yet
    uint64_t kept = seep_arch_fold_register(reg);
    if (kept < SEEP_CFI_NR_REGS)
        set_rule(machine, reg, machine->initial.kind[kept], machine->initial.value[kept]);
    return SEEP_CFI_OK;
}

// Moves over a length and that many bytes; gives the place of the length.
static uint64_t read_block(struct seep_cfi_cursor *program) {
    uint64_t place = program->at;
    seep_cfi_take(program, seep_cfi_read_uleb(program));
    return place;
}

static int define_cfa(struct seep_cfi_machine *machine, uint64_t reg, uint64_t offset) {
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
static int redefine_cfa(struct seep_cfi_machine *machine, bool new_reg, uint64_t value) {
    bool begins = new_reg && machine->in_cie && machine->now.cfa_kind == SEEP_CFI_UNDEFINED;
    if (machine->now.cfa_kind != SEEP_CFI_REGISTER && !begins)
        return SEEP_CFI_BAD;
    return new_reg ? define_cfa(machine, value, machine->now.cfa_value)
                   : define_cfa(machine, machine->now.cfa_reg, value);
}

// The row that begins at `location` follows. Stops the program when that is beyond the pc.
SEEP_INLINE int move_to(struct seep_cfi_machine *machine, uint64_t location, bool *ret_done) {
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

SEEP_INLINE int advance(struct seep_cfi_machine *machine, uint64_t delta, bool *ret_done) {
    uint64_t location;
    if (__builtin_mul_overflow(delta, machine->cie->code_align, &location) ||
        __builtin_add_overflow(machine->start, location, &location))
        return SEEP_CFI_BAD;
    return move_to(machine, location, ret_done);
}

static int execute_location(struct seep_cfi_machine *machine, struct seep_cfi_cursor *program, uint8_t op,
                            bool *ret_done) {
    uint64_t value;
    switch (op) {
    case CFA_SET_LOC:
        value = seep_cfi_read_encoded(program, machine->cie->pointer_encoding);
        return program->bad ? SEEP_CFI_BAD : move_to(machine, value, ret_done);
    case CFA_ADVANCE1:
        value = seep_cfi_read_unsigned(program, 1);
        break;
    case CFA_ADVANCE2:
        value = seep_cfi_read_unsigned(program, 2);
        break;
    case CFA_ADVANCE4:
        value = seep_cfi_read_unsigned(program, 4);
        break;
    default:
        value = seep_cfi_read_unsigned(program, 8);
        break;
    }
    return program->bad ? SEEP_CFI_BAD : advance(machine, value, ret_done);
}

static int execute_cfa(struct seep_cfi_machine *machine, struct seep_cfi_cursor *program, uint8_t op) {
    uint64_t scale = (uint64_t)machine->cie->data_align; // products wrap, as addresses do
    uint64_t reg;
    switch (op) {
    case CFA_DEF_CFA:
        reg = seep_cfi_read_uleb(program);
        return define_cfa(machine, reg, seep_cfi_read_uleb(program));
    case CFA_DEF_CFA_SF:
        reg = seep_cfi_read_uleb(program);
        return define_cfa(machine, reg, (uint64_t)seep_cfi_read_sleb(program) * scale);
    case CFA_DEF_CFA_REGISTER:
        return redefine_cfa(machine, true, seep_cfi_read_uleb(program));
    case CFA_DEF_CFA_OFFSET:
        return redefine_cfa(machine, false, seep_cfi_read_uleb(program));
    case CFA_DEF_CFA_OFFSET_SF:
        return redefine_cfa(machine, false, (uint64_t)seep_cfi_read_sleb(program) * scale);
    default:
        machine->now.cfa_kind = SEEP_CFI_VAL_EXPRESSION;
        machine->now.cfa_value = read_block(program);
        return SEEP_CFI_OK;
    }
}

static int execute_register(struct seep_cfi_machine *machine, struct seep_cfi_cursor *program, uint8_t op) {
    uint64_t scale = (uint64_t)machine->cie->data_align;
    uint64_t reg = seep_cfi_read_uleb(program), from;
    switch (op) {
    case CFA_OFFSET_EXTENDED:
    case CFA_VAL_OFFSET:
        set_rule(machine, reg, op == CFA_VAL_OFFSET ? SEEP_CFI_VAL_OFFSET : SEEP_CFI_OFFSET,
                 seep_cfi_read_uleb(program) * scale);
        return SEEP_CFI_OK;
    case CFA_OFFSET_EXTENDED_SF:
    case CFA_VAL_OFFSET_SF:
        set_rule(machine, reg, op == CFA_VAL_OFFSET_SF ? SEEP_CFI_VAL_OFFSET : SEEP_CFI_OFFSET,
                 (uint64_t)seep_cfi_read_sleb(program) * scale);
        return SEEP_CFI_OK;
    case CFA_NEGATIVE_OFFSET_EXTENDED:
        set_rule(machine, reg, SEEP_CFI_OFFSET, -(seep_cfi_read_uleb(program) * scale));
        return SEEP_CFI_OK;
    case CFA_UNDEFINED:
        set_rule(machine, reg, SEEP_CFI_UNDEFINED, 0);
        return SEEP_CFI_OK;
    case CFA_SAME_VALUE:
        set_rule(machine, reg, SEEP_CFI_SAME, 0);
        return SEEP_CFI_OK;
    case CFA_REGISTER: // from a register that is not kept, nothing can be known
        from = seep_arch_fold_register(seep_cfi_read_uleb(program));
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

static int execute_other(struct seep_cfi_machine *machine, struct seep_cfi_cursor *program, uint8_t op) {
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
        machine->args_bytes = seep_cfi_read_uleb(program);
        return SEEP_CFI_OK;
    default:
        return SEEP_CFI_BAD;
    }
}

// One operation that execute_common leaves.
static int execute_op(struct seep_cfi_machine *machine, struct seep_cfi_cursor *program, bool *ret_done) {
    uint8_t op = (uint8_t)seep_cfi_read_unsigned(program, 1);
    uint8_t low = op & 0x3f;
    if (op >> 6 == CFA_OFFSET) {
        set_rule(machine, low, SEEP_CFI_OFFSET,
                 seep_cfi_read_uleb(program) * (uint64_t)machine->cie->data_align);
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
static int execute_common(struct seep_cfi_machine *machine, struct seep_cfi_cursor *program, bool *ret_done) {
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
int seep_cfi_program_run(struct seep_cfi_machine *machine, struct seep_cfi_cursor *program) {
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

// Only what is read is set: the remembered states
// are most of a machine.
int seep_cfi_program_start(struct seep_cfi_machine *machine, const struct seep_cfi_cie *cie,
                           const struct seep_cfi_fde *fde, uint64_t pc) {
    machine->cie = cie;
    machine->now = (struct seep_cfi_state){.cfa_kind = SEEP_CFI_UNDEFINED};
    machine->nr_remembered = 0;
    machine->in_cie = true;
    machine->pc = pc;
    machine->start = fde->start;
    machine->end = fde->end;
    machine->args_bytes = 0;
    struct seep_cfi_cursor program = cie->program;
    int status = seep_cfi_program_run(machine, &program);
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
    struct seep_cfi_cursor block = {.object = object, .at = value, .end = object->size_bytes};
    uint64_t nr_bytes = seep_cfi_read_uleb(&block);
    if (block.bad || nr_bytes > UINT32_MAX)
        return SEEP_CFI_BAD;
    rule->expression = object->bytes + block.at;
    rule->expression_bytes = (uint32_t)nr_bytes;
    return SEEP_CFI_OK;
}

static bool expressions_fit(const struct seep_cfi_object *object, const struct seep_cfi_state *state) {
    struct seep_cfi_rule rule;
    for (unsigned i = 0; i < SEEP_CFI_NR_REGS; i++)
        if (has_expression(state->kind[i]) && make_rule(object, state->kind[i], state->value[i], &rule))
            return false;
    return !has_expression(state->cfa_kind) || !make_rule(object, state->cfa_kind, state->cfa_value, &rule);
}

int seep_cfi_program_row(const struct seep_cfi_object *object, const struct seep_cfi_machine *machine,
                         struct seep_cfi_row *ret_row) {
    const struct seep_cfi_state *now = &machine->now;
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

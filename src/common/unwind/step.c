// SPDX-License-Identifier: BSD-2-Clause
//
// Leaves one frame with all registers, and evaluates DWARF expressions. Invariant: an expression
// takes at most NR_STEPS operations and NR_STACK values, whatever its bytes say.
//
// Source: DWARF 5 sections 2.5, 6.4.2 (operations that may not occur in CFI) and 7.7.

#include "unwind/step.h"
#include "unwind/arch.h"

enum {
    OP_ADDR = 0x03,
    OP_DEREF = 0x06,
    OP_CONST1U = 0x08,
    OP_CONST1S = 0x09,
    OP_CONST2U = 0x0a,
    OP_CONST2S = 0x0b,
    OP_CONST4U = 0x0c,
    OP_CONST4S = 0x0d,
    OP_CONST8U = 0x0e,
    OP_CONST8S = 0x0f,
    OP_CONSTU = 0x10,
    OP_CONSTS = 0x11,
    OP_DUP = 0x12,
    OP_DROP = 0x13,
    OP_OVER = 0x14,
    OP_PICK = 0x15,
    OP_SWAP = 0x16,
    OP_ROT = 0x17,
    OP_ABS = 0x19,
    OP_AND = 0x1a,
    OP_DIV = 0x1b,
    OP_MINUS = 0x1c,
    OP_MOD = 0x1d,
    OP_MUL = 0x1e,
    OP_NEG = 0x1f,
    OP_NOT = 0x20,
    OP_OR = 0x21,
    OP_PLUS = 0x22,
    OP_PLUS_UCONST = 0x23,
    OP_SHL = 0x24,
    OP_SHR = 0x25,
    OP_SHRA = 0x26,
    OP_XOR = 0x27,
    OP_BRA = 0x28,
    OP_EQ = 0x29,
    OP_GE = 0x2a,
    OP_GT = 0x2b,
    OP_LE = 0x2c,
    OP_LT = 0x2d,
    OP_NE = 0x2e,
    OP_SKIP = 0x2f,
    OP_LIT0 = 0x30,
    OP_REG0 = 0x50,
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8f,
    OP_REGX = 0x90,
    OP_BREGX = 0x92,
    OP_DEREF_SIZE = 0x94,
    OP_NOP = 0x96,
};

#define NR_STEPS 1024
#define NR_STACK 16 // compilers need three

struct evaluation {
    const uint8_t *at;
    const uint8_t *begin;
    const uint8_t *end;
    const struct seep_regs *regs;
    seep_read_word *read;
    void *context;
    enum seep_step status; // the first failure; afterwards reads and pops give 0
    unsigned nr_stack;
    uint64_t stack[NR_STACK];
};

static uint64_t fail(struct evaluation *e, enum seep_step status) {
    if (!e->status)
        e->status = status;
    return 0;
}

static uint64_t take_unsigned(struct evaluation *e, unsigned nr_bytes) {
    if ((size_t)(e->end - e->at) < nr_bytes)
        return fail(e, SEEP_STEP_BAD_CFI);
    uint64_t value = 0;
    for (unsigned i = 0; i < nr_bytes; i++) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        value = value << 8 | e->at[i];
#else
        value |= (uint64_t)e->at[i] << 8 * i;
#endif
    }
    e->at += nr_bytes;
    return value;
}

static uint64_t take_signed(struct evaluation *e, unsigned nr_bytes) {
    unsigned shift = 64 - 8 * nr_bytes;
    return (uint64_t)((int64_t)(take_unsigned(e, nr_bytes) << shift) >> shift);
}

static uint64_t take_leb(struct evaluation *e, bool is_signed) {
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = (uint8_t)take_unsigned(e, 1);
        if (shift < 64) {
            value |= (uint64_t)(byte & 0x7f) << shift;
            shift += 7;
        }
    } while (byte & 0x80);
    if (is_signed && shift < 64 && byte & 0x40)
        value |= ~(uint64_t)0 << shift;
    return value;
}

static void push(struct evaluation *e, uint64_t value) {
    if (e->nr_stack == NR_STACK)
        fail(e, SEEP_STEP_BAD_CFI);
    else
        e->stack[e->nr_stack++] = value;
}

static uint64_t pop(struct evaluation *e) {
    return e->nr_stack ? e->stack[--e->nr_stack] : fail(e, SEEP_STEP_BAD_CFI);
}

// 0 is the top.
static uint64_t peek(struct evaluation *e, uint64_t depth) {
    return depth < e->nr_stack ? e->stack[e->nr_stack - 1 - depth] : fail(e, SEEP_STEP_BAD_CFI);
}

static bool reg_value(const struct seep_regs *regs, uint64_t reg, uint64_t *ret_value) {
#ifdef SEEP_ARCH_DWARF_PC
    if (reg == SEEP_ARCH_DWARF_PC) { // the rows of a PLT ask where in the stub the pc is
        *ret_value = regs->pc;
        return true;
    }
#endif
    if (reg >= SEEP_CFI_NR_REGS || !(regs->known >> reg & 1))
        return false;
    *ret_value = regs->value[reg];
    return true;
}

static uint64_t take_reg(struct evaluation *e, uint64_t reg) {
    uint64_t value;
    return reg_value(e->regs, reg, &value) ? value : fail(e, SEEP_STEP_BAD_READ);
}

// Fewer bytes than a word are cut out of the aligned words around them: a word read at the address
// itself could reach into memory that is not there.
static uint64_t read_memory(struct evaluation *e, uint64_t address, unsigned nr_bytes) {
    uint64_t word = 0;
    if (e->status)
        return 0;
    if (nr_bytes == SEEP_ARCH_WORD)
        return e->read(e->context, address, &word) ? word : fail(e, SEEP_STEP_BAD_READ);
    if (!nr_bytes || nr_bytes > SEEP_ARCH_WORD)
        return fail(e, SEEP_STEP_BAD_CFI);
    uint64_t value = 0;
    for (unsigned i = 0; i < nr_bytes; i++) {
        unsigned byte = (unsigned)((address + i) % SEEP_ARCH_WORD);
        if ((i == 0 || byte == 0) && !e->read(e->context, address + i - byte, &word))
            return fail(e, SEEP_STEP_BAD_READ);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        value = value << 8 | (word >> 8 * (SEEP_ARCH_WORD - 1 - byte) & 0xff);
#else
        value |= (word >> 8 * byte & 0xff) << 8 * i;
#endif
    }
    return value;
}

static void jump(struct evaluation *e, bool taken) {
    int64_t distance = (int64_t)take_signed(e, 2);
    if (!taken)
        return;
    if (distance < e->begin - e->at || distance > e->end - e->at)
        fail(e, SEEP_STEP_BAD_CFI);
    else
        e->at += distance;
}

static void push_constant(struct evaluation *e, uint8_t op) {
    unsigned nr_bytes = 1u << (op - OP_CONST1U) / 2;
    push(e, op & 1 ? take_signed(e, nr_bytes) : take_unsigned(e, nr_bytes));
}

// Division by zero is an error; the one quotient that overflows wraps.
static uint64_t divide(struct evaluation *e, uint64_t left, uint64_t right) {
    if (!right)
        return fail(e, SEEP_STEP_BAD_CFI);
    return right == UINT64_MAX ? -left : (uint64_t)((int64_t)left / (int64_t)right);
}

static void binary(struct evaluation *e, uint8_t op) {
    uint64_t right = pop(e), left = pop(e), value = 0;
    int64_t l = (int64_t)left, r = (int64_t)right;
    switch (op) {
    case OP_AND:
        value = left & right;
        break;
    case OP_DIV:
        value = divide(e, left, right);
        break;
    case OP_MINUS:
        value = left - right;
        break;
    case OP_MOD:
        value = right ? left % right : fail(e, SEEP_STEP_BAD_CFI);
        break;
    case OP_MUL:
        value = left * right;
        break;
    case OP_OR:
        value = left | right;
        break;
    case OP_PLUS:
        value = left + right;
        break;
    case OP_SHL:
        value = right < 64 ? left << right : 0;
        break;
    case OP_SHR:
        value = right < 64 ? left >> right : 0;
        break;
    case OP_SHRA:
        // cppcheck-suppress shiftTooManyBitsSigned ; all compilers for our CPUs keep the sign
        value = (uint64_t)(l >> (right < 64 ? right : 63));
        break;
    case OP_XOR:
        value = left ^ right;
        break;
    case OP_EQ:
        value = l == r;
        break;
    case OP_GE:
        value = l >= r;
        break;
    case OP_GT:
        value = l > r;
        break;
    case OP_LE:
        value = l <= r;
        break;
    case OP_LT:
        value = l < r;
        break;
    default: // OP_NE
        value = l != r;
        break;
    }
    push(e, value);
}

static void reorder(struct evaluation *e, uint8_t op) {
    uint64_t first, second, third;
    switch (op) {
    case OP_DUP:
        push(e, peek(e, 0));
        return;
    case OP_DROP:
        pop(e);
        return;
    case OP_OVER:
        push(e, peek(e, 1));
        return;
    case OP_PICK:
        push(e, peek(e, take_unsigned(e, 1)));
        return;
    case OP_SWAP:
        first = pop(e);
        second = pop(e);
        push(e, first);
        push(e, second);
        return;
    default: // OP_ROT: the top goes below the next two
        first = pop(e);
        second = pop(e);
        third = pop(e);
        push(e, first);
        push(e, third);
        push(e, second);
        return;
    }
}

static void unary(struct evaluation *e, uint8_t op) {
    uint64_t value = pop(e);
    switch (op) {
    case OP_ABS:
        value = (int64_t)value < 0 ? -value : value;
        break;
    case OP_NEG:
        value = -value;
        break;
    case OP_NOT:
        value = ~value;
        break;
    default: // OP_PLUS_UCONST
        value += take_leb(e, false);
        break;
    }
    push(e, value);
}

// Operations whose numbers are ranges, and those with registers or memory.
static void evaluate_wide(struct evaluation *e, uint8_t op) {
    uint64_t value;
    if (op >= OP_LIT0 && op < OP_REG0) {
        push(e, op - OP_LIT0);
    } else if (op >= OP_REG0 && op < OP_BREG0) {
        push(e, take_reg(e, op - OP_REG0));
    } else if (op >= OP_BREG0 && op <= OP_BREG31) {
        value = take_reg(e, op - OP_BREG0);
        push(e, value + take_leb(e, true));
    } else if (op == OP_REGX) {
        push(e, take_reg(e, take_leb(e, false)));
    } else if (op == OP_BREGX) {
        value = take_reg(e, take_leb(e, false));
        push(e, value + take_leb(e, true));
    } else if (op == OP_DEREF_SIZE) {
        unsigned nr_bytes = (unsigned)take_unsigned(e, 1);
        push(e, read_memory(e, pop(e), nr_bytes));
    } else if (op != OP_NOP) {
        fail(e, SEEP_STEP_BAD_CFI);
    }
}

static void evaluate_op(struct evaluation *e) {
    uint8_t op = (uint8_t)take_unsigned(e, 1);
    switch (op) {
    case OP_ADDR:
        push(e, take_unsigned(e, SEEP_ARCH_WORD));
        break;
    case OP_DEREF:
        push(e, read_memory(e, pop(e), SEEP_ARCH_WORD));
        break;
    case OP_CONST1U ... OP_CONST8S:
        push_constant(e, op);
        break;
    case OP_CONSTU:
    case OP_CONSTS:
        push(e, take_leb(e, op == OP_CONSTS));
        break;
    case OP_DUP ... OP_ROT:
        reorder(e, op);
        break;
    case OP_ABS:
    case OP_NEG:
    case OP_NOT:
    case OP_PLUS_UCONST:
        unary(e, op);
        break;
    case OP_AND ... OP_MUL:
    case OP_OR:
    case OP_PLUS:
    case OP_SHL ... OP_XOR:
    case OP_EQ ... OP_NE:
        binary(e, op);
        break;
    case OP_BRA:
        jump(e, pop(e) != 0);
        break;
    case OP_SKIP:
        jump(e, true);
        break;
    default:
        evaluate_wide(e, op);
        break;
    }
}

enum seep_step seep_expression(const uint8_t *expression, uint32_t nr_bytes, const struct seep_regs *regs,
                               bool push_cfa, uint64_t cfa, seep_read_word *read, void *context,
                               uint64_t *ret_value) {
    struct evaluation e; // the stack is not cleared
    e.at = e.begin = expression;
    e.end = expression + nr_bytes;
    e.regs = regs;
    e.read = read;
    e.context = context;
    e.status = SEEP_STEP_OK;
    e.nr_stack = 0;
    if (push_cfa)
        push(&e, cfa);
    for (unsigned i = 0; e.at < e.end && !e.status; i++) {
        if (i == NR_STEPS)
            return SEEP_STEP_BAD_CFI;
        evaluate_op(&e);
    }
    uint64_t value = pop(&e);
    if (!e.status)
        *ret_value = value;
    return e.status;
}

struct stepping {
    const struct seep_cfi_row *row;
    const struct seep_regs *regs;
    seep_read_word *read;
    void *context;
    uint64_t cfa;
};

static enum seep_step find_cfa(struct stepping *s) {
    const struct seep_cfi_rule *rule = &s->row->cfa;
    if (rule->kind == SEEP_CFI_VAL_EXPRESSION)
        return seep_expression(rule->expression, rule->expression_bytes, s->regs, false, 0, s->read,
                               s->context, &s->cfa);
    uint64_t base;
    if (rule->kind != SEEP_CFI_REGISTER)
        return SEEP_STEP_BAD_CFI;
    if (!reg_value(s->regs, rule->reg, &base))
        return SEEP_STEP_BAD_READ;
    s->cfa = base + (uint64_t)rule->offset;
    return SEEP_STEP_OK;
}

// The caller's value of a register.
static enum seep_step restore(const struct stepping *s, unsigned reg, uint64_t *ret_value) {
    const struct seep_cfi_rule *rule = &s->row->regs[reg];
    uint64_t address = s->cfa + (uint64_t)rule->offset;
    enum seep_step status;
    switch (rule->kind) {
    case SEEP_CFI_SAME:
        return reg_value(s->regs, reg, ret_value) ? SEEP_STEP_OK : SEEP_STEP_BAD_READ;
    case SEEP_CFI_REGISTER:
        return reg_value(s->regs, rule->reg, ret_value) ? SEEP_STEP_OK : SEEP_STEP_BAD_READ;
    case SEEP_CFI_VAL_OFFSET:
        *ret_value = address;
        return SEEP_STEP_OK;
    case SEEP_CFI_OFFSET:
        break;
    case SEEP_CFI_EXPRESSION:
    case SEEP_CFI_VAL_EXPRESSION:
        status = seep_expression(rule->expression, rule->expression_bytes, s->regs, true, s->cfa, s->read,
                                 s->context, &address);
        if (status)
            return status;
        if (rule->kind == SEEP_CFI_EXPRESSION)
            break;
        *ret_value = address;
        return SEEP_STEP_OK;
    default: // UNDEFINED
        return SEEP_STEP_BAD_READ;
    }
    return s->read(s->context, address, ret_value) ? SEEP_STEP_OK : SEEP_STEP_BAD_READ;
}

enum seep_step seep_step(const struct seep_cfi_row *row, struct seep_regs *regs, seep_read_word *read,
                         void *context) {
    if (row->return_reg >= SEEP_CFI_NR_REGS)
        return SEEP_STEP_BAD_CFI;
    if (row->regs[row->return_reg].kind == SEEP_CFI_UNDEFINED)
        return SEEP_STEP_END;
#ifdef SEEP_ARCH_DWARF_PC
    if (row->regs[row->return_reg].kind == SEEP_CFI_SAME)
        return SEEP_STEP_BAD_CFI; // the pc column must say where the return address was saved
#endif
    struct stepping s = {.row = row, .regs = regs, .read = read, .context = context};
    enum seep_step status = find_cfa(&s);
    if (status)
        return status;
    struct seep_regs caller = {.known = 0};
    status = restore(&s, row->return_reg, &caller.pc);
    if (status)
        return status;
    caller.pc = seep_arch_strip(caller.pc);
    if (!caller.pc)
        return SEEP_STEP_END;
    for (unsigned i = 0; i < SEEP_CFI_NR_REGS; i++) {
        // A register that cannot be restored is not known from here on; only who needs it fails.
        status = restore(&s, i, &caller.value[i]);
        if (status == SEEP_STEP_BAD_CFI)
            return status;
        caller.known |= (uint64_t)(status == SEEP_STEP_OK) << i;
    }
#ifdef SEEP_ARCH_DWARF_SP
    if (row->regs[SEEP_ARCH_DWARF_SP].kind == SEEP_CFI_SAME) {
        // The row has no rule for sp: it follows from the CFA.
        caller.value[SEEP_ARCH_DWARF_SP] = s.cfa - SEEP_ARCH_SP_BELOW_CFA;
        caller.known |= (uint64_t)1 << SEEP_ARCH_DWARF_SP;
    }
    if (caller.pc == regs->pc && caller.value[SEEP_ARCH_DWARF_SP] == regs->value[SEEP_ARCH_DWARF_SP])
        return SEEP_STEP_BAD_CFI; // the same frame again, for ever
#endif
    caller.pc_exact = row->signal_frame;
    *regs = caller;
    return SEEP_STEP_OK;
}

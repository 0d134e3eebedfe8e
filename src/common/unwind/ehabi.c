// SPDX-License-Identifier: BSD-2-Clause
//
// Decodes .ARM.exidx and .ARM.extab into rows, see ehabi.h. The instructions move a "virtual stack pointer"
// (vsp) outward over the frame and take registers off; where it ends is the caller's sp, so the CFA. It is
// followed as a distance from the register it was taken from last.

#include "unwind/ehabi.h"

enum { NR_REGS = 16, SP = 13, LR = 14, PC = 15 };

#if SEEP_CFI_NR_REGS >= 16 // so not on i386, which has no use for it

enum { ENTRY_BYTES = 8, CANT_UNWIND = 1, FINISH = 0xb0 };

// No frame is larger. So sums cannot overflow.
#define VSP_MOST (INT64_C(1) << 31)

// ---- the tables ------------------------------------------------------------------------------------

static bool covers(const struct seep_cfi_object *object, uint64_t address, uint64_t nr_bytes) {
    uint64_t at = address - object->start;
    return at <= object->size_bytes && nr_bytes <= object->size_bytes - at;
}

// `address` is covered.
static uint32_t word_at(const struct seep_cfi_object *object, uint64_t address) {
    uint32_t word;
    __builtin_memcpy(&word, object->bytes + (address - object->start), sizeof(word));
    return word;
}

// An address relative to the place of the word; bit 31 is not part of it. Addresses have 32 bits.
static uint64_t relative(uint64_t place, uint32_t word) {
    return (uint32_t)place + (word & 0x7fffffff) + ((word & 0x40000000) << 1);
}

static uint64_t function_of(const struct seep_cfi_object *object, uint64_t index) {
    uint64_t place = object->eh_frame_hdr + index * ENTRY_BYTES;
    return (uint32_t)relative(place, word_at(object, place)) & ~1u; // bit 0: Thumb code
}

// The instructions, as they are read: the bytes of a word from its highest.
struct instructions {
    const struct seep_cfi_object *object;
    uint64_t next; // address of the word after `word`
    uint32_t word;
    unsigned bytes_left; // in `word`, the highest first
    unsigned words_left; // all covered
};

static uint8_t next_byte(struct instructions *in) {
    if (!in->bytes_left) {
        if (!in->words_left)
            return FINISH;
        in->word = word_at(in->object, in->next);
        in->next += 4;
        in->words_left--;
        in->bytes_left = 4;
    }
    uint8_t byte = (uint8_t)(in->word >> 24);
    in->word <<= 8;
    in->bytes_left--;
    return byte;
}

// Where the table of .ARM.extab at `table` has them. Compact: the personality routines 0, 1, 2 of the ABI.
static int find_in_table(const struct seep_cfi_object *object, uint64_t table, struct instructions *ret_in) {
    if (table % 4 || !covers(object, table, 4))
        return SEEP_CFI_BAD;
    uint32_t word = word_at(object, table);
    *ret_in = (struct instructions){.object = object, .bytes_left = 3};
    if (!(word >> 31)) { // the address of another routine, whose data begins as routines of compilers have it
        table += 4;
        if (!covers(object, table, 4))
            return SEEP_CFI_BAD;
        word = word_at(object, table);
        ret_in->words_left = word >> 24;
    } else if ((word >> 24 & 0x7f) == 1 || (word >> 24 & 0x7f) == 2) {
        ret_in->words_left = word >> 16 & 0xff;
        ret_in->bytes_left = 2;
    } else if (word >> 24 & 0x7f) {
        return SEEP_CFI_BAD;
    }
    ret_in->word = word << 8 * (4 - ret_in->bytes_left);
    ret_in->next = table + 4;
    return covers(object, ret_in->next, 4 * (uint64_t)ret_in->words_left) ? SEEP_CFI_OK : SEEP_CFI_BAD;
}

// ---- the instructions ------------------------------------------------------------------------------

struct frame {
    struct instructions in;
    int64_t slots[NR_REGS]; // where each register was popped, from the base
    uint16_t popped;
    uint16_t lost;  // popped, but from another base
    uint8_t base;   // the register that vsp was taken from
    bool sp_popped; // so vsp is what was in memory
    int64_t vsp;    // from the base
    uint64_t start; // of the function, and its end
    uint64_t end;
};

// The instructions for `pc`, and the addresses of which they hold.
static int find_instructions(const struct seep_cfi_object *object, uint64_t pc, struct frame *frame) {
    uint64_t nr = object->exidx_bytes / ENTRY_BYTES, low = 0, high = nr;
    if (!nr)
        return SEEP_CFI_NONE;
    if (object->eh_frame_hdr % 4 || !covers(object, object->eh_frame_hdr, nr * ENTRY_BYTES))
        return SEEP_CFI_BAD;
    while (low < high) { // functions below `low` begin at or before pc, those from `high` on after it
        uint64_t middle = low + (high - low) / 2;
        if (function_of(object, middle) <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return SEEP_CFI_NONE;
    uint64_t place = object->eh_frame_hdr + (low - 1) * ENTRY_BYTES;
    uint32_t content = word_at(object, place + 4);
    if (word_at(object, place) >> 31)
        return SEEP_CFI_BAD;
    frame->start = function_of(object, low - 1);
    frame->end = low < nr ? function_of(object, low) : UINT32_MAX;
    if (content == CANT_UNWIND)
        return SEEP_CFI_NONE;
    if (!(content >> 31))
        return find_in_table(object, (uint32_t)relative(place + 4, content), &frame->in);
    frame->in = (struct instructions){.object = object, .word = content << 8, .bytes_left = 3};
    return content >> 24 == 0x80 ? SEEP_CFI_OK : SEEP_CFI_BAD;
}

static int move(struct frame *frame, int64_t distance) {
    frame->vsp += distance;
    bool possible = !frame->sp_popped && frame->vsp >= -VSP_MOST && frame->vsp <= VSP_MOST;
    return possible ? SEEP_CFI_OK : SEEP_CFI_BAD;
}

static int pop(struct frame *frame, uint16_t mask) {
    for (unsigned reg = 0; reg < NR_REGS; reg++) {
        if (!(mask >> reg & 1))
            continue;
        frame->slots[reg] = frame->vsp;
        if (move(frame, 4))
            return SEEP_CFI_BAD;
    }
    frame->popped |= mask;
    frame->lost &= (uint16_t)~mask;
    frame->sp_popped = mask >> SP & 1;
    return SEEP_CFI_OK;
}

static int take_base(struct frame *frame, unsigned reg) {
    const uint16_t never = (uint16_t)(1u << reg | 1u << SP | 1u << LR | 1u << PC);
    if (reg == SP || reg == PC || (frame->popped | frame->lost) & never)
        return SEEP_CFI_BAD;
    frame->lost |= frame->popped;
    frame->popped = 0;
    frame->base = (uint8_t)reg;
    frame->vsp = 0;
    return SEEP_CFI_OK;
}

// Adds a number of any length; what is too large for a frame is damage.
static int move_far(struct frame *frame) {
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        if (shift > 28)
            return SEEP_CFI_BAD;
        byte = next_byte(&frame->in);
        value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    return move(frame, (int64_t)(0x204 + (value << 2)));
}

// Floating-point and vector registers are only passed over: nothing outside depends on them.
static int pass_doubles(struct frame *frame, unsigned first, unsigned nr, unsigned most, unsigned word) {
    return first + nr > most ? SEEP_CFI_BAD : move(frame, 8 * (int64_t)nr + word);
}

static int pop_low(struct frame *frame) {
    uint8_t mask = next_byte(&frame->in);
    return !mask || mask & 0xf0 ? SEEP_CFI_BAD : pop(frame, mask);
}

// 1011xxxx
static int execute_b(struct frame *frame, uint8_t op) {
    uint8_t operand;
    switch (op) {
    case 0xb1:
        return pop_low(frame);
    case 0xb2:
        return move_far(frame);
    case 0xb3: // pushed by FSTMX, which pushes a word more
        operand = next_byte(&frame->in);
        return pass_doubles(frame, operand >> 4, (operand & 15u) + 1, 16, 4);
    case 0xb4: // the authentication code of the return address
        return move(frame, 4);
    case 0xb5: // that it was made of this vsp
        return SEEP_CFI_OK;
    default:
        return op < 0xb8 ? SEEP_CFI_BAD : pass_doubles(frame, 8, (op & 7u) + 1, 16, 4);
    }
}

// 11xxxxxx
static int execute_c(struct frame *frame, uint8_t op) {
    uint8_t operand;
    switch (op) {
    case 0xc0 ... 0xc5:
        return pass_doubles(frame, 10, (op & 7u) + 1, 16, 0);
    case 0xc6: // wR of iWMMXt
        operand = next_byte(&frame->in);
        return pass_doubles(frame, operand >> 4, (operand & 15u) + 1, 16, 0);
    case 0xc7: // wCGR
        operand = next_byte(&frame->in);
        return !operand || operand & 0xf0 ? SEEP_CFI_BAD
                                          : move(frame, 4 * (int64_t)__builtin_popcount(operand));
    case 0xc8: // d16 and up
    case 0xc9:
        operand = next_byte(&frame->in);
        return pass_doubles(frame, operand >> 4, (operand & 15u) + 1, 16, 0);
    case 0xd0 ... 0xd7:
        return pass_doubles(frame, 8, (op & 7u) + 1, 16, 0);
    default:
        return SEEP_CFI_BAD;
    }
}

static int execute(struct frame *frame, uint8_t op) {
    uint16_t mask;
    switch (op >> 4) {
    case 0x0 ... 0x3:
        return move(frame, (op & 0x3f) * 4 + 4);
    case 0x4 ... 0x7:
        return move(frame, -((op & 0x3f) * 4 + 4));
    case 0x8:
        mask = (uint16_t)((op & 0xfu) << 12 | (uint16_t)next_byte(&frame->in) << 4);
        return mask ? pop(frame, mask) : SEEP_CFI_NONE; // refuse to unwind
    case 0x9:
        return take_base(frame, op & 15);
    case 0xa: // r4 and up, with lr or without
        return pop(frame, (uint16_t)(((1u << ((op & 7u) + 1)) - 1) << 4 | (op & 8u ? 1u << LR : 0)));
    case 0xb:
        return execute_b(frame, op);
    default:
        return execute_c(frame, op);
    }
}

static void make_row(const struct frame *frame, struct seep_cfi_row *row) {
    const uint16_t of_signal = (uint16_t)(0xf | 1u << SP | 1u << PC);
    *row = (struct seep_cfi_row){.start = frame->start, .end = frame->end};
    row->cfa = (struct seep_cfi_rule){.kind = SEEP_CFI_REGISTER, .reg = frame->base, .offset = frame->vsp};
    for (unsigned reg = 0; reg < NR_REGS; reg++) {
        if (frame->popped >> reg & 1)
            row->regs[reg] =
                (struct seep_cfi_rule){.kind = SEEP_CFI_OFFSET, .offset = frame->slots[reg] - frame->vsp};
        else if (frame->lost >> reg & 1)
            row->regs[reg].kind = SEEP_CFI_UNDEFINED;
    }
    row->return_reg = LR;
    if (frame->popped >> PC & 1)
        row->regs[LR] = row->regs[PC];
    row->signal_frame = (frame->popped & of_signal) == of_signal; // what calls nothing has been interrupted
}

int seep_ehabi_row_at(const struct seep_cfi_object *object, uint64_t pc, struct seep_cfi_row *ret_row) {
    struct frame frame = {.base = SP};
    int status = find_instructions(object, pc, &frame);
    for (uint8_t op; !status && (op = next_byte(&frame.in)) != FINISH;)
        status = execute(&frame, op);
    if (!status)
        make_row(&frame, ret_row);
    return status;
}

#endif

// SPDX-License-Identifier: BSD-2-Clause
// Frames by call-frame information, see call_frames.h.
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>

#include "base/room.h"
#include "core/platform.h"
#include "names/call_frames.h"

#define STACK_MAX 32u
#define OPS_MAX   256u

struct seep_call_frames {
    Dwarf_CFI *eh;    // .eh_frame
    Dwarf *dwarf;     // for .debug_frame
    Dwarf_CFI *debug; // of dwarf
};

// ---- registers ----

struct seep_registers seep_registers_of(uint16_t machine) {
    static const struct seep_registers x86_64 = {7, 6, UINT64_MAX},
                                       aarch64 = {31, 29, (UINT64_C(1) << 48) - 1};
    bool known = machine == EM_X86_64 || machine == EM_AARCH64;
    return (known ? machine : SEEP_MACHINE_HERE) == EM_AARCH64 ? aarch64 : x86_64;
}

static bool is_known(const struct seep_call_frame *frame, uint64_t number) {
    return number < SEEP_FRAME_REGISTERS && (frame->known >> number & 1);
}

static bool read_word(const struct seep_thread_stack *stack, uint64_t address, uint64_t *ret_word) {
    uint64_t off = address - stack->start_rt;
    if (address < stack->start_rt || stack->nr_bytes < 8 || off > stack->nr_bytes - 8)
        return false;
    memcpy(ret_word, stack->bytes + off, 8);
    return true;
}

// ---- expressions ----

struct machine {
    const struct seep_call_frame *frame;
    const struct seep_thread_stack *stack;
    const uint64_t *frame_base;
    uint64_t words[STACK_MAX];
    unsigned nr;
    enum seep_location_kind kind;
    uint64_t number; // of the register
};

static bool push(struct machine *m, uint64_t word) {
    if (m->nr == STACK_MAX)
        return false;
    m->words[m->nr++] = word;
    return true;
}

static bool push_register(struct machine *m, uint64_t number, uint64_t off) {
    return is_known(m->frame, number) && push(m, m->frame->registers[number] + off);
}

static bool calculate(struct machine *m, uint8_t op) {
    if (m->nr < 2)
        return false;
    uint64_t b = m->words[--m->nr], *a = &m->words[m->nr - 1];
    switch (op) {
    case DW_OP_plus:
        *a += b;
        return true;
    case DW_OP_minus:
        *a -= b;
        return true;
    case DW_OP_and:
        *a &= b;
        return true;
    case DW_OP_or:
        *a |= b;
        return true;
    case DW_OP_mul:
        *a *= b;
        return true;
    case DW_OP_shl:
        *a = b < 64 ? *a << b : 0;
        return true;
    case DW_OP_shr:
        *a = b < 64 ? *a >> b : 0;
        return true;
    case DW_OP_ge:
        *a = (int64_t)*a >= (int64_t)b;
        return true;
    default:
        return false;
    }
}

static bool step(struct machine *m, const Dwarf_Op *op) {
    uint8_t atom = op->atom;
    uint64_t word;
    if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
        return push(m, atom - DW_OP_lit0);
    if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
        return push_register(m, atom - DW_OP_breg0, op->number);
    if (atom >= DW_OP_reg0 && atom <= DW_OP_reg31) {
        m->kind = SEEP_LOCATION_REGISTER;
        m->number = atom - DW_OP_reg0;
        return true;
    }
    switch (atom) {
    case DW_OP_regx:
        m->kind = SEEP_LOCATION_REGISTER;
        m->number = op->number;
        return true;
    case DW_OP_bregx:
        return push_register(m, op->number, op->number2);
    case DW_OP_fbreg:
        return m->frame_base && push(m, *m->frame_base + op->number);
    case DW_OP_call_frame_cfa:
        return m->frame->cfa && push(m, m->frame->cfa);
    case DW_OP_const1u:
    case DW_OP_const1s:
    case DW_OP_const2u:
    case DW_OP_const2s:
    case DW_OP_const4u:
    case DW_OP_const4s:
    case DW_OP_const8u:
    case DW_OP_const8s:
    case DW_OP_constu:
    case DW_OP_consts:
        return push(m, op->number);
    case DW_OP_plus_uconst:
        if (!m->nr)
            return false;
        m->words[m->nr - 1] += op->number;
        return true;
    case DW_OP_deref:
        if (!m->nr || !read_word(m->stack, m->words[m->nr - 1], &word))
            return false;
        m->words[m->nr - 1] = word;
        return true;
    case DW_OP_stack_value:
        m->kind = SEEP_LOCATION_VALUE;
        return true;
    case DW_OP_nop:
        return true;
    default:
        return calculate(m, atom);
    }
}

struct seep_location seep_location_find(const Dwarf_Op *ops, size_t nr_ops,
                                        const struct seep_call_frame *frame,
                                        const struct seep_thread_stack *stack, const uint64_t *frame_base) {
    struct machine m = {
        .frame = frame, .stack = stack, .frame_base = frame_base, .kind = SEEP_LOCATION_MEMORY};
    const struct seep_location none = {SEEP_LOCATION_NONE, 0};
    if (!nr_ops || nr_ops > OPS_MAX)
        return none;
    for (size_t i = 0; i < nr_ops; i++) {
        // What follows a register or a value describes pieces: those are not looked into.
        if (m.kind != SEEP_LOCATION_MEMORY || !step(&m, &ops[i]))
            return none;
    }
    if (m.kind == SEEP_LOCATION_REGISTER)
        return (struct seep_location){m.kind, m.number};
    return m.nr ? (struct seep_location){m.kind, m.words[m.nr - 1]} : none;
}

// ---- frames ----

static bool find_row(struct seep_call_frames *frames, uint64_t address, Dwarf_Frame **ret_row) {
    return (frames->eh && dwarf_cfi_addrframe(frames->eh, address, ret_row) == 0) ||
           (frames->debug && dwarf_cfi_addrframe(frames->debug, address, ret_row) == 0);
}

// One register of the caller.
static void restore(Dwarf_Frame *row, int number, const struct seep_thread_stack *stack,
                    const struct seep_call_frame *frame, struct seep_call_frame *caller) {
    Dwarf_Op memory[3], *ops;
    size_t nr;
    uint64_t word, bit = UINT64_C(1) << number;
    if (dwarf_frame_register(row, number, memory, &ops, &nr) != 0)
        return;
    if (!nr && ops == memory)
        return; // undefined
    if (!nr) {  // the same value
        caller->registers[number] = frame->registers[number];
        caller->saved_at[number] = frame->saved_at[number];
        caller->known |= frame->known & bit;
        return;
    }
    struct seep_location at = seep_location_find(ops, nr, frame, stack, NULL);
    if (at.kind == SEEP_LOCATION_MEMORY && read_word(stack, at.value, &word)) {
        caller->registers[number] = word;
        caller->saved_at[number] = at.value;
        caller->known |= bit;
    } else if (at.kind == SEEP_LOCATION_VALUE) {
        caller->registers[number] = at.value;
        caller->known |= bit;
    } else if (at.kind == SEEP_LOCATION_REGISTER && is_known(frame, at.value)) {
        caller->registers[number] = frame->registers[at.value];
        caller->saved_at[number] = frame->saved_at[at.value];
        caller->known |= bit;
    }
}

bool seep_call_frames_step(struct seep_call_frames *frames, uint64_t address,
                           const struct seep_thread_stack *stack, struct seep_call_frame *frame,
                           struct seep_call_frame *ret_caller) {
    Dwarf_Frame *row;
    if (!find_row(frames, address, &row))
        return false;
    const struct seep_registers registers = seep_registers_of(frame->machine);
    struct seep_call_frame caller = {.machine = frame->machine};
    bool of_signal = false;
    Dwarf_Op *ops;
    size_t nr;
    int ra = dwarf_frame_info(row, NULL, NULL, &of_signal);
    bool found = ra >= 0 && ra < (int)SEEP_FRAME_REGISTERS && dwarf_frame_cfa(row, &ops, &nr) == 0;
    if (found) {
        struct seep_location cfa = seep_location_find(ops, nr, frame, stack, NULL);
        found = cfa.kind == SEEP_LOCATION_MEMORY && cfa.value >= frame->registers[registers.stack];
        frame->cfa = found ? cfa.value : 0;
    }
    for (int number = 0; found && number < (int)SEEP_FRAME_REGISTERS; number++)
        restore(row, number, stack, frame, &caller);
    free(row);
    if (!found || !is_known(&caller, (uint64_t)ra))
        return false;
    caller.pc = caller.registers[ra] & registers.return_mask;
    caller.exact = of_signal;
    if (!of_signal) {
        caller.registers[registers.stack] = frame->cfa;
        caller.known |= UINT64_C(1) << registers.stack;
    }
    *ret_caller = caller;
    return caller.pc != 0;
}

struct seep_error *seep_call_frames_create(Elf *elf, struct seep_call_frames **ret_frames) {
    struct seep_error *error = seep_room_check(UINT64_C(4) << 20); // libdw does not check its allocations
    struct seep_call_frames *frames = error ? NULL : calloc(1, sizeof(*frames));
    if (!frames)
        return error ? error : seep_error_no_memory();
    frames->eh = dwarf_getcfi_elf(elf);
    if (!frames->eh) {
        frames->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
        frames->debug = frames->dwarf ? dwarf_getcfi(frames->dwarf) : NULL;
    }
    if (!frames->eh && !frames->debug) {
        seep_call_frames_destroy(frames);
        frames = NULL;
    }
    *ret_frames = frames;
    return NULL;
}

void seep_call_frames_destroy(struct seep_call_frames *frames) {
    if (!frames)
        return;
    if (frames->eh)
        dwarf_cfi_end(frames->eh);
    dwarf_end(frames->dwarf);
    free(frames);
}

// SPDX-License-Identifier: BSD-2-Clause
//
// The walk with all registers, for rows that no rule can say, and through frames of this library. It begins
// in our own frame, because the hook's caller may keep what such a row needs in any register.
#include "preload/stack_tree.h"
#include "preload/walk.h"
#include "unwind/arch.h"
#include "unwind/step.h"

static bool read_for_step(void *context, uint64_t address, uint64_t *ret_word) {
    return read_word(context, address, ret_word);
}

#ifdef CPU_OWN_REGISTERS
// In the frame of the caller, which stays while it walks.
SEEP_INLINE void own_registers(struct seep_regs *ret_regs) {
    ret_regs->known = CPU_OWN_REGISTERS;
    ret_regs->pc_exact = true;
    ret_regs->pc = cpu_own_registers(ret_regs->value);
}
#endif

#ifdef SEEP_ARCH_SIGNAL_CODE_BYTES
// All registers of the code that a signal interrupted.
static SEEP_NOINLINE enum leave step_signal(struct walk *walk, struct seep_regs *regs, int block) {
    uint64_t frame = regs->value[SEEP_ARCH_DWARF_SP] + (uint64_t)(int64_t)block;
    struct seep_regs caller = {.pc_exact = true, .known = (UINT64_C(1) << SEEP_ARCH_NR_DWARF) - 1};
    for (unsigned i = 0; i < SEEP_ARCH_NR_DWARF; i++)
        if (!read_word(walk->thread, frame + seep_arch_signal_reg_offset(i), &caller.value[i]))
            return cut(walk, SEEP_CUT_BAD_READ);
    if (!read_word(walk->thread, frame + SEEP_ARCH_SIGNAL_PC_OFFSET, &caller.pc))
        return cut(walk, SEEP_CUT_BAD_READ);
    *regs = caller;
    return LEFT;
}
#else
static enum leave step_signal(struct walk *walk, struct seep_regs *regs, int block) {
    (void)regs;
    (void)block;
    return cut(walk, SEEP_CUT_BAD_CFI);
}
#endif

enum { STACK_STARTS = 1 }; // beside SEEP_CFI_OK, _NONE and _BAD

// In seep_rule_work. rules_lock held.
static SEEP_NOINLINE int row_of(const struct seep_regs *regs) {
    struct seep_module_at at;
    uint64_t pc = regs->pc_exact ? regs->pc : regs->pc - 1;
    if (!seep_module_find(pc, &at) || !at.object.eh_frame_hdr)
        return SEEP_CFI_NONE;
    int result = seep_rule_row_in(&seep_rule_work, &at.object, pc);
    return result == SEEP_CFI_NONE && !regs->pc_exact && seep_starts_function(&at.object, regs->pc)
               ? STACK_STARTS
               : result;
}

// What the row says of the frame, which is left by it where that can be.
struct by_row {
    int found;
    enum seep_step step; // where the row was found, and is none of a signal
    int block;           // of a signal; -1: it is none
    bool signal_frame;
};

// Takes rules_lock: the row has its memory with it.
static SEEP_NOINLINE struct by_row step_by_row(struct seep_regs *regs, bool may_be_signal,
                                               seep_read_word *read, void *context) {
    struct by_row by = {.found = SEEP_CFI_BAD, .block = -1};
    const struct seep_cfi_row *row = &seep_rule_work.row;
    bool locked = seep_lock_take(&seep_g.rules_lock);
    if (locked)
        by.found = row_of(regs);
    // A function may end right before the trampoline, as in qemu's vdso for s390x.
    if (may_be_signal && (by.found != SEEP_CFI_OK || row->signal_frame || row->end == regs->pc))
        by.block = seep_signal_block(regs->pc);
    if (by.found == SEEP_CFI_OK && by.block < 0) {
        by.signal_frame = row->signal_frame;
        by.step = seep_step(row, regs, read, context);
    }
    if (locked)
        seep_lock_release(&seep_g.rules_lock);
    return by;
}

#ifdef CPU_HOOK_BP
// Frames of our own, further out than we are: what their tables name is there.
static bool read_own(void *context, uint64_t address, uint64_t *ret_word) {
    (void)context;
    *ret_word = *(const seep_stack_word *)(uintptr_t)address;
    return true;
}

SEEP_NOINLINE uint64_t seep_stack_hook_caller(void) {
    enum { FRAMES_MOST = 16 };
    struct seep_regs regs;
    own_registers(&regs);
    for (int i = 0; i < FRAMES_MOST && seep_is_own_code(regs.pc); i++) {
        struct by_row by = step_by_row(&regs, false, read_own, NULL);
        if (by.found != SEEP_CFI_OK || by.step != SEEP_STEP_OK)
            return 0;
    }
    return seep_is_own_code(regs.pc) ? 0 : regs.pc;
}
#endif

// One exact step with all registers, or by the frame pointer. Sets walk->cut where it ends in nothing.
static enum leave step_all(struct walk *walk, struct seep_regs *regs) {
#ifdef SEEP_ARCH_DWARF_BP
    bool sp_known = regs->known >> SEEP_ARCH_DWARF_SP & 1;
    // What a signal interrupts may have no frame at all, where calls need none.
    uint64_t sp = regs->value[SEEP_ARCH_DWARF_SP] + (regs->pc_exact ? 0 : 1);
    struct by_row by = step_by_row(regs, sp_known, read_for_step, walk->thread);
    if (by.block >= 0)
        return step_signal(walk, regs, by.block);
    if (by.found == SEEP_CFI_BAD)
        return cut(walk, SEEP_CUT_BAD_CFI);
    if (by.found == STACK_STARTS)
        return OUTERMOST;
    if (by.found == SEEP_CFI_OK) {
        switch (by.step) {
        case SEEP_STEP_OK:
            if (regs->pc == 0)
                return OUTERMOST;
            return by.signal_frame || regs->value[SEEP_ARCH_DWARF_SP] >= sp ? LEFT : cut(walk, SEEP_CUT_LOOP);
        case SEEP_STEP_END:
            return OUTERMOST;
        case SEEP_STEP_BAD_READ:
            if (sp_known)
                return cut(walk, SEEP_CUT_BAD_READ);
            break; // lost where a frame record led here: go on by records
        default:
            return cut(walk, SEEP_CUT_BAD_CFI);
        }
    }
    enum leave left =
        seep_walk_by_frame_pointer(walk, 0, regs->value[SEEP_ARCH_DWARF_SP], regs->value[SEEP_ARCH_DWARF_BP]);
    if (left == LEFT_UNPROVEN) {
        // By hand, here and in own_registers(): a compiler would make a second one on the stack.
        regs->pc = walk->pc;
        regs->pc_exact = false;
        regs->known = 1u << SEEP_ARCH_DWARF_BP;
        if (!walk->sp_unsure)
            regs->known |= 1u << SEEP_ARCH_DWARF_SP;
        regs->value[SEEP_ARCH_DWARF_BP] = walk->bp;
        regs->value[SEEP_ARCH_DWARF_SP] = walk->sp;
    }
    return left;
#else
    (void)regs;
    return cut(walk, SEEP_CUT_BAD_CFI);
#endif
}

void seep_walk_with_all_registers(struct walk *walk) {
    const uint64_t caller_pc = walk->thread->walk[0].pc, caller_sp = walk->thread->walk[0].sp;
    walk->nr = 0;
    walk->unproven = true;
    walk->sp_unsure = false;
#ifdef CPU_OWN_REGISTERS
    struct seep_regs regs;
    own_registers(&regs);
    bool ours = true;
    while (walk->nr < walk->thread->capacity || seep_thread_deeper(walk->thread)) {
        if (ours && !regs.pc_exact && regs.pc == caller_pc && regs.value[SEEP_ARCH_DWARF_SP] == caller_sp)
            ours = false;
        if (!ours) {
            struct seep_walk_frame *frame = &walk->thread->walk[walk->nr];
            frame->pc = regs.pc | (regs.pc_exact ? SEEP_PC_EXACT : 0);
            frame->sp = regs.value[SEEP_ARCH_DWARF_SP];
            frame->bp = regs.value[SEEP_ARCH_DWARF_BP];
            if (!rule_known(frame) && !seep_rule_learn(frame)) {
                walk->cut = (int)seep_walk_why_unknown(regs.pc);
                return;
            }
            walk->nr++;
        }
        enum leave left = step_all(walk, &regs);
        if (left != LEFT && left != LEFT_UNPROVEN)
            return;
    }
    walk->cut = SEEP_CUT_DEPTH;
#else
    (void)caller_pc, (void)caller_sp;
    walk->cut = SEEP_CUT_BAD_CFI;
#endif
}

// SPDX-License-Identifier: BSD-2-Clause
//
// Leaves a frame that has no call-frame information (JIT code, hand-written assembly) by its frame record.
#include "preload/stack_tree.h"
#include "preload/walk.h"
#include "unwind/arch.h"

enum { MAX_FRAME = 1 << 28 }; // a frame pointer that makes a larger frame is rejected

// Whether there is code where the frame record at `bp` says that a call returns to: a register that is no
// frame pointer leads to any two words. Asked where no rule is kept of it, as none is for JIT code. A page of
// that is asked about once while nothing is unmapped: the walk reads nothing there.
static bool leads_to_code(struct seep_thread *thread, uint64_t pc, uint64_t bp) {
    uint64_t page = pc / WALK_PAGE, block = page / 64, bit = UINT64_C(1) << page % 64;
    struct seep_code_pages *pages = &thread->code[block % SEEP_CODE_BLOCKS];
    if (pages->block == block && pages->known & bit)
        return true;
    if (!sys_readable(pc))
        return false;
    switch (seep_code_kind(pc)) {
    case SEEP_CODE_OF_SIGNAL:
        return true;
    case SEEP_CODE_AT_START:
        return !seep_walk_is_on_own_stack(thread, bp);
    case SEEP_CODE_MADE:
        break;
    default:
        // A compiler at run time may have taken the right to execute from what it writes to.
        return seep_walk_follows_call(pc);
    }
    if (pages->block != block)
        *pages = (struct seep_code_pages){.block = block};
    pages->known |= bit;
    return true;
}

enum leave seep_walk_by_frame_pointer(struct walk *walk, struct seep_walk_frame *frame) {
    uint64_t bp = frame->bp;
    if (seep_walk_is_outermost(walk->thread, frame->pc, frame->sp))
        return OUTERMOST;
    if (!SEEP_ARCH_HAS_RECORDS)
        return cut(walk, SEEP_CUT_NO_CFI);
    if (bp & (SEEP_ARCH_WORD - 1) || bp < frame->sp || bp - frame->sp > MAX_FRAME ||
        !seep_walk_record_readable(walk->thread, bp))
        return cut(walk, SEEP_CUT_NO_CFI);
    const seep_stack_word *record = (const seep_stack_word *)bp;
    // So a coroutine's stack begins, but none of libc's.
    if (record[1] == 0)
        return seep_walk_is_on_own_stack(walk->thread, bp) ? cut(walk, SEEP_CUT_NO_CFI) : OUTERMOST;
    walk->pc = seep_arch_strip(record[1]);
    // Where a return was met before there is code; else the register may have been no frame pointer.
    struct seep_walk_frame caller = {.pc = walk->pc};
    if (!rule_known(&caller) && !leads_to_code(walk->thread, walk->pc, bp))
        return cut(walk, SEEP_CUT_NO_CFI);
    walk->bp = record[0];
    walk->sp = bp + 2 * SEEP_ARCH_WORD;
    if (!SEEP_ARCH_RECORD_GIVES_SP)
        walk->sp_unsure = true;
    return LEFT_UNPROVEN;
}

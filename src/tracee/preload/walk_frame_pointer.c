// SPDX-License-Identifier: BSD-2-Clause
//
// Leaves a frame that has no call-frame information (JIT code, hand-written assembly) by its frame record.
#include "preload/stack_tree.h"
#include "preload/walk.h"
#include "unwind/arch.h"

enum {
    MAX_FRAME = 1 << 28,      // a frame pointer that makes a larger frame is rejected
    OWN_MOST = 1 << 20,       // a thread looks up the rest of its stack once, up to this
    ARGUMENTS_MOST = 6 << 20, // of arguments and environment together; source: execve(2)
};

// Whether both words of a frame record can be read. A wrong frame pointer may lead to what has been unmapped
// since, so that the answer holds for one part of memory only: from where we are on libc's own stack of this
// thread to its end, where its descriptor lies. A guard lies between that and any other stack.
static bool record_readable(struct seep_thread *thread, uint64_t bp) {
    uint64_t here = CPU_FRAME(), end = sys_thread_pointer();
    if (end > here && end - here < OWN_MOST && bp >= here && bp + 2 * SEEP_ARCH_WORD <= end) {
        uint64_t page = here & ~(uint64_t)(WALK_PAGE - 1), end_page = end & ~(uint64_t)(WALK_PAGE - 1);
        if (thread->own_hi != end_page)
            thread->own_lo = thread->own_hi = end_page;
        if (page < thread->own_lo && pages_readable(page, thread->own_lo))
            thread->own_lo = page;
        if (page >= thread->own_lo)
            return true;
    }
    return sys_readable(bp) && ((bp + SEEP_ARCH_WORD) % WALK_PAGE != 0 || sys_readable(bp + SEEP_ARCH_WORD));
}

// Whether sp is on the stack that libc gave this thread, not on a coroutine's. The arguments and environment
// above the first stack belong to it, because musl's start code has argv in the frame pointer.
static bool is_on_own_stack(const struct seep_thread *thread, uint64_t sp) {
    if (thread->tid != thread->pid)
        return sys_thread_pointer() - sp < OWN_MOST;
    uint64_t first = &__libc_stack_end ? (uintptr_t)__libc_stack_end : seep_g.stack_start;
    return first + ARGUMENTS_MOST - sp < OWN_MOST + ARGUMENTS_MOST;
}

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
        return !is_on_own_stack(thread, bp);
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

// Where a signal interrupted a call to an address that has no code (a null function pointer): nothing ran
// there, so the return address is still at the top of the stack, as debuggers take it. CPUs with a link
// register do not keep it where a handler's frame leads.
static bool leave_call_to_nowhere(struct walk *walk, uint64_t pc, uint64_t sp) {
#ifdef SEEP_ARCH_RULE_HAS_RA
    (void)walk, (void)pc, (void)sp;
    return false;
#else
    uint64_t word;
    if (!(pc & SEEP_PC_EXACT) || sys_readable(pc & ~SEEP_PC_EXACT) || !read_word(walk->thread, sp, &word) ||
        !seep_walk_follows_call(word))
        return false;
    walk->pc = word;
    walk->sp = sp + SEEP_ARCH_WORD;
    return true;
#endif
}

enum leave seep_walk_by_frame_pointer(struct walk *walk, uint64_t pc, uint64_t sp, uint64_t bp) {
    if (leave_call_to_nowhere(walk, pc, sp))
        return LEFT_UNPROVEN;
    if (is_outermost(walk->thread, pc, sp))
        return OUTERMOST;
    if (!SEEP_ARCH_HAS_RECORDS)
        return cut(walk, SEEP_CUT_NO_CFI);
    if (bp & (SEEP_ARCH_WORD - 1) || bp < sp || bp - sp > MAX_FRAME || !record_readable(walk->thread, bp))
        return cut(walk, SEEP_CUT_NO_CFI);
    const seep_stack_word *record = (const seep_stack_word *)bp;
    // So a coroutine's stack begins, but none of libc's.
    if (record[1] == 0)
        return is_on_own_stack(walk->thread, bp) ? cut(walk, SEEP_CUT_NO_CFI) : OUTERMOST;
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

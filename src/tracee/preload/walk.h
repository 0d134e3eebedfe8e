// SPDX-License-Identifier: BSD-2-Clause
//
// What the files of the walk share. The walk goes outward from the caller of a hook, a frame at a time: by
// the frame's rule (walk.c); where there is no call-frame information by the frame record
// (walk_frame_pointer.c); where a row is more than a rule can say once more from the start with all registers
// (walk_registers.c). It ends where the stack begins (walk_start.c), and reads only memory that is known to
// be readable (walk_memory.c). walk_fast.c is the usual case of walk.c, apart. None of them takes a lock for
// longer than a look-up, and all may be called in a signal handler, on the thread `thread` itself while its
// guard is taken.
#ifndef SEEP_PRELOAD_WALK_H
#define SEEP_PRELOAD_WALK_H

#include "preload/stack.h"

// The least page of any kernel: a read within one needs one look. CUT_NONE: the walk came to its end.
enum { WALK_PAGE = 4096, CUT_NONE = -1 };

// How leaving a frame ended.
enum leave { LEFT, LEFT_UNPROVEN, OUTERMOST, NEEDS_ALL_REGISTERS, CUT };

struct walk {
    struct seep_thread *thread;
    uint32_t limit; // frames that are kept of a stack
    uint32_t nr;    // frames walked
    int cut;        // enum seep_cut, or CUT_NONE
    bool unproven;  // rests on more than rules
    bool sp_unsure; // SEEP_ARCH_RECORD_GIVES_SP is 0 and a frame record led here: sp is a lower bound
    uint64_t pc;    // the state we are in
    uint64_t sp;
    uint64_t bp;
};

// The walk ends at the frame that it is in, as not to be left.
SEEP_INLINE enum leave cut(struct walk *walk, enum seep_cut reason) {
    walk->cut = (int)reason;
    return CUT;
}

// The stack pointer with which the kernel started the program (ld.so, since glibc 2.1).
extern void *__libc_stack_end __attribute__((weak));

// Fills thread->walk, innermost first, with the frames that are not in the memo, and makes room for them
// where needed. Returns how many frames of the memo, from the outermost, are the rest of the stack; 0 too
// where walk->cut is set.
uint32_t seep_walk_outward(struct walk *walk);

#ifdef SEEP_ARCH_FAST_WALK
// The node of the stack, with the memo grown; 0: not to be had that way, and then the memo is as it was, or
// empty. thread->walk is written over. Takes no lock but for nodes that the tree has not.
uint32_t seep_walk_fast(struct seep_thread *thread, uint64_t pc, uint64_t sp, uint64_t bp);
#endif

// From the frame with this state, which has no call-frame information, to its caller's state in `walk`, if
// the frame pointer can be one. Never LEFT: the memo may not rest on it. Takes rules_lock.
enum leave seep_walk_by_frame_pointer(struct walk *walk, uint64_t pc, uint64_t sp, uint64_t bp);

// Fills thread->walk with the whole stack again, from our own frame. thread->walk[0] is the hook's caller on
// entry too. Sets walk->unproven. Takes rules_lock.
void seep_walk_with_all_registers(struct walk *walk);

// Whether [from, to) can be read, both page-aligned.
SEEP_INLINE bool pages_readable(uint64_t from, uint64_t to) {
    for (uint64_t page = from; page < to; page += WALK_PAGE)
        if (!sys_readable(page))
            return false;
    return true;
}

// Whether the word at `address` can be read, which is not in [stack_lo, stack_hi). Extends that range, or
// begins another one.
bool seep_walk_extend(struct seep_thread *thread, uint64_t address);
// Memory has been unmapped since the thread asked for any.
void seep_walk_forget_readable(struct seep_thread *thread);

// Whether a call ends at `pc`, so that it is a return address; for Thumb code bit 0 is set. What was found is
// remembered: code of a module stays.
bool seep_walk_follows_call(uint64_t pc);
// For is_outermost(): with musl, and where a CPU has more than one way to begin a stack. Take rules_lock.
bool seep_walk_begins_in_musl(uint64_t pc, uint64_t sp);
bool seep_walk_begins_by_code(const struct seep_thread *thread, uint64_t pc, uint64_t sp);

#if defined(SEEP_ARCH_START_CODE_BYTES) || defined(SEEP_ARCH_BARE_THREAD_START)
#define WALK_BEGINS_BY_CODE 1
#else
#define WALK_BEGINS_BY_CODE 0
#endif

// Whether a frame without call-frame information, in which the pc and sp are these, is the outermost one. The
// loader's entry point has none; it is what calls the constructors, on the kernel's own stack.
SEEP_INLINE bool is_outermost(const struct seep_thread *thread, uint64_t pc, uint64_t sp) {
    if (&__libc_stack_end ? (uintptr_t)__libc_stack_end - sp < 64 + SEEP_ARCH_START_BYTES
                          : seep_walk_begins_in_musl(pc, sp))
        return true;
    return WALK_BEGINS_BY_CODE && seep_walk_begins_by_code(thread, pc, sp);
}

// Reads an aligned word of the stack. Known pages cost a compare, others a system call, once.
SEEP_INLINE bool read_word(struct seep_thread *thread, uint64_t address, uint64_t *ret_word) {
    if (SEEP_UNLIKELY(address & (SEEP_ARCH_WORD - 1)))
        return false;
    if (SEEP_UNLIKELY(address - thread->stack_lo >= thread->stack_hi - thread->stack_lo) &&
        !seep_walk_extend(thread, address))
        return false;
    *ret_word = *(const seep_stack_word *)address;
    return true;
}

// The same for a word that leads on from `frame`, which the memo will have as its slot `which`.
SEEP_INLINE bool read_slot(struct walk *walk, struct seep_walk_frame *frame, int which, uint64_t address) {
    frame->slots[which] = (const seep_stack_word *)address;
    return read_word(walk->thread, address, &frame->values[which]);
}

// Why seep_rule_learn() had no rule.
enum seep_cut seep_walk_why_unknown(uint64_t pc);

#endif

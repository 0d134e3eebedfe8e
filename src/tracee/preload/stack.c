// SPDX-License-Identifier: BSD-2-Clause
//
// Walks the stack from a hook's caller outward until it meets a frame of the memo that still holds,
// then grows memo and tree inward again. See stack.h for why the memo is exact.
//
// A stack whose unwinding did not rest on rules alone (frame pointers without CFI, rows that need all
// registers, a cut) is used once and not kept: only what rules read may be trusted later.
#include "preload/proc_maps.h"
#include "preload/stack.h"
#include "preload/stack_tree.h"
#include "unwind/arch.h"
#include "unwind/step.h"

#ifdef SEEP_ORACLE
// Test builds: compares every stack with a plain unwinder (tests/oracle).
void seep_oracle_check(const uint64_t *pcs, unsigned nr, int cut);
#endif

enum {
    PAGE = 4096,
    NEAR = 16 * PAGE,         // the readable range is extended page by page up to this
    OWN_MOST = 1 << 20,       // a thread looks up the rest of its stack once, up to this
    ARGUMENTS_MOST = 6 << 20, // of arguments and environment together; source: execve(2)
    MAX_FRAME = 1 << 28,      // a frame pointer that makes a larger frame is rejected
    CUT_NONE = -1,
};

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

// ---- reading the stack ----------------------------------------------------------------------------

// Whether [from, to) can be read, both page-aligned.
static bool pages_readable(uint64_t from, uint64_t to) {
    for (uint64_t page = from; page < to; page += PAGE)
        if (!sys_readable(page))
            return false;
    return true;
}

static SEEP_NOINLINE bool readable_slow(struct seep_thread *thread, uint64_t address) {
    uint64_t page = address & ~(uint64_t)(PAGE - 1);
    if (page >= thread->stack_hi && page - thread->stack_hi <= NEAR && thread->stack_hi &&
        pages_readable(thread->stack_hi, page + PAGE)) {
        thread->stack_hi = page + PAGE;
        return true;
    }
    if (page < thread->stack_lo && thread->stack_lo - page <= NEAR &&
        pages_readable(page, thread->stack_lo)) {
        thread->stack_lo = page;
        return true;
    }
    if (!sys_readable(page))
        return false;
    thread->stack_lo = page;
    thread->stack_hi = page + PAGE;
    return true;
}

// Of more threads than these only what this one remembers is looked through.
enum { ASKED_THREADS = 64 };

static bool remembers(const struct seep_thread *thread, uint64_t start, uint64_t end) {
    if (!SEEP_GUARD_IS_IDLE(thread->guard)) // a handler of a signal that interrupted it
        return true;
    const struct seep_memo_slot *slot = thread->slots;
    const struct seep_memo_slot *last =
        thread->memo_end == thread->frames ? slot : thread->memo_end[-1].slots_end;
    for (; slot < last; slot++)
        if ((uintptr_t)slot->address >= start && (uintptr_t)slot->address < end)
            return true;
    return false;
}

void seep_stack_gone(uint64_t start, uint64_t bytes) {
    uint64_t end = start + bytes;
    seep_readable_gone(start, bytes);
    atomic_fetch_add_explicit(&seep_g.unmap_epoch, 1, memory_order_release);
    const struct seep_thread *self = seep_self();
    bool gone = self != &seep_nobody && remembers(self, start, end);
    uint64_t nr =
        seep_image_is_ours() ? SEEP_MIN(seep_g.header->areas[SEEP_AREA_THREADS].used, ASKED_THREADS) : 0;
    for (uint64_t i = 0; i < nr && !gone; i++) {
        const struct seep_thread *other = seep_g.thread_of_slot[i];
        gone = other && __atomic_load_n(&other->stack_lo, __ATOMIC_RELAXED) < end &&
               __atomic_load_n(&other->stack_hi, __ATOMIC_RELAXED) > start;
    }
    if (gone)
        atomic_fetch_add_explicit(&seep_g.mode.modules_epoch, 1, memory_order_release);
}

// Reads an aligned word of the stack. Known pages cost a compare, others a system call, once.
SEEP_INLINE bool read_word(struct seep_thread *thread, uint64_t address, uint64_t *ret_word) {
    if (SEEP_UNLIKELY(address & (SEEP_ARCH_WORD - 1)))
        return false;
    if (SEEP_UNLIKELY(address - thread->stack_lo >= thread->stack_hi - thread->stack_lo) &&
        !readable_slow(thread, address))
        return false;
    *ret_word = *(const seep_stack_word *)address;
    return true;
}

// ---- leaving a frame ------------------------------------------------------------------------------

SEEP_INLINE bool read_slot(struct walk *walk, struct seep_walk_frame *frame, int which, uint64_t address) {
    frame->slots[which] = (const seep_stack_word *)address;
    return read_word(walk->thread, address, &frame->values[which]);
}

static enum leave cut(struct walk *walk, enum seep_cut reason) {
    walk->cut = (int)reason;
    return CUT;
}

// The stack pointer with which the kernel started the program (ld.so, since glibc 2.1).
extern void *__libc_stack_end __attribute__((weak));

// The loader's entry point has no CFI; it is what calls the constructors, on the kernel's own stack.
// All of musl has none: there it is what calls main, and what starts a thread, just below its descriptor.
// What musl calls back (a comparison) has callers of its own further out, which nothing leads to.
enum { MUSL_START_BYTES = 1024, MUSL_THREAD_BYTES = 8192, MUSL_ENTRY_BYTES = 96 };

// Whether a call ends at `pc`, so that it is a return address; for Thumb code bit 0 is set.
// What was found there is remembered: code of a module stays.
static bool follows_call(uint64_t pc) {
    static _Atomic uint64_t found[64]; // twice the pc, and the answer
    _Atomic uint64_t *latest = &found[rule_hash(pc) >> 58];
    uint64_t known = atomic_load_explicit(latest, memory_order_relaxed);
    if (known / 2 == pc)
        return known % 2;
    if (!sys_readable(pc - SEEP_ARCH_CALL_BYTES) || !sys_readable(pc))
        return false;
    bool ends = seep_arch_follows_call(pc);
    atomic_store_explicit(latest, pc * 2 + ends, memory_order_relaxed);
    return ends;
}

// Whether code beside musl's own and the program's entry point waits for a call to return on the stack from
// `sp` to `end`.
static bool somebody_waits(uint64_t sp, uint64_t end) {
    if (sp & (SEEP_ARCH_WORD - 1) || !seep_lock_take(&seep_g.rules_lock))
        return true;
    bool waits = false;
    for (; sp + SEEP_ARCH_WORD <= end && !waits; sp += SEEP_ARCH_WORD) {
        uint64_t word = *(const seep_stack_word *)sp, code = seep_arch_strip(word);
        waits = code - seep_g.musl_rt >= seep_g.musl_bytes &&
                code - seep_g.program_entry >= MUSL_ENTRY_BYTES && seep_maps_known_module(code) &&
                !seep_is_own_code(code) && follows_call(code | (word & 1));
    }
    seep_lock_release(&seep_g.rules_lock);
    return waits;
}

static bool is_entry_point(uint64_t pc, uint64_t sp) {
    if (&__libc_stack_end)
        return (uintptr_t)__libc_stack_end - sp < 64 + SEEP_ARCH_START_BYTES;
    if ((pc & ~SEEP_PC_EXACT) - seep_g.musl_rt >= seep_g.musl_bytes)
        return false;
    uint64_t end = seep_g.stack_start - sp < MUSL_START_BYTES ? seep_g.stack_start : sys_thread_pointer();
    return end - sp < MUSL_THREAD_BYTES && !somebody_waits(sp, end);
}

// Code that is not called: it is reached by a return address that was made up.
static bool is_start_code(uint64_t pc) {
#ifdef SEEP_ARCH_START_CODE_BYTES
    uint64_t end = pc + SEEP_ARCH_START_CODE_BYTES - 1;
    return !(pc & SEEP_PC_EXACT) && sys_readable(pc) && (end / PAGE == pc / PAGE || sys_readable(end)) &&
           seep_arch_is_start_code((const uint8_t *)pc);
#else
    (void)pc;
    return false;
#endif
}

#ifdef SEEP_ARCH_BARE_THREAD_START
enum { THREAD_START_BYTES = 4096 }; // its frame, and libc's descriptor of the thread

// Whether `pc` is where libc's first function of a thread called the program's: a function without call-frame
// information, into whose frame no other call returns but that of the code that begins a thread. Once found
// it is known: libc calls from one place.
static bool is_thread_start(const struct seep_thread *thread, uint64_t pc, uint64_t sp) {
    static _Atomic uintptr_t known;
    uint64_t end = sys_thread_pointer();
    if (pc == atomic_load_explicit(&known, memory_order_relaxed))
        return true;
    if (thread->tid == thread->pid || end - sp > THREAD_START_BYTES || sp & (SEEP_ARCH_WORD - 1) ||
        !seep_lock_take(&seep_g.rules_lock))
        return false;
    bool starts = false, called = false;
    for (; sp + SEEP_ARCH_WORD <= end && !starts && !called; sp += SEEP_ARCH_WORD) {
        seep_stack_word word = *(const seep_stack_word *)sp;
        uint64_t code = seep_arch_strip(word);
        struct seep_module_at at;
        if (code % 2 || !seep_module_find(code, &at) || !sys_readable(code) || !sys_readable(code - 4))
            continue;
        starts = is_start_code(code);
        called = !starts && seep_arch_follows_call(word);
    }
    seep_lock_release(&seep_g.rules_lock);
    if (starts)
        atomic_store_explicit(&known, (uintptr_t)pc, memory_order_relaxed);
    return starts;
}
#else
static bool is_thread_start(const struct seep_thread *thread, uint64_t pc, uint64_t sp) {
    (void)thread, (void)pc, (void)sp;
    return false;
}
#endif

// Why seep_rule_learn() had no rule.
static enum seep_cut why_unknown(uint64_t pc) {
    return seep_maps_is_return_probe(pc) ? SEEP_CUT_PROBE : SEEP_CUT_BAD_CFI;
}

// Whether both words of a frame record can be read. A wrong frame pointer may lead to what has been unmapped
// since, so that the answer holds for one part of memory only: from where we are on libc's own stack of this
// thread to its end, where its descriptor lies. A guard lies between that and any other stack.
static bool record_readable(struct seep_thread *thread, uint64_t bp) {
    uint64_t here = CPU_FRAME(), end = sys_thread_pointer();
    if (end > here && end - here < OWN_MOST && bp >= here && bp + 2 * SEEP_ARCH_WORD <= end) {
        uint64_t page = here & ~(uint64_t)(PAGE - 1), end_page = end & ~(uint64_t)(PAGE - 1);
        if (thread->own_hi != end_page)
            thread->own_lo = thread->own_hi = end_page;
        if (page < thread->own_lo && pages_readable(page, thread->own_lo))
            thread->own_lo = page;
        if (page >= thread->own_lo)
            return true;
    }
    return sys_readable(bp) && ((bp + SEEP_ARCH_WORD) % PAGE != 0 || sys_readable(bp + SEEP_ARCH_WORD));
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
    uint64_t page = pc / PAGE, block = page / 64, bit = UINT64_C(1) << page % 64;
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
        return follows_call(pc);
    }
    if (pages->block != block)
        *pages = (struct seep_code_pages){.block = block};
    pages->known |= bit;
    return true;
}

// No CFI (JIT code, hand-written assembly): the frame pointer, if it can be one.
static enum leave leave_by_frame_pointer(struct walk *walk, struct seep_walk_frame *frame) {
    uint64_t bp = frame->bp;
    if (is_entry_point(frame->pc, frame->sp) || is_start_code(frame->pc) ||
        is_thread_start(walk->thread, frame->pc, frame->sp))
        return OUTERMOST;
    if (!SEEP_ARCH_HAS_RECORDS)
        return cut(walk, SEEP_CUT_NO_CFI);
    if (bp & (SEEP_ARCH_WORD - 1) || bp < frame->sp || bp - frame->sp > MAX_FRAME ||
        !record_readable(walk->thread, bp))
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

#ifdef SEEP_ARCH_SIGNAL_PC_OFFSET
static enum leave leave_signal_frame(struct walk *walk, struct seep_walk_frame *frame) {
    uint64_t block = frame->sp + (uint64_t)seep_rule_cfa_offset(frame->rule);
    if (!read_slot(walk, frame, 0, block + SEEP_ARCH_SIGNAL_PC_OFFSET) ||
        !read_slot(walk, frame, 1, block + SEEP_ARCH_SIGNAL_BP_OFFSET) ||
        !read_slot(walk, frame, 2, block + SEEP_ARCH_SIGNAL_SP_OFFSET))
        return cut(walk, SEEP_CUT_BAD_READ);
    walk->pc = frame->values[0] | SEEP_PC_EXACT;
    walk->bp = frame->values[1];
    walk->sp = frame->values[2];
    return LEFT;
}
#endif

// The kinds that are not a plain offset from sp or bp.
static SEEP_NOINLINE enum leave leave_special_frame(struct walk *walk, struct seep_walk_frame *frame) {
    switch (seep_rule_kind(frame->rule)) {
#ifdef SEEP_ARCH_SIGNAL_PC_OFFSET
    case SEEP_RULE_SIGNAL:
        return leave_signal_frame(walk, frame);
#endif
    case SEEP_RULE_END:
        return OUTERMOST;
    case SEEP_RULE_NO_CFI:
        return leave_by_frame_pointer(walk, frame);
    case SEEP_RULE_BAD:
        return cut(walk, SEEP_CUT_BAD_CFI);
    default:
        return NEEDS_ALL_REGISTERS;
    }
}

// From `frame` to its caller's state in `walk`. Remembers in frame->slots what it read.
SEEP_INLINE enum leave leave_frame(struct walk *walk, struct seep_walk_frame *frame) {
    enum seep_rule_kind kind = seep_rule_kind(frame->rule);
    uint64_t base = kind == SEEP_RULE_SP ? frame->sp : frame->bp;
    uint64_t cfa = base + (uint64_t)seep_rule_cfa_offset(frame->rule);
    uint64_t bp_base = cfa;
    if (SEEP_UNLIKELY(kind > SEEP_RULE_BP)) {
        if (kind != SEEP_RULE_BP_DEREF)
            return leave_special_frame(walk, frame);
        if (!read_slot(walk, frame, 2, cfa))
            return cut(walk, SEEP_CUT_BAD_READ);
        cfa = frame->values[2];
        bp_base = frame->bp;
    }
    if (SEEP_UNLIKELY(cfa - SEEP_ARCH_SP_BELOW_CFA <= frame->sp))
        return cut(walk, SEEP_CUT_LOOP);
    if (SEEP_UNLIKELY(!read_slot(walk, frame, 0, cfa + (uint64_t)seep_rule_ra_offset(frame->rule))))
        return cut(walk, SEEP_CUT_BAD_READ);
    if (seep_rule_bp_saved(frame->rule)) {
        if (SEEP_UNLIKELY(!read_slot(walk, frame, 1, bp_base + (uint64_t)seep_rule_bp_offset(frame->rule))))
            return cut(walk, SEEP_CUT_BAD_READ);
        walk->bp = frame->values[1];
    }
    walk->pc = seep_arch_strip(frame->values[0]);
    walk->sp = cfa - SEEP_ARCH_SP_BELOW_CFA;
    // Some code ends its stack with a return address of zero instead of an undefined one.
    return SEEP_UNLIKELY(walk->pc == 0) ? OUTERMOST : LEFT;
}

// ---- the slow walk: all registers -----------------------------------------------------------------

static bool read_for_step(void *context, uint64_t address, uint64_t *ret_word) {
    return read_word(context, address, ret_word);
}

#ifdef CPU_OWN_REGISTERS
// In the frame of the caller, which stays while it walks.
SEEP_INLINE void own_registers(struct seep_regs *ret_regs) {
    *ret_regs = (struct seep_regs){.known = CPU_OWN_REGISTERS, .pc_exact = true};
    ret_regs->pc = cpu_own_registers(ret_regs->value);
}
#endif

#ifdef SEEP_ARCH_SIGNAL_CODE_BYTES
// All registers of the code that a signal interrupted.
static enum leave step_signal(struct walk *walk, struct seep_regs *regs, int block) {
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

static int row_of(const struct seep_regs *regs, struct seep_cfi_row *ret_row) {
    struct seep_module_at at;
    if (!seep_lock_take(&seep_g.rules_lock))
        return SEEP_CFI_BAD;
    uint64_t pc = regs->pc_exact ? regs->pc : regs->pc - 1;
    bool found = seep_module_find(pc, &at);
    seep_lock_release(&seep_g.rules_lock);
    if (!found || !at.object.eh_frame_hdr)
        return SEEP_CFI_NONE;
    int result = seep_rule_row_at(&at.object, pc, ret_row);
    return result == SEEP_CFI_NONE && !regs->pc_exact && seep_starts_function(&at.object, regs->pc)
               ? STACK_STARTS
               : result;
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
        struct seep_cfi_row row;
        if (row_of(&regs, &row) != SEEP_CFI_OK || seep_step(&row, &regs, read_own, NULL) != SEEP_STEP_OK)
            return 0;
    }
    return seep_is_own_code(regs.pc) ? 0 : regs.pc;
}
#endif

// One exact step with all registers, or by the frame pointer. Sets walk->cut where it ends in nothing.
static enum leave step_all(struct walk *walk, struct seep_regs *regs) {
#ifdef SEEP_ARCH_DWARF_BP
    struct seep_cfi_row row;
    int found = row_of(regs, &row);
    bool sp_known = regs->known >> SEEP_ARCH_DWARF_SP & 1;
    // A function may end right before the trampoline, as in qemu's vdso for s390x.
    bool may_be_signal = found != SEEP_CFI_OK || row.signal_frame || row.end == regs->pc;
    int block = sp_known && may_be_signal ? seep_signal_block(regs->pc) : -1;
    if (block >= 0)
        return step_signal(walk, regs, block);
    if (found == SEEP_CFI_BAD)
        return cut(walk, SEEP_CUT_BAD_CFI);
    if (found == STACK_STARTS)
        return OUTERMOST;
    if (found == SEEP_CFI_OK) {
        // What a signal interrupts may have no frame at all, where calls need none.
        uint64_t sp = regs->value[SEEP_ARCH_DWARF_SP] + (regs->pc_exact ? 0 : 1);
        switch (seep_step(&row, regs, read_for_step, walk->thread)) {
        case SEEP_STEP_OK:
            if (regs->pc == 0)
                return OUTERMOST;
            return row.signal_frame || regs->value[SEEP_ARCH_DWARF_SP] >= sp ? LEFT
                                                                             : cut(walk, SEEP_CUT_LOOP);
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
    struct seep_walk_frame frame = {.sp = regs->value[SEEP_ARCH_DWARF_SP],
                                    .bp = regs->value[SEEP_ARCH_DWARF_BP]};
    enum leave left = leave_by_frame_pointer(walk, &frame);
    if (left == LEFT_UNPROVEN) {
        *regs = (struct seep_regs){.pc = walk->pc, .known = 1u << SEEP_ARCH_DWARF_BP};
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

// The whole stack again, from our own frame, with all registers.
static SEEP_NOINLINE void walk_with_all_registers(struct walk *walk, struct seep_caller caller) {
    walk->nr = 0;
    walk->unproven = true;
    walk->sp_unsure = false;
#ifdef CPU_OWN_REGISTERS
    struct seep_regs regs;
    own_registers(&regs);
    bool ours = true;
    while (walk->nr < walk->thread->capacity || seep_thread_deeper(walk->thread)) {
        if (ours && !regs.pc_exact && regs.pc == caller.pc && regs.value[SEEP_ARCH_DWARF_SP] == caller.sp)
            ours = false;
        if (!ours) {
            struct seep_walk_frame *frame = &walk->thread->walk[walk->nr];
            frame->pc = regs.pc | (regs.pc_exact ? SEEP_PC_EXACT : 0);
            frame->sp = regs.value[SEEP_ARCH_DWARF_SP];
            frame->bp = regs.value[SEEP_ARCH_DWARF_BP];
            if (!rule_known(frame) && !seep_rule_learn(frame)) {
                walk->cut = (int)why_unknown(regs.pc);
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
    (void)caller;
    walk->cut = SEEP_CUT_BAD_CFI;
#endif
}

// ---- the walk -------------------------------------------------------------------------------------

// How many frames of the memo, from the outermost, are the rest of the stack; -1: none, walk on.
// `*candidate` is the next memo frame that may be reached, one past it; it only moves outward.
SEEP_INLINE int64_t meets_memo(struct walk *walk, uint32_t *candidate) {
    struct seep_thread *thread = walk->thread;
    if (!SEEP_ARCH_RECORD_GIVES_SP && walk->sp_unsure)
        return -1;
    while (*candidate > 0 && thread->frames[*candidate - 1].sp < walk->sp)
        --*candidate;
    if (*candidate == 0)
        return -1;
    const struct seep_memo_frame *frame = &thread->frames[*candidate - 1];
    if (!memo_state_is(frame, walk->pc, walk->sp, walk->bp))
        return -1;
    const struct seep_memo_slot *changed = slots_changed(frame->slots_end, thread->slots);
    if (!changed)
        return *candidate;
    // The frame that read the changed slot, and all inside it, cannot be met again.
    while (*candidate > 0 &&
           (*candidate >= 2 ? thread->frames[*candidate - 2].slots_end : thread->slots) >= changed)
        --*candidate;
    --*candidate;
    return -1;
}

// Whether the frame needs its sp, which is not known: then only its frame record leads on. Any other
// rule finds sp again.
SEEP_INLINE bool lacks_sp(struct walk *walk, struct seep_rule rule) {
    if (SEEP_ARCH_RECORD_GIVES_SP || SEEP_LIKELY(!walk->sp_unsure))
        return false;
    walk->sp_unsure = false;
    return seep_rule_kind(rule) == SEEP_RULE_SP || seep_rule_kind(rule) == SEEP_RULE_SIGNAL;
}

// Fills thread->walk with the frames that are not in the memo. Returns how many memo frames remain.
static uint32_t walk_outward(struct walk *walk, struct seep_caller caller) {
    struct seep_thread *thread = walk->thread;
    uint32_t candidate = (uint32_t)(thread->memo_end - thread->frames);
    while (walk->nr < thread->capacity || seep_thread_deeper(thread)) {
        int64_t kept = meets_memo(walk, &candidate);
        if (kept >= 0)
            return (uint32_t)kept;
        struct seep_walk_frame *frame = &thread->walk[walk->nr++];
        frame->pc = walk->pc;
        frame->sp = walk->sp;
        frame->bp = walk->bp;
        if (SEEP_UNLIKELY(!rule_known(frame)) && !seep_rule_learn(frame)) {
            walk->nr--;
            walk->cut = (int)why_unknown(walk->pc);
            return 0;
        }
        enum leave left =
            lacks_sp(walk, frame->rule) ? leave_by_frame_pointer(walk, frame) : leave_frame(walk, frame);
        if (SEEP_LIKELY(left == LEFT))
            continue;
        switch (left) {
        case LEFT_UNPROVEN:
            walk->unproven = true;
            break;
        case NEEDS_ALL_REGISTERS:
            walk_with_all_registers(walk, caller);
            return 0;
        default:
            return 0;
        }
    }
    walk->cut = SEEP_CUT_DEPTH;
    return 0;
}

// ---- memo and tree --------------------------------------------------------------------------------

// Whether leaving the frame depends on bp: by itself, or by passing it on.
static bool needs_bp(struct seep_rule rule, bool outside_needs) {
    switch (seep_rule_kind(rule)) {
    case SEEP_RULE_BP:
    case SEEP_RULE_BP_DEREF:
        return true;
    case SEEP_RULE_SIGNAL:
        return false;
    default:
        return outside_needs && !seep_rule_bp_saved(rule);
    }
}

// Adds the slots that leaving `walked` read and that the rest of the stack depends on.
static uint32_t keep_slots(struct seep_memo_slot *slots, uint32_t nr, const struct seep_walk_frame *walked,
                           bool outside_needs) {
    enum seep_rule_kind kind = seep_rule_kind(walked->rule);
    if (SEEP_UNLIKELY(kind > SEEP_RULE_BP_DEREF && kind != SEEP_RULE_SIGNAL))
        return nr;
    slots[nr++] = (struct seep_memo_slot){walked->slots[0], walked->values[0]};
    if (outside_needs && (seep_rule_bp_saved(walked->rule) || kind == SEEP_RULE_SIGNAL))
        slots[nr++] = (struct seep_memo_slot){walked->slots[1], walked->values[1]};
    // The check runs from the end: the word that says where the others are comes last.
    if (SEEP_UNLIKELY(kind > SEEP_RULE_BP))
        slots[nr++] = (struct seep_memo_slot){walked->slots[2], walked->values[2]};
    return nr;
}

// Grows the memo by the walked frames, inward. `kept` frames of it remain.
static uint32_t grow_memo(struct walk *walk, uint32_t kept) {
    struct seep_thread *thread = walk->thread;
    uint32_t depth = kept;
    uint32_t nr_slots = kept ? (uint32_t)(thread->frames[kept - 1].slots_end - thread->slots) : 0;
    bool need_bp = kept && thread->frames[kept - 1].need_bp;
    bool whole = walk->limit >= SEEP_MAX_DEPTH;
    uint32_t node = kept ? thread->frames[kept - 1].node : 0;
    uint32_t path = kept ? thread->frames[kept - 1].path : 0;
    bool rooted = kept > 0;
    if (!kept && walk->cut != CUT_NONE) {
        path = seep_path_hash(0, seep_frame_hash(SEEP_FRAME_CUT(walk->cut)));
        node = seep_tree_child(0, SEEP_FRAME_CUT(walk->cut), path);
        rooted = node != 0;
    } else {
        rooted = true;
    }
    for (uint32_t i = walk->nr; i > 0; i--) {
        const struct seep_walk_frame *walked = &thread->walk[i - 1];
        bool outside_needs = need_bp;
        need_bp = needs_bp(walked->rule, outside_needs);
        if (!walk->unproven)
            nr_slots = keep_slots(thread->slots, nr_slots, walked, outside_needs);
        if (whole && rooted) {
            path = seep_path_hash(path, seep_frame_hash(walked->frame));
            node = seep_tree_child(node, walked->frame, path);
            rooted = node != 0;
        }
        thread->frames[depth++] = (struct seep_memo_frame){
            .pc = walked->pc,
            .sp = walked->sp,
            .bp = walked->bp,
            .node = rooted ? node : 0,
            .slots_end = thread->slots + nr_slots,
            .need_bp = need_bp,
            .stamp = thread->stamp,
            .path = path,
        };
    }
    return depth;
}

// With a limit, a stack's node is that of its innermost frames alone, under the mark of the cut.
static uint32_t limited_node(struct seep_thread *thread, uint32_t depth, uint32_t limit) {
    uint32_t first = depth > limit ? depth - limit : 0;
    uint32_t path = first ? seep_path_hash(0, seep_frame_hash(SEEP_FRAME_CUT(SEEP_CUT_DEPTH))) : 0;
    uint32_t node = first ? seep_tree_child(0, SEEP_FRAME_CUT(SEEP_CUT_DEPTH), path) : 0;
    if (first && !node)
        return 0;
    for (uint32_t i = first; i < depth; i++) {
        struct seep_walk_frame probe = {.pc = thread->frames[i].pc};
        if (!rule_known(&probe) && !seep_rule_learn(&probe))
            return 0;
        path = seep_path_hash(path, seep_frame_hash(probe.frame));
        node = seep_tree_child(node, probe.frame, path);
        if (!node)
            return 0;
    }
    return node;
}

#ifdef SEEP_ORACLE
static void check_with_oracle(const struct seep_thread *thread, uint32_t depth, int cut_reason) {
    uint64_t *pcs = (uint64_t *)thread->walk; // the walk is over, and the stack may be a small one
    for (uint32_t i = 0; i < depth; i++)
        pcs[i] = thread->frames[depth - 1 - i].pc & ~SEEP_PC_EXACT;
    seep_oracle_check(pcs, depth, cut_reason);
}

void seep_stack_show_memo(const struct seep_thread *thread) {
    check_with_oracle(thread, (uint32_t)(thread->memo_end - thread->frames), CUT_NONE);
}

void seep_stack_show_recent(const struct seep_thread *thread, const struct seep_recent *recent) {
    uint64_t *pcs = (uint64_t *)thread->walk;
    uint32_t nr = recent->nr_own ? recent->nr_pcs : 0;
    __builtin_memcpy(pcs, recent->pcs, nr * sizeof(*pcs));
    for (const struct seep_memo_frame *frame = recent->kept; frame >= thread->frames; frame--)
        pcs[nr++] = frame->pc & ~SEEP_PC_EXACT;
    seep_oracle_check(pcs, nr, CUT_NONE);
}
#endif

// The stamps begin again: nothing may be left that has one.
static SEEP_COLD void forget_all(struct seep_thread *thread) {
    thread->memo_end = thread->frames;
    __builtin_memset(thread->recents, 0, sizeof(struct seep_recent) << SEEP_RECENTS_SHIFT);
}

// Memory has been unmapped since.
static SEEP_COLD void forget_readable(struct seep_thread *thread) {
    thread->stack_lo = thread->stack_hi = thread->own_lo = thread->own_hi = 0;
    __builtin_memset(thread->code, 0, sizeof(thread->code));
}

uint32_t seep_stack_walk(struct seep_thread *thread, enum seep_via via, uint64_t pc, uint64_t sp,
                         uint64_t bp) {
    struct seep_caller caller = {.pc = pc, .sp = sp, .bp = bp};
    recent_none(thread);
    if (SEEP_UNLIKELY(++thread->stamp == 0))
        forget_all(thread);
    if (SEEP_UNLIKELY(thread->stamp == SEEP_RECENTS_FROM))
        thread->recents_mask = (1u << SEEP_RECENTS_SHIFT) - SEEP_RECENT_WAYS;
    uint32_t epoch = atomic_load_explicit(&seep_g.mode.modules_epoch, memory_order_acquire);
    if (thread->mode.modules_epoch != epoch) {
        thread->mode.modules_epoch = epoch;
        thread->memo_end = thread->frames;
    }
    uint32_t unmaps = atomic_load_explicit(&seep_g.unmap_epoch, memory_order_acquire);
    if (thread->unmap_epoch != unmaps) {
        thread->unmap_epoch = unmaps;
        forget_readable(thread);
    }
    // One limit for all of a walk, and for all of a memo: it may be changed at any time (control.c).
    const uint32_t limit = atomic_load_explicit(&seep_g.depth, memory_order_relaxed);
    if (SEEP_UNLIKELY(thread->limit != limit)) {
        thread->limit = limit;
        thread->memo_end = thread->frames;
    }
#ifdef SEEP_ARCH_FAST_WALK
    uint32_t fast = limit < SEEP_MAX_DEPTH ? 0 : seep_stack_walk_fast(thread, caller);
    if (SEEP_LIKELY(fast)) {
        thread->top_via = via;
        thread->top_site = seep_tree_site(fast, via);
        seep_stack_show_memo(thread);
        return thread->top_site;
    }
#endif
    thread->walk_kept = NULL;
    struct walk walk = {
        .thread = thread, .limit = limit, .cut = CUT_NONE, .pc = caller.pc, .sp = caller.sp, .bp = caller.bp};
    uint32_t kept = walk_outward(&walk, caller);
    while (kept + walk.nr > thread->capacity && seep_thread_deeper(thread)) {
    }
    if (kept + walk.nr >
        thread->capacity) { // too deep for the memo: keep the innermost, as a full walk would
        thread->memo_end = thread->frames;
        walk = (struct walk){.thread = thread,
                             .limit = limit,
                             .cut = CUT_NONE,
                             .pc = caller.pc,
                             .sp = caller.sp,
                             .bp = caller.bp};
        kept = walk_outward(&walk, caller);
    }
    uint32_t depth = grow_memo(&walk, kept);
    uint32_t node = limit < SEEP_MAX_DEPTH ? limited_node(thread, depth, limit)
                    : depth                ? thread->frames[depth - 1].node
                                           : 0;
    thread->memo_end = thread->frames + (walk.cut == CUT_NONE && !walk.unproven ? depth : 0);
    thread->top_via = via;
    thread->top_site = seep_tree_site(node, via);
#ifdef SEEP_ORACLE
    check_with_oracle(thread, depth, walk.cut);
#endif
    return thread->top_site;
}

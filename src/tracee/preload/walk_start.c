// SPDX-License-Identifier: BSD-2-Clause
//
// Where a stack begins, for frames without call-frame information: the program's entry point, the first
// function of a thread, and code that is reached by a return address that was made up.
#include "preload/proc_maps.h"
#include "preload/stack_tree.h"
#include "preload/walk.h"
#include "unwind/arch.h"

// All of musl has no CFI: there it is what calls main, and what starts a thread, just below its descriptor.
// What musl calls back (a comparison) has callers of its own further out, which nothing leads to.
enum { MUSL_START_BYTES = 1024, MUSL_THREAD_BYTES = 8192, MUSL_ENTRY_BYTES = 96 };

bool seep_walk_follows_call(uint64_t pc) {
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
                !seep_is_own_code(code) && seep_walk_follows_call(code | (word & 1));
    }
    seep_lock_release(&seep_g.rules_lock);
    return waits;
}

bool seep_walk_begins_in_musl(uint64_t pc, uint64_t sp) {
    if ((pc & ~SEEP_PC_EXACT) - seep_g.musl_rt >= seep_g.musl_bytes)
        return false;
    uint64_t end = seep_g.stack_start - sp < MUSL_START_BYTES ? seep_g.stack_start : sys_thread_pointer();
    return end - sp < MUSL_THREAD_BYTES && !somebody_waits(sp, end);
}

#if WALK_BEGINS_BY_CODE
// Code that is not called: it is reached by a return address that was made up.
static bool is_start_code(uint64_t pc) {
#ifdef SEEP_ARCH_START_CODE_BYTES
    uint64_t end = pc + SEEP_ARCH_START_CODE_BYTES - 1;
    return !(pc & SEEP_PC_EXACT) && sys_readable(pc) &&
           (end / WALK_PAGE == pc / WALK_PAGE || sys_readable(end)) &&
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

bool seep_walk_begins_by_code(const struct seep_thread *thread, uint64_t pc, uint64_t sp) {
    return is_start_code(pc) || is_thread_start(thread, pc, sp);
}
#endif

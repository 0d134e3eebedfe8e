// SPDX-License-Identifier: BSD-2-Clause
//
// Where a hook was called from: the state in which the walk begins.
#ifndef SEEP_PRELOAD_CALLER_H
#define SEEP_PRELOAD_CALLER_H

#include "preload/preload.h"

// Where a hook was called from; made by SEEP_HOOK_CALLER in the hook itself.
struct seep_caller {
    uint64_t pc; // return address
    uint64_t sp; // after the return
    uint64_t bp; // the caller's
};

extern const char __ehdr_start[] __attribute__((visibility("hidden"))); // of this library, both the linker's
extern const char _end[] __attribute__((visibility("hidden")));

// Whether a runtime address is in this library.
SEEP_INLINE bool seep_is_own_code(uint64_t pc) {
    return pc >= (uintptr_t)__ehdr_start && pc < (uintptr_t)_end;
}

// The frame record whose return address is the first one outside of this library.
SEEP_INLINE const seep_stack_word *seep_frame_of_hook(const seep_stack_word *frame) {
    for (int i = 0; i < 6; i++, frame = (const seep_stack_word *)(uintptr_t)frame[0])
        if (!seep_is_own_code(seep_arch_strip(frame[1])))
            break;
    return frame;
}

// Arguments that lie on the stack, and calls through a register of the caller's, keep a hook from ending with
// a jump: functions of the library stand between, each with a frame record.
#ifdef __i386__
#define SEEP_HOOK_FRAME() seep_frame_of_hook(__builtin_frame_address(0))
#else
#define SEEP_HOOK_FRAME() __builtin_frame_address(0)
#endif

// With a frame record in the hook: [fp] is the caller's bp, the word behind it the return address. On x86-64
// the caller's stack goes on where the record ends; elsewhere the compiler knows where.
#if SEEP_ARCH_RECORD_GIVES_SP
#define SEEP_HOOK_CALLER()                                                                                   \
    ({                                                                                                       \
        const seep_stack_word *fp_ = SEEP_HOOK_FRAME();                                                      \
        (struct seep_caller){.pc = fp_[1], .sp = (uintptr_t)(fp_ + 2), .bp = fp_[0]};                        \
    })
#elif defined(__powerpc64__)
// On Power a hook ends with a call; on other CPUs it ends with a jump. The back chain leads to the caller.
// Each frame of the library has its caller's r31 right below the beginning of the next frame.
#define SEEP_HOOK_CALLER()                                                                                   \
    seep_caller_by_links((const uint64_t *)__builtin_dwarf_cfa(), (uintptr_t)__builtin_return_address(0))
SEEP_INLINE struct seep_caller seep_caller_by_links(const uint64_t *cfa, uint64_t pc) {
    for (int i = 0; i < 6 && seep_is_own_code(pc); i++) {
        cfa = (const uint64_t *)(uintptr_t)cfa[0];
        pc = cfa[2];
    }
    return (struct seep_caller){.pc = pc, .sp = (uintptr_t)cfa, .bp = cfa[-1]};
}
#elif defined(CPU_HOOK_BP)
#define SEEP_HOOK_CALLER()                                                                                   \
    ((struct seep_caller){.pc = seep_arch_strip((uintptr_t)__builtin_return_address(0)),                     \
                          .sp = (uintptr_t)__builtin_dwarf_cfa() - SEEP_ARCH_SP_BELOW_CFA,                   \
                          .bp = CPU_HOOK_BP()})
#else
#define SEEP_HOOK_CALLER()                                                                                   \
    ({                                                                                                       \
        const seep_stack_word *fp_ = __builtin_frame_address(0);                                             \
        (struct seep_caller){                                                                                \
            .pc = seep_arch_strip(fp_[1]), .sp = (uintptr_t)__builtin_dwarf_cfa(), .bp = fp_[0]};            \
    })
#endif

// What tells hooks of the same caller at another place of the stack apart; where it is at hand, the hook's
// own frame.
#define SEEP_FRAME_OF(caller) ((caller).sp - (SEEP_ARCH_RECORD_GIVES_SP ? 2 * SEEP_ARCH_WORD : 0))
// The caller's bp, read again where it lies in the hook's frame: it is hardly ever asked for.
#define SEEP_HOOK_BP(caller)                                                                                 \
    (SEEP_ARCH_RECORD_GIVES_SP ? *(const seep_stack_word *)SEEP_FRAME_OF(caller) : (caller).bp)

// Where the hook that is at work was called from, by the tables of our own code: for who is not told, and
// where no frame records lead there. 0: not known.
uint64_t seep_stack_hook_caller(void);

#endif

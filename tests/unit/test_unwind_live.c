// SPDX-License-Identifier: BSD-2-Clause
//
// Walks this process's own stack, with all registers (seep_step) and with rules alone (pc, sp, bp), and
// compares every pc with what libgcc's unwinder finds. The stacks: random chains of functions with
// unlike frames, signal handlers on both stacks, a thread, and every single instruction of a workload
// (trap flag), so that each row of each prologue, epilogue and PLT stub on the way is used.

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unwind.h>

#include "unwind/arch.h"
#include "unwind/rule.h"
#include "unwind/step.h"

#define NR_FRAMES 256

struct walk {
    uint64_t pc[NR_FRAMES];
    unsigned nr;
    int end; // enum seep_step, or 100 + enum seep_rule_kind
};

static unsigned nr_walks, nr_frames, nr_differences;
static unsigned nr_not_ended; // walks with all registers that did not reach the outermost frame
static unsigned nr_cut;       // walks by rules that met a frame which needs another register than sp and bp
static unsigned nr_by_kind[16];

static bool object_of(uint64_t pc, struct seep_cfi_object *ret_object) {
    struct dl_find_object found;
    if (_dl_find_object((void *)(uintptr_t)pc, &found))
        return false;
    uint64_t start = (uintptr_t)found.dlfo_map_start, end = (uintptr_t)found.dlfo_map_end;
    *ret_object = (struct seep_cfi_object){.bytes = found.dlfo_map_start,
                                           .start = start,
                                           .size_bytes = end - start,
                                           .eh_frame_hdr = (uintptr_t)found.dlfo_eh_frame};
    return true;
}

static bool read_word(void *context, uint64_t address, uint64_t *ret_word) {
    if (address < 65536 || address >> 47)
        return false;
    memcpy(ret_word, (const void *)(uintptr_t)address, 8);
    return true;
}

static struct seep_regs regs_of(const ucontext_t *context, bool exact) {
    // In DWARF's order.
    static const int order[16] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
                                  REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    struct seep_regs regs = {.known = 0xffff, .pc_exact = exact};
    for (int i = 0; i < 16; i++)
        regs.value[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
    regs.pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
    return regs;
}

static void walk_steps(struct seep_regs regs, struct walk *walk) {
    for (walk->nr = 0; walk->nr < NR_FRAMES;) {
        walk->pc[walk->nr++] = regs.pc;
        struct seep_cfi_object object;
        struct seep_cfi_row row;
        walk->end = SEEP_STEP_BAD_CFI;
        if (!object_of(regs.pc - !regs.pc_exact, &object) ||
            seep_cfi_row_at(&object, regs.pc - !regs.pc_exact, &row))
            return;
        walk->end = seep_step(&row, &regs, read_word, NULL);
        if (walk->end)
            return;
    }
}

static uint64_t word_at(uint64_t address) {
    uint64_t word = 0;
    return read_word(NULL, address, &word) ? word : 0;
}

// Leaves a frame as the hot path of the preload library does. false: the rule does not give a caller.
static bool follow(struct seep_rule rule, struct seep_regs *regs) {
    uint64_t sp = regs->value[SEEP_ARCH_DWARF_SP], bp = regs->value[SEEP_ARCH_DWARF_BP];
    uint64_t cfa, bp_slot;
    regs->pc_exact = false;
    switch (seep_rule_kind(rule)) {
    case SEEP_RULE_SP:
        cfa = sp + (uint64_t)seep_rule_cfa_offset(rule);
        bp_slot = cfa + (uint64_t)seep_rule_bp_offset(rule);
        break;
    case SEEP_RULE_BP:
        cfa = bp + (uint64_t)seep_rule_cfa_offset(rule);
        bp_slot = cfa + (uint64_t)seep_rule_bp_offset(rule);
        break;
    case SEEP_RULE_BP_DEREF:
        cfa = word_at(bp + (uint64_t)seep_rule_cfa_offset(rule));
        bp_slot = bp + (uint64_t)seep_rule_bp_offset(rule);
        break;
    case SEEP_RULE_SIGNAL:
        regs->pc_exact = true;
        regs->pc = word_at(sp + SEEP_ARCH_SIGNAL_PC_OFFSET);
        regs->value[SEEP_ARCH_DWARF_SP] = word_at(sp + SEEP_ARCH_SIGNAL_SP_OFFSET);
        regs->value[SEEP_ARCH_DWARF_BP] = word_at(sp + SEEP_ARCH_SIGNAL_BP_OFFSET);
        return true;
    default:
        return false;
    }
    if (seep_rule_bp_saved(rule))
        regs->value[SEEP_ARCH_DWARF_BP] = word_at(bp_slot);
    regs->value[SEEP_ARCH_DWARF_SP] = cfa;
    regs->pc = word_at(cfa - SEEP_ARCH_WORD);
    return true;
}

static void walk_rules(struct seep_regs regs, struct walk *walk) {
    for (walk->nr = 0; walk->nr < NR_FRAMES && regs.pc;) {
        walk->pc[walk->nr++] = regs.pc;
        struct seep_cfi_object object;
        uint64_t pc = regs.pc - !regs.pc_exact;
        struct seep_rule rule = {SEEP_RULE_NO_CFI};
        if (object_of(pc, &object))
            rule = seep_rule_at(&object, pc);
        enum seep_rule_kind kind = seep_rule_kind(rule);
        nr_by_kind[kind]++;
        walk->end = 100 + kind;
        if (kind == SEEP_RULE_SLOW) {
            struct seep_cfi_row row;
            if (seep_cfi_row_at(&object, pc, &row))
                return;
            walk->end = seep_step(&row, &regs, read_word, NULL);
            if (walk->end)
                return;
        } else {
            regs.known = 1u << SEEP_ARCH_DWARF_SP | 1u << SEEP_ARCH_DWARF_BP;
            if (!follow(rule, &regs))
                return;
        }
    }
}

static _Unwind_Reason_Code collect(struct _Unwind_Context *context, void *argument) {
    struct walk *walk = argument;
    uint64_t pc = _Unwind_GetIP(context);
    if (pc && walk->nr < NR_FRAMES)
        walk->pc[walk->nr++] = pc;
    return _URC_NO_REASON;
}

// The first frames are of this file's own checker and are at different calls in it: skipped.
static void compare(const char *name, const struct walk *truth, unsigned truth_from, const struct walk *walk,
                    unsigned from) {
    bool cut =
        walk->end == SEEP_STEP_BAD_READ &&
        walk->nr - from <= truth->nr - truth_from; // right as far as it goes: the caller would start again
    bool same = cut || truth->nr - truth_from == walk->nr - from;
    for (unsigned i = 0; same && from + i < walk->nr && truth_from + i < truth->nr; i++)
        same = truth->pc[truth_from + i] == walk->pc[from + i];
    if (same || nr_differences++ > 5)
        return;
    printf("%s differs (it ended with %d):\n", name, walk->end);
    for (unsigned i = 0; truth_from + i < truth->nr || from + i < walk->nr; i++)
        printf("  %2u libgcc %012llx seep %012llx\n", i,
               truth_from + i < truth->nr ? (unsigned long long)truth->pc[truth_from + i] : 0,
               from + i < walk->nr ? (unsigned long long)walk->pc[from + i] : 0);
}

// Static, because an alternate signal stack is small; nothing here runs twice at once.
static struct walk truth, walk;

SEEP_NOINLINE static void check_here(void) {
    ucontext_t context;
    getcontext(&context);
    truth.nr = 0;
    _Unwind_Backtrace(collect, &truth);
    walk_steps(regs_of(&context, false), &walk);
    compare("step", &truth, 1, &walk, 1);
    nr_not_ended += walk.end != SEEP_STEP_END;
    struct seep_regs regs = regs_of(&context, false);
    regs.known = 1u << SEEP_ARCH_DWARF_SP | 1u << SEEP_ARCH_DWARF_BP;
    walk_rules(regs, &walk);
    compare("rules", &truth, 1, &walk, 1);
    nr_cut += walk.end == SEEP_STEP_BAD_READ;
    nr_walks++;
    nr_frames += truth.nr;
    __asm__ volatile("");
}

// A trip: a random chain of hops, each with another kind of frame.
struct trip {
    unsigned left;
    uint32_t random;
};

static void next(struct trip *trip);

static uint32_t roll(struct trip *trip) {
    trip->random = trip->random * 1664525 + 1013904223;
    return trip->random >> 8;
}

SEEP_NOINLINE static void hop_plain(struct trip *trip) {
    next(trip);
    __asm__ volatile("");
}

SEEP_NOINLINE static void hop_buffer(struct trip *trip) {
    char buffer[333];
    __asm__ volatile("" ::"r"(buffer) : "memory");
    next(trip);
    __asm__ volatile("");
}

SEEP_NOINLINE static void hop_clobber(struct trip *trip) {
    __asm__ volatile("" ::: "rbx", "r12", "r13", "r14", "r15");
    next(trip);
    __asm__ volatile("" ::: "rbp", "rbx");
}

SEEP_NOINLINE static void hop_alloca(struct trip *trip) {
    char *buffer = alloca(1 + roll(trip) % 1000);
    __asm__ volatile("" ::"r"(buffer) : "memory");
    next(trip);
    __asm__ volatile("");
}

SEEP_NOINLINE static void hop_aligned(struct trip *trip) {
    char buffer[64] __attribute__((aligned(64)));
    __asm__ volatile("" ::"r"(buffer) : "memory");
    next(trip);
    __asm__ volatile("");
}

// Realigned and of unknown size, with arguments on the stack: gcc finds them through a saved register.
SEEP_NOINLINE static void hop_realigned(struct trip *trip, int a, int b, int c, int d, int e, int f, int g) {
    char fixed[64] __attribute__((aligned(64)));
    char *buffer = alloca(1 + roll(trip) % 1000);
    __asm__ volatile("" ::"r"(buffer), "r"(fixed), "r"(f), "r"(g) : "memory");
    next(trip);
    __asm__ volatile("" ::"r"(g));
}

SEEP_NOINLINE static void hop_variadic(struct trip *trip, ...) {
    va_list list;
    va_start(list, trip);
    next(trip);
    __asm__ volatile("" ::"r"(va_arg(list, int)));
    va_end(list);
}

static struct trip *sorting;

SEEP_NOINLINE static int compare_hop(const void *left, const void *right) {
    struct trip *trip = sorting;
    if (trip) {
        sorting = NULL;
        next(trip);
    }
    return *(const int *)left - *(const int *)right;
}

SEEP_NOINLINE static void hop_qsort(struct trip *trip) {
    int numbers[] = {3, 1, 2};
    sorting = trip;
    qsort(numbers, 3, sizeof(int), compare_hop);
    __asm__ volatile("" ::"r"(numbers) : "memory");
}

static struct trip *signalled;

static void on_signal(int number) {
    struct trip *trip = signalled;
    signalled = NULL;
    next(trip);
    __asm__ volatile("");
}

SEEP_NOINLINE static void hop_signal(struct trip *trip) {
    signalled = trip;
    raise(SIGUSR1);
    __asm__ volatile("");
}

SEEP_NOINLINE static void hop_alternate_stack(struct trip *trip) {
    signalled = trip;
    raise(SIGUSR2);
    __asm__ volatile("");
}

SEEP_NOINLINE static void next(struct trip *trip) {
    if (!trip->left--) {
        check_here();
        return;
    }
    switch (roll(trip) % 10) {
    case 0:
        hop_buffer(trip);
        break;
    case 1:
        hop_clobber(trip);
        break;
    case 2:
        hop_alloca(trip);
        break;
    case 3:
        hop_aligned(trip);
        break;
    case 4:
        hop_realigned(trip, 1, 2, 3, 4, 5, 6, 7);
        break;
    case 5:
        hop_variadic(trip, 1, 2.0, "3");
        break;
    case 6:
        hop_qsort(trip);
        break;
    case 7:
        hop_signal(trip);
        break;
    case 8:
        hop_alternate_stack(trip);
        break;
    default:
        hop_plain(trip);
        break;
    }
    __asm__ volatile("");
}

static char alternate_stack[1 << 20];

static void set_handlers(void) {
    stack_t stack = {.ss_sp = alternate_stack, .ss_size = sizeof(alternate_stack)};
    assert_int_equal(sigaltstack(&stack, NULL), 0);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_NODEFER};
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    action.sa_flags |= SA_ONSTACK;
    assert_int_equal(sigaction(SIGUSR2, &action, NULL), 0);
}

static void print_counts(const char *what) {
    print_message("%s: %u walks, %u frames; by rules: sp %u, bp %u, bp deref %u, signal %u, end %u, slow %u, "
                  "no cfi %u, bad %u; %u needed all registers; %u differences\n",
                  what, nr_walks, nr_frames, nr_by_kind[SEEP_RULE_SP], nr_by_kind[SEEP_RULE_BP],
                  nr_by_kind[SEEP_RULE_BP_DEREF], nr_by_kind[SEEP_RULE_SIGNAL], nr_by_kind[SEEP_RULE_END],
                  nr_by_kind[SEEP_RULE_SLOW], nr_by_kind[SEEP_RULE_NO_CFI], nr_by_kind[SEEP_RULE_BAD], nr_cut,
                  nr_differences);
}

static void clear_counts(void) {
    nr_walks = nr_frames = nr_differences = nr_not_ended = nr_cut = 0;
    memset(nr_by_kind, 0, sizeof(nr_by_kind));
}

static void take_trips(uint32_t seed, unsigned nr_trips) {
    set_handlers();
    for (unsigned i = 0; i < nr_trips; i++) {
        struct trip trip = {.left = i % 24, .random = seed + i * 7919};
        next(&trip);
    }
}

static void test_random_chains(void **state) {
    clear_counts();
    take_trips(1, 1000);
    print_counts("random chains");
    assert_int_equal(nr_differences, 0);
    assert_int_equal(nr_walks, 1000);
    assert_int_equal(nr_not_ended + nr_cut, 0);
    assert_true(nr_by_kind[SEEP_RULE_SP] > 1000 && nr_by_kind[SEEP_RULE_BP] > 100 &&
                nr_by_kind[SEEP_RULE_SIGNAL] > 100 && nr_by_kind[SEEP_RULE_END] > 0);
    assert_int_equal(nr_by_kind[SEEP_RULE_SLOW], 0);
    assert_int_equal(nr_by_kind[SEEP_RULE_NO_CFI] + nr_by_kind[SEEP_RULE_BAD], 0);
#ifndef __clang__
    assert_true(nr_by_kind[SEEP_RULE_BP_DEREF] > 100); // clang keeps such frames in another way
#endif
}

static void *thread_main(void *argument) {
    take_trips(2, 100);
    return NULL;
}

static void test_thread(void **state) {
    clear_counts();
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, thread_main, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    print_counts("thread");
    assert_int_equal(nr_differences, 0);
    assert_int_equal(nr_walks, 100);
    assert_int_equal(nr_not_ended + nr_cut, 0);
}

#define NR_TRAPS 20000

static volatile unsigned nr_traps;

static volatile sig_atomic_t enough_traps;

// Compares from the interrupted instruction outward, and from the handler through the signal frame.
static void on_trap(int number, siginfo_t *info, void *argument) {
    ucontext_t *context = argument;
    if (nr_traps++ == NR_TRAPS || enough_traps)
        context->uc_mcontext.gregs[REG_EFL] &= ~0x100ll;
    truth.nr = 0;
    _Unwind_Backtrace(collect, &truth);
    unsigned from = 0;
    while (from < truth.nr && truth.pc[from] != (uint64_t)context->uc_mcontext.gregs[REG_RIP])
        from++;
    walk_steps(regs_of(context, true), &walk);
    compare("step from an instruction", &truth, from, &walk, 0);
    nr_not_ended += walk.end != SEEP_STEP_END;
    check_here();
}

static void test_every_instruction(void **state) {
    clear_counts();
    nr_traps = 0;
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO}, old;
    assert_int_equal(sigaction(SIGTRAP, &action, &old), 0);
    char text[64];
    char *copies[8];
    __asm__ volatile("sub $128, %%rsp; pushf; orl $0x100, (%%rsp); popf; add $128, %%rsp" ::: "memory", "cc");
    for (int i = 0; i < 8; i++) {
        snprintf(text, sizeof(text), "%d %s %g", i, "some text", i / 3.0);
        copies[i] = strdup(text);
    }
    enough_traps = 1; // by the handler: here an instruction would find the stack where no table has it
    for (int i = 0; i < 8; i++)
        free(copies[i]);
    assert_int_equal(sigaction(SIGTRAP, &old, NULL), 0);
    print_counts("every instruction");
    assert_true(nr_traps > 1000);
    assert_int_equal(nr_differences, 0);
    // Some assembly of glibc 2.41 has no call-frame information; it calls nothing.
    assert_true(nr_not_ended <= nr_walks / 100);
    // The lazy resolver of the dynamic linker computes its CFA from rbx; little else does.
    assert_true(nr_cut < nr_walks / 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_chains),
        cmocka_unit_test(test_thread),
        cmocka_unit_test(test_every_instruction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

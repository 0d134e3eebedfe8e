// SPDX-License-Identifier: BSD-2-Clause
//
// What the programs of the corpus share. Each makes blocks whose class is known, then parks where a scan
// looks at it, or looks itself where it was built for LeakSanitizer or Valgrind.
//
//     head->next = make(40); // EXPECT: indirect          every block from this line
//     fill(table);           // EXPECT: 1 lost, 3 indirect
//     // LSAN: 4 held: why LeakSanitizer says so          on the lines after it, where a tool differs
//     // VALGRIND: possible: why Valgrind says so
//     // VALGRIND: maybe possible: why it says so in some runs
//     // TRUTH: held: why no scan can know              or gone, where what is expected is not so in truth
//     // UNALIGNED: reachable                             what the scan says with --unaligned
//
// A block belongs to the innermost line of its stack that expects something, so what a line calls may be
// a function of the program. What is built is a class, not an accident: play() runs a part deep in the
// stack and leaves nothing of it in stack or registers.
#ifndef CORPUS_H
#define CORPUS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef CORPUS_VALGRIND
#include <valgrind/memcheck.h>
#endif

#define NOINLINE __attribute__((noinline))

struct node {
    struct node *a, *b;
};

#ifdef __cplusplus
extern "C"
#endif
    void
    __lsan_do_recoverable_leak_check(void) __attribute__((weak));

// The compiler may not know what becomes of it, so it must be made.
#define KEEP(pointer) __asm__ volatile("" ::"r"(pointer) : "memory")

// A zeroed block.
static inline NOINLINE struct node *make(size_t size) {
    struct node *block = (struct node *)malloc(size);
    if (block)
        memset(block, 0, size);
    KEEP(block);
    return block;
}

static inline NOINLINE void scrub_registers(void) {
#ifdef __x86_64__
    __asm__ volatile("pxor %%xmm0,%%xmm0; pxor %%xmm1,%%xmm1; pxor %%xmm2,%%xmm2; pxor %%xmm3,%%xmm3;"
                     "pxor %%xmm4,%%xmm4; pxor %%xmm5,%%xmm5; pxor %%xmm6,%%xmm6; pxor %%xmm7,%%xmm7;"
                     "pxor %%xmm8,%%xmm8; pxor %%xmm9,%%xmm9; pxor %%xmm10,%%xmm10; pxor %%xmm11,%%xmm11;"
                     "pxor %%xmm12,%%xmm12; pxor %%xmm13,%%xmm13; pxor %%xmm14,%%xmm14; pxor %%xmm15,%%xmm15;"
                     "xor %%eax,%%eax; xor %%ecx,%%ecx; xor %%edx,%%edx; xor %%esi,%%esi; xor %%edi,%%edi;"
                     "xor %%r8d,%%r8d; xor %%r9d,%%r9d; xor %%r10d,%%r10d; xor %%r11d,%%r11d" ::
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                           "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "rax", "rcx", "rdx", "rsi",
                           "rdi", "r8", "r9", "r10", "r11", "memory");
    // The upper parts, and the registers that libc's string functions use; a signal's frame has all of them.
    if (__builtin_cpu_supports("avx"))
        __asm__ volatile("vzeroall" ::: "memory");
    if (__builtin_cpu_supports("avx512f"))
        __asm__ volatile(
            "vpxorq %%zmm16,%%zmm16,%%zmm16; vpxorq %%zmm17,%%zmm17,%%zmm17; vpxorq %%zmm18,%%zmm18,%%zmm18;"
            "vpxorq %%zmm19,%%zmm19,%%zmm19; vpxorq %%zmm20,%%zmm20,%%zmm20; vpxorq %%zmm21,%%zmm21,%%zmm21;"
            "vpxorq %%zmm22,%%zmm22,%%zmm22; vpxorq %%zmm23,%%zmm23,%%zmm23; vpxorq %%zmm24,%%zmm24,%%zmm24;"
            "vpxorq %%zmm25,%%zmm25,%%zmm25; vpxorq %%zmm26,%%zmm26,%%zmm26; vpxorq %%zmm27,%%zmm27,%%zmm27;"
            "vpxorq %%zmm28,%%zmm28,%%zmm28; vpxorq %%zmm29,%%zmm29,%%zmm29; vpxorq %%zmm30,%%zmm30,%%zmm30;"
            "vpxorq %%zmm31,%%zmm31,%%zmm31" ::
                : "memory");
#endif
}

static inline NOINLINE void scrub(void) {
    volatile char room[65536];
    for (size_t i = 0; i < sizeof(room); i++)
        room[i] = 0;
    scrub_registers();
}

static inline NOINLINE void run_deep(void (*part)(void)) {
    volatile char room[4096];
    room[0] = room[4095] = 0;
    part();
    room[1] = 0;
}

static inline NOINLINE void play(void (*part)(void)) {
    run_deep(part);
    scrub();
}

// Who looks from outside waits for this line.
static inline void say_ready(void) {
    char text[32];
    int length = snprintf(text, sizeof(text), "ready %d\n", (int)getpid());
    if (write(STDOUT_FILENO, text, (size_t)length) != length)
        _exit(3);
}

static inline NOINLINE void park_as_it_is(void) {
    // What the compiler knows never to return makes callers give up what they hold beyond the call.
    void (*volatile leave)(int) = _exit;
    volatile int forever = 1;
    (void)leave;
    if (__lsan_do_recoverable_leak_check) {
        __lsan_do_recoverable_leak_check();
        leave(0);
    }
#ifdef CORPUS_VALGRIND
    VALGRIND_DO_LEAK_CHECK;
    VALGRIND_PRINTF("seen\n"); // it looks again at the end
    leave(0);
#endif
    say_ready();
    while (forever)
        pause();
}

// Never returns, but the compiler does not know it.
static inline NOINLINE void park(void) {
    scrub();
    park_as_it_is();
}

#endif

// SPDX-License-Identifier: BSD-2-Clause
// A block that only a vector register holds.
#include "corpus.h"

static NOINLINE void hold_in_register(void) {
    struct node *block = make(40); // EXPECT: reachable
#if defined(__x86_64__) && !defined(CORPUS_VALGRIND)
    if (!__lsan_do_recoverable_leak_check) {
        scrub();
        say_ready();
        uintptr_t inverted = ~(uintptr_t)block;
        block = NULL;
        KEEP(&block);
        scrub();
        __asm__ volatile("mov %0, %%rax; not %%rax; movq %%rax, %%xmm9; xor %%eax, %%eax;"
                         "1: mov $34, %%eax; syscall; jmp 1b" ::"r"(inverted)
                         : "rax", "rcx", "r11", "xmm9", "memory");
    }
#endif
    park();
    KEEP(block);
}

int main(void) {
    hold_in_register();
}

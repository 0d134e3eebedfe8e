// SPDX-License-Identifier: BSD-2-Clause
// A block that a vector register is left with when libc makes a system call: all are the caller's to save.
#include "../corpus/corpus.h"

static NOINLINE void lose(void) {
    struct node *block = make(40); // EXPECT: lost
    say_ready();
    uintptr_t inverted = ~(uintptr_t)block;
    block = NULL;
    KEEP(&block);
    scrub();
    __asm__ volatile("mov %0, %%rax; not %%rax; movq %%rax, %%xmm9; xor %%eax, %%eax" ::"r"(inverted)
                     : "rax", "xmm9", "memory");
    for (;;)
        pause();
}

int main(void) {
    lose();
}

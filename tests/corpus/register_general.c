// SPDX-License-Identifier: BSD-2-Clause
// A block that only a general register holds.
#include "corpus.h"

static NOINLINE void hold_in_register(void) {
    struct node *block = make(40); // EXPECT: reachable
    block->a = make(48);           // EXPECT: reachable
#if defined(__x86_64__) && !defined(CORPUS_VALGRIND)
    if (!__lsan_do_recoverable_leak_check) {
        scrub();
        say_ready();
        // pause() until the end, without the C library: nothing saves the register.
        __asm__ volatile("mov %0, %%rbx; xor %%eax, %%eax; mov %%rax, %0; 1: mov $34, %%eax; syscall; jmp 1b"
                         : "+r"(block)::"rax", "rbx", "rcx", "r11", "memory");
    }
#endif
    park();
    KEEP(block);
}

int main(void) {
    hold_in_register();
}

// SPDX-License-Identifier: BSD-2-Clause
// Words below the stack pointer of a thread in a system call. If a function of libc made the call, they are dead. A
// function of the program that makes the call itself may keep values there.
#include "corpus.h"

#include <pthread.h>

static volatile int is_there;
static struct node *volatile held; // for scans from within the process

static NOINLINE void *hold_below(void *unused) {
    struct node *block = make(40); // EXPECT: reachable
    (void)unused;
#if defined(__x86_64__) && !defined(CORPUS_VALGRIND)
    if (!__lsan_do_recoverable_leak_check) {
        uintptr_t volatile inverted = ~(uintptr_t)block;
        block = NULL;
        KEEP(&block);
        scrub();
        __asm__ volatile("mov %0, %%rax; not %%rax; mov %%rax, -56(%%rsp); xor %%eax, %%eax; movl $1, %1;"
                         "1: mov $34, %%eax; syscall; jmp 1b" ::"r"(inverted),
                         "m"(is_there)
                         : "rax", "rcx", "r11", "memory");
    }
#endif
    held = block;
    is_there = 1;
    for (;;)
        pause();
    return NULL;
}

static NOINLINE void leave_below(void) {
    struct node *block = make(48); // EXPECT: lost
#if defined(__x86_64__) && !defined(CORPUS_VALGRIND)
    if (!__lsan_do_recoverable_leak_check) {
        uintptr_t volatile inverted = ~(uintptr_t)block;
        block = NULL;
        KEEP(&block);
        scrub();
        say_ready();
        scrub();
        // libc's function has no frame: its call is made 8 bytes further down.
        __asm__ volatile(
            "mov %0, %%rax; not %%rax; and $-16, %%rsp; mov %%rax, -48(%%rsp); mov %%rax, -96(%%rsp);"
            "xor %%eax, %%eax; mov $34, %%edi; call *%1; ud2" ::"r"(inverted),
            "r"(syscall)
            : "rax", "rdi", "memory");
    }
#endif
    block = NULL;
    KEEP(&block);
    park();
}

int main(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, hold_below, NULL) != 0) // EXPECT: reachable
        // VALGRIND: possible: the thread's control block points into its own dtv
        return 1;
    while (!is_there)
        ;
    leave_below();
}

// SPDX-License-Identifier: BSD-2-Clause
//
// A function that was called from one stack runs on another, allocates, takes the rights of the first away
// or unmaps it, and goes on to allocate there: its callers' frames cannot be read any more. With a filter of
// system calls, which allows all, before that ("before": before the stacks are mapped). x86-64 only.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *volatile sink;
static char *stacks;
static const size_t one = 1 << 16;
static const char *way = "", *when = "";

// Calls `function` with the stack pointer at `top`, by a frame that leads back; and back(), which never does.
void call_on(void *top, void (*function)(void));
void go_back(void);
__asm__(".text\n"
        ".globl call_on\n.type call_on,@function\ncall_on:\n.cfi_startproc\n"
        "push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset 6,-16\nmov %rsp,%rbp\n.cfi_def_cfa_register 6\n"
        "mov %rdi,%rsp\ncall *%rsi\nmov %rbp,%rsp\npop %rbp\n.cfi_def_cfa 7,8\nret\n.cfi_endproc\n"
        ".size call_on,.-call_on\n");

static __attribute__((noipa)) void work(void) {
    for (int i = 0; i < 4; i++) {
        sink = malloc(100);
        free(sink);
    }
}

static long take_away(void) {
    if (strcmp(way, "protect") == 0)
        return mprotect(stacks + one, one, PROT_NONE);
    return strcmp(way, "call") == 0 ? syscall(SYS_munmap, stacks + one, one) : munmap(stacks + one, one);
}

static bool filter(void) {
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog all = {1, &allow};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) == 0;
}

static void on_second(void) {
    for (int i = 0; i < 300; i++) {
        work();
        if (i == 100 && strcmp(when, "after") == 0 && !filter())
            exit(4);
        if (i == 150 && take_away() != 0)
            exit(3);
    }
    puts("went on");
    exit(0);
}

static void on_first(void) {
    work();
    call_on(stacks + one, on_second);
}

int main(int argc, char **argv) {
    way = argc > 1 ? argv[1] : "";
    when = argc > 2 ? argv[2] : "";
    if (strcmp(when, "before") == 0 && !filter())
        return 4;
    stacks = mmap(NULL, 2 * one, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    call_on(stacks + 2 * one, on_first);
    return 1;
}

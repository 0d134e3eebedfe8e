// SPDX-License-Identifier: BSD-2-Clause
// Closes a library, and then allocates: under a filter of system calls, or with code in anonymous memory.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

extern char etext;

__attribute__((noinline)) static void *hold(void) {
    char used[200];
    memset(used, 1, sizeof(used));
    __asm__ volatile("" ::"r"(used) : "memory");
    void *volatile block = malloc(3005);
    return block;
}

static int filter(void) {
    struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {1, all};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

// As programs do that want their code in large pages.
static int move_code(void) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)&hold & -page;
    size_t bytes = (((uintptr_t)&etext + page - 1) & -page) - start;
    void *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(copy, (void *)start, bytes);
    return mprotect(copy, bytes, PROT_READ | PROT_EXEC) ||
           mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)start) == MAP_FAILED;
}

int main(int argc, char **argv) {
    if (strcmp(argv[1], "filtered") == 0 ? filter() : move_code())
        return 1;
    void *library = dlopen(argv[2], RTLD_NOW);
    if (!library || dlclose(library) != 0)
        return 2;
    return hold() ? 0 : 3;
}

// SPDX-License-Identifier: BSD-2-Clause
// Allocates while each system call from outside libc raises SIGSYS (syscall user dispatch), which the program counts. CALL:
// by syscall(), else by prctl().
#define _GNU_SOURCE
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DISPATCH = 59, OFF, ON, BLOCKS = 20000, BYTES = 1 << 20 }; // of linux/prctl.h

struct range {
    uintptr_t start, bytes;
};

static volatile char blocks_calls;
static volatile sig_atomic_t nr_caught;

// To leave, the handler needs a call itself.
static void caught(int number) {
    (void)number;
    blocks_calls = 0;
    nr_caught++;
}

static int find_libc(struct dl_phdr_info *library, size_t bytes, void *range) {
    (void)bytes;
    for (int i = 0; strstr(library->dlpi_name, "libc.so") && i < library->dlpi_phnum; i++)
        if (library->dlpi_phdr[i].p_type == PT_LOAD && library->dlpi_phdr[i].p_flags & PF_X)
            *(struct range *)range = (struct range){library->dlpi_addr + library->dlpi_phdr[i].p_vaddr,
                                                    library->dlpi_phdr[i].p_memsz};
    return 0;
}

static long set(long how, const struct range *libc) {
#ifdef CALL
    return syscall(SYS_prctl, DISPATCH, how == ON, libc->start, libc->bytes,
                   how == ON ? &blocks_calls : NULL);
#else
    return prctl(DISPATCH, how == ON, libc->start, libc->bytes, how == ON ? &blocks_calls : NULL);
#endif
}

int main(void) {
    static void *blocks[BLOCKS];
    struct range libc = {0, 0}, none = {0, 0};
    dl_iterate_phdr(find_libc, &libc);
    signal(SIGSYS, caught);
    if (!libc.bytes || set(ON, &libc))
        return 77;
    for (int i = 0; i < 2; i++) { // the second time, stacks and pages are known
        blocks_calls = 1;
        for (int j = 0; j < BLOCKS; j++)
            blocks[j] = malloc(100);
        void *mapping = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        munmap(mapping, BYTES);
        blocks_calls = 0;
        for (int j = 0; j < BLOCKS; j++)
            free(blocks[j]);
    }
    set(OFF, &none);
    printf("%d\n", (int)nr_caught);
    return 0;
}

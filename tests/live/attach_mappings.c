// SPDX-License-Identifier: BSD-2-Clause
// Waits for a line on its input, maps and touches memory in known ways, says "done", waits for another line.
//
// Left: 80 pages in two pieces of 100 mapped ones, 40 of them touched; 8 pages by sbrk, touched; a huge page, if
// the machine gives one; 5 blocks of 300 KiB, which malloc maps for itself. Unmapped: 16 and 4 pages of the 100;
// 24 pages that were touched, and dropped by madvise; 10 pages that became 16.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096u
#define HUGE (2u << 20)

static void *volatile kept;

__attribute__((noinline)) static char *map(size_t nr_pages) {
    char *start = mmap(NULL, nr_pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    kept = start;
    return start;
}

__attribute__((noinline)) static void touch(char *start, size_t nr_pages) {
    for (volatile size_t i = 0; i < nr_pages; i++)
        ((volatile char *)start)[i * PAGE] = 1;
}

__attribute__((noinline)) static void touch_and_drop(char *start, size_t nr_pages) {
    for (volatile size_t i = 0; i < nr_pages; i++)
        ((volatile char *)start)[i * PAGE] = 1;
    if (madvise(start, nr_pages * PAGE, MADV_DONTNEED) != 0)
        abort();
}

__attribute__((noinline)) static void grow_break(void) {
    volatile char *start = sbrk(8 * PAGE);
    for (volatile size_t i = 0; i < 8; i++)
        start[i * PAGE] = 1;
}

__attribute__((noinline)) static void touch_huge(char *start) {
    *(volatile char *)start = 1;
}

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    setvbuf(stdin, NULL, _IONBF, 0);
    kept = malloc(1); // the heap's own first mapping is made by now
    if (getchar() == EOF)
        return 1;
    char *start = map(100);
    touch(start, 40);
    touch_and_drop(start + 60 * PAGE, 24);
    munmap(start + 84 * PAGE, 16 * PAGE);
    munmap(start + 60 * PAGE, 4 * PAGE);
    start = mremap(map(10), 10 * PAGE, 16 * PAGE, MREMAP_MAYMOVE);
    munmap(start, 16 * PAGE);
    grow_break();
    char *huge = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    huge = (char *)(((uintptr_t)huge + HUGE - 1) & ~(uintptr_t)(HUGE - 1));
    madvise(huge, HUGE, MADV_HUGEPAGE);
    touch_huge(huge);
    for (size_t i = 0; i < 5; i++)
        kept = malloc(300 << 10);
    puts("done");
    getchar();
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
//
// What programs rely on in malloc and its family, one case a line: whether there is a block, how it is
// aligned, whether errno was left alone or what it says, what the block holds, how much of it may be used.
// Under seep every line must be what it is without. Exits with 0: what is right is the allocator's business.
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNTOUCHED 4711

// musl has none; where there is one that this allocator does not know, its blocks are not freed.
extern void *pvalloc(size_t size) __attribute__((weak));

static volatile size_t none = 0; // what the compiler must not see through
static volatile size_t most = SIZE_MAX;

static const char *errno_text(int error) {
    static char text[32];
    if (error == UNTOUCHED)
        return "untouched";
    if (error == ENOMEM)
        return "ENOMEM";
    if (error == EINVAL)
        return "EINVAL";
    snprintf(text, sizeof(text), "%d", error);
    return text;
}

// The largest power of two up to 64 KiB that every block of this size must have: what is asked for.
static const char *aligned_text(const void *block, size_t alignment) {
    return (uintptr_t)block % alignment ? "no" : "yes";
}

static void show(const char *what, void *block, size_t size, size_t alignment, int error) {
    if (!block) {
        printf("%-40s NULL errno %s\n", what, errno_text(error));
        return;
    }
    size_t usable = malloc_usable_size(block);
    printf("%-40s block errno %s, aligned to %zu %s, usable %zu %s\n", what, errno_text(error), alignment,
           aligned_text(block, alignment), usable, usable >= size ? "enough" : "TOO LITTLE");
    memset(block, 0x5a, usable);
}

static void give_back(const char *what, void *block) {
    errno = UNTOUCHED;
    free(block);
    printf("%-40s errno %s\n", what, errno_text(errno));
}

// One case: the call, what it is expected to hold and how aligned it must be; then it is freed.
#define TRY(what, call, size, alignment)                                                                     \
    do {                                                                                                     \
        errno = UNTOUCHED;                                                                                   \
        void *block_ = (call);                                                                               \
        show(what, block_, size, alignment, errno);                                                          \
        give_back("  free", block_);                                                                         \
    } while (0)

static void plain(void) {
    static const size_t sizes[] = {0,      1,      7,      8,       15,      16,      17,   24,
                                   25,     31,     32,     33,      63,      64,      100,  127,
                                   128,    129,    1000,   1032,    4095,    4096,    4097, 65536,
                                   131071, 131072, 200000, 1 << 20, 5 << 20, 40 << 20};
    char what[64];
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        snprintf(what, sizeof(what), "malloc(%zu)", sizes[i]);
        TRY(what, malloc(sizes[i]), sizes[i], sizes[i] >= 16 ? 16 : 8);
    }
    void *a = malloc(none), *b = malloc(none);
    printf("two blocks of size 0 %s\n", a != b ? "differ" : "are the same");
    free(a);
    free(b);
    TRY("malloc(PTRDIFF_MAX)", malloc(most / 2), 0, 16);
    TRY("malloc(PTRDIFF_MAX + 1)", malloc(most / 2 + 1), 0, 16);
    TRY("malloc(SIZE_MAX)", malloc(most), 0, 16);
    TRY("malloc(SIZE_MAX - 15)", malloc(most - 15), 0, 16);
    TRY("malloc(1 << 60)", malloc((size_t)1 << 60), 0, 16);
    give_back("free(NULL)", NULL);
    errno = UNTOUCHED;
    size_t usable = malloc_usable_size(NULL);
    printf("%-40s %zu errno %s\n", "malloc_usable_size(NULL)", usable, errno_text(errno));
}

static void zeroed(void) {
    static const size_t cases[][2] = {{0, 0}, {0, 8},      {8, 0},       {1, 1},
                                      {3, 9}, {1000, 100}, {1, 3 << 20}, {7, 65536}};
    char what[64];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t bytes = cases[i][0] * cases[i][1];
        void *dirty = malloc(bytes);
        memset(dirty, 0xff, bytes);
        free(dirty);
        errno = UNTOUCHED;
        unsigned char *block = calloc(cases[i][0], cases[i][1]);
        int error = errno;
        size_t others = 0;
        for (size_t at = 0; block && at < bytes; at++)
            others += block[at] != 0;
        printf("calloc(%zu, %zu): %zu bytes are not 0\n", cases[i][0], cases[i][1], others);
        snprintf(what, sizeof(what), "calloc(%zu, %zu)", cases[i][0], cases[i][1]);
        show(what, block, bytes, bytes >= 16 ? 16 : 8, error);
        give_back("  free", block);
    }
    TRY("calloc(SIZE_MAX, 2)", calloc(most, 2), 0, 16);
    TRY("calloc(2, SIZE_MAX)", calloc(2, most), 0, 16);
    TRY("calloc(1 << 33, 1 << 33)", calloc((size_t)1 << 33, (size_t)1 << 33), 0, 16);
    TRY("calloc(SIZE_MAX / 2 + 1, 2)", calloc(most / 2 + 1, 2), 0, 16);
    TRY("calloc(1, PTRDIFF_MAX)", calloc(1, most / 2), 0, 16);
    TRY("calloc(0, SIZE_MAX)", calloc(none, most), 0, 8);
    TRY("calloc(SIZE_MAX, 0)", calloc(most, none), 0, 8);
}

static int holds(const unsigned char *block, size_t nr, int byte) {
    for (size_t i = 0; i < nr; i++)
        if (block[i] != byte)
            return 0;
    return 1;
}

static void resized(void) {
    static const size_t steps[] = {1, 100, 10, 5000, 200000, 300, 3 << 20, 9 << 20, 64, 24, 1};
    unsigned char *block = malloc(40);
    memset(block, 0x11, 40);
    size_t known = 40;
    char what[64];
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        errno = UNTOUCHED;
        unsigned char *moved = realloc(block, steps[i]);
        int error = errno;
        size_t kept = known < steps[i] ? known : steps[i];
        printf("realloc to %zu: content %s\n", steps[i], holds(moved, kept, 0x11) ? "kept" : "LOST");
        snprintf(what, sizeof(what), "realloc(%zu -> %zu)", known, steps[i]);
        show(what, moved, steps[i], 8, error);
        memset(moved, 0x11, steps[i]);
        block = moved;
        known = steps[i];
    }
    free(block);
    TRY("realloc(NULL, 0)", realloc(NULL, none), 0, 8);
    TRY("realloc(NULL, 50)", realloc(NULL, 50), 50, 16);
    TRY("realloc(NULL, SIZE_MAX)", realloc(NULL, most), 0, 16);
    block = malloc(100);
    memset(block, 0x22, 100);
    static const char *const names[] = {"realloc(p, SIZE_MAX)", "realloc(p, PTRDIFF_MAX)",
                                        "realloc(p, 1 << 60)"};
    const size_t huge[] = {most, most / 2, (size_t)1 << 60};
    for (int i = 0; i < 3; i++) {
        errno = UNTOUCHED;
        void *moved = realloc(block, huge[i]);
        show(names[i], moved, 0, 16, errno);
        printf("  the block %s\n", !moved && holds(block, 100, 0x22) ? "is as it was" : "IS GONE");
    }
    // NULL: there is no block any more (C17 7.22.3.5); else the block is freed here.
    errno = UNTOUCHED;
    void *nothing = realloc(block, none);
    show("realloc(p, 0)", nothing, 0, 8, errno);
    give_back("  free", nothing);
    for (int i = 0; i < 3; i++) {
        void *small = malloc(1000), *again = realloc(small, none);
        printf("realloc(malloc(1000), 0) again: %s\n", again ? "block" : "NULL");
        free(again);
    }
}

static void arrays(void) {
    TRY("reallocarray(NULL, 0, 0)", reallocarray(NULL, none, none), 0, 8);
    TRY("reallocarray(NULL, 3, 9)", reallocarray(NULL, 3, 9), 27, 16);
    TRY("reallocarray(NULL, SIZE_MAX, 2)", reallocarray(NULL, most, 2), 0, 16);
    TRY("reallocarray(NULL, 1, PTRDIFF_MAX)", reallocarray(NULL, 1, most / 2), 0, 16);
    unsigned char *block = malloc(60);
    memset(block, 0x33, 60);
    errno = UNTOUCHED;
    void *moved = reallocarray(block, (size_t)1 << 33, (size_t)1 << 33);
    show("reallocarray(p, 1 << 33, 1 << 33)", moved, 0, 16, errno);
    printf("  the block %s\n", !moved && holds(block, 60, 0x33) ? "is as it was" : "IS GONE");
    errno = UNTOUCHED;
    block = reallocarray(block, 50, 40);
    printf("reallocarray(p, 50, 40): content %s\n", holds(block, 60, 0x33) ? "kept" : "LOST");
    show("reallocarray(p, 50, 40)", block, 2000, 16, errno);
    free(block);
}

static void posix(size_t alignment, size_t size) {
    void *const before = (void *)0x1234;
    void *block = before;
    char what[80];
    errno = UNTOUCHED;
    int result = posix_memalign(&block, alignment, size);
    snprintf(what, sizeof(what), "posix_memalign(%zu, %zu) %s", alignment, size,
             errno_text(result ? result : UNTOUCHED));
    if (result)
        printf("%s errno %s, pointer %s\n", what, errno_text(errno),
               block == before ? "untouched" : "CHANGED");
    else
        show(what, block, size, alignment, errno);
    if (!result)
        give_back("  free", block);
}

static void aligned(void) {
    static const size_t sizes[] = {0, 1, 24, 100, 4096, 5000, 1 << 20};
    char what[64];
    for (size_t alignment = 8; alignment <= 1 << 16; alignment *= 2) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            posix(alignment, sizes[i]);
            snprintf(what, sizeof(what), "aligned_alloc(%zu, %zu)", alignment, sizes[i]);
            TRY(what, aligned_alloc(alignment, sizes[i]), sizes[i], alignment);
            snprintf(what, sizeof(what), "memalign(%zu, %zu)", alignment, sizes[i]);
            TRY(what, memalign(alignment, sizes[i]), sizes[i], alignment);
        }
    }
    posix(0, 100);
    posix(1, 100);
    posix(4, 100);
    posix(12, 100);
    posix(24, 100);
    posix(48, 100);
    posix((size_t)1 << 20, 100);
    posix(16, most);
    posix(4096, most / 2);
    posix(4096, most - 4096);
    posix(most / 2 + 1, 100);
}

// Asked for wrongly: each allocator has its own answer, and some allocators round up.
static void aligned_badly(void) {
    static const size_t alignments[] = {1, 2, 3, 4, 12, 24, 40, 100};
    char what[64];
    for (size_t i = 0; i < sizeof(alignments) / sizeof(alignments[0]); i++) {
        snprintf(what, sizeof(what), "aligned_alloc(%zu, 70)", alignments[i]);
        TRY(what, aligned_alloc(alignments[i], 70), 70, 8);
        snprintf(what, sizeof(what), "memalign(%zu, 70)", alignments[i]);
        TRY(what, memalign(alignments[i], 70), 70, 8);
    }
    TRY("aligned_alloc(64, SIZE_MAX)", aligned_alloc(64, most), 0, 64);
    TRY("aligned_alloc(64, PTRDIFF_MAX)", aligned_alloc(64, most / 2), 0, 64);
    TRY("memalign(64, SIZE_MAX)", memalign(64, most), 0, 64);
    TRY("memalign(64, PTRDIFF_MAX)", memalign(64, most / 2), 0, 64);
}

static void pages(void) {
    TRY("valloc(0)", valloc(none), 0, 4096);
    TRY("valloc(1)", valloc(1), 1, 4096);
    TRY("valloc(5000)", valloc(5000), 5000, 4096);
    TRY("valloc(SIZE_MAX)", valloc(most), 0, 4096);
    if (!getenv("OWN_PVALLOC") || !pvalloc) {
        puts("pvalloc: not this allocator's");
        return;
    }
    TRY("pvalloc(0)", pvalloc(none), 0, 4096);
    TRY("pvalloc(1)", pvalloc(1), 4096, 4096);
    TRY("pvalloc(5000)", pvalloc(5000), 8192, 4096);
    TRY("pvalloc(SIZE_MAX)", pvalloc(most), 0, 4096);
}

int main(void) {
    static char buffer[1 << 16]; // stdio's own would be a block among ours
    setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
    plain();
    zeroed();
    resized();
    arrays();
    aligned();
    if (!getenv("ONLY_RIGHT"))
        aligned_badly();
    pages();
    return 0;
}

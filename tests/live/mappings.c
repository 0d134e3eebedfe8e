// SPDX-License-Identifier: BSD-2-Clause
//
// Maps, splits, trims, moves and unmaps memory in every way there is, and checks what the program
// itself must see. test_mappings.py knows what is left of it. Prints the page size.
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                          \
            _Exit(99);                                                                                       \
        }                                                                                                    \
    } while (0)
#if defined(__clang__)
#define APART static __attribute__((noinline))
#else
#define APART static __attribute__((noipa))
#endif

static size_t page;

static char *anonymous(size_t nr_pages) {
    char *at = mmap(NULL, nr_pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    memset(at, 7, nr_pages * page);
    return at;
}

APART void split(void) { // 10 pages: 3 and 4 are left
    char *at = anonymous(10);
    CHECK(munmap(at + 3 * page, 2 * page) == 0);
    CHECK(munmap(at + 9 * page, 1) == 0); // rounds up
    CHECK(at[0] == 7 && at[5 * page] == 7 && at[9 * page - 1] == 7);
}

APART void trim(void) { // 10 pages: 5 are left, in one
    char *at = anonymous(10);
    CHECK(munmap(at, 2 * page) == 0);
    CHECK(munmap(at + 7 * page, 3 * page) == 0);
}

APART void over_several(void) { // nothing is left of three mappings: one call
    char *at = mmap(NULL, 9 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    for (int i = 0; i < 3; i++)
        CHECK(mmap(at + i * 3 * page, 3 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
              at + i * 3 * page);
    CHECK(munmap(at, 9 * page) == 0);
}

APART void grow(void) { // 4 pages become 64, then 8; shrinking leaves them where they are
    char *at = anonymous(4);
    at = mremap(at, 4 * page, 64 * page, MREMAP_MAYMOVE);
    CHECK(at != MAP_FAILED && at[0] == 7);
    CHECK(mremap(at, 64 * page, 8 * page, 0) == at);
}

APART void move(void) { // 2 pages, moved to where others were
    char *to = anonymous(2);
    char *from = anonymous(2);
    from[0] = 9;
    CHECK(mremap(from, 2 * page, 2 * page, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
    CHECK(to[0] == 9);
}

APART void twice(void) { // old_size 0: 3 pages of shared memory, at two places
    char *at = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    at[0] = 5;
    char *again = mremap(at, 0, 3 * page, MREMAP_MAYMOVE);
    CHECK(again != MAP_FAILED && again != at && again[0] == 5);
}

APART void file(void) { // a page and a bit of the program itself: 2 pages
    FILE *self = fopen("/proc/self/exe", "rb");
    CHECK(self);
    CHECK(mmap64(NULL, page + 1, PROT_READ, MAP_PRIVATE, fileno(self), 0) != MAP_FAILED);
    fclose(self);
}

APART void failing(void) { // changes nothing, and errno is the kernel's
    errno = 0;
    CHECK(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);
    errno = 0;
    CHECK(mmap(NULL, page, PROT_READ, MAP_PRIVATE, -1, 0) == MAP_FAILED && errno == EBADF);
    errno = 0;
    CHECK(munmap((void *)1, page) == -1 && errno == EINVAL);
    errno = 0;
    CHECK(mremap((void *)(page * 16), page, 2 * page, 0) == MAP_FAILED && errno == EFAULT);
    errno = 17;
    void *at = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED && munmap(at, page) == 0 && errno == 17);
}

APART void move_break(void) { // 300 bytes are left of sbrk, 4,096 of brk
    CHECK(sbrk(0) != (void *)-1);
    char *first = sbrk(200);
    CHECK(sbrk(200) == first + 200);
    CHECK(sbrk(-100) == first + 400);
    CHECK(sbrk(0) == first + 300);
    CHECK(brk(first + 300 + 8192) == 0);
    CHECK(brk(first + 300 + 4096) == 0);
    errno = 0;
    CHECK(sbrk(INTPTR_MAX) == (void *)-1 && errno == ENOMEM);
}

int main(int argc, char **argv) {
    page = (size_t)sysconf(_SC_PAGESIZE);
    if (argc > 1 && strcmp(argv[1], "many") == 0) { // more than the table holds, were they kept
        for (int i = 0; i < 100000; i++)
            CHECK(munmap(anonymous(1), page) == 0);
        return 0;
    }
    free(malloc(100)); // the heap is there before the break is looked at
    split();
    trim();
    over_several();
    grow();
    move();
    twice();
    file();
    failing();
    move_break();
    printf("%zu\n", page);
    return 0;
}

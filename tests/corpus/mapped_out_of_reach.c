// SPDX-License-Identifier: BSD-2-Clause
// Memory that the program has put out of its own reach for a while (PROT_NONE) still holds what it held.
#include "corpus.h"
#include <sys/mman.h>

static NOINLINE struct node **map(size_t bytes, int flags) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        _exit(3);
    return (struct node **)memory;
}

static void sealed(void) {
    struct node **large = map(1 << 20, MAP_PRIVATE);
    large[70000] = make(40); // EXPECT: reachable
    // VALGRIND: lost: it takes only writable memory as roots
    // LSAN: lost: it takes no mapping of the program as a root unless told to
    mprotect(large, 1 << 20, PROT_NONE);
    struct node **small = map(8192, MAP_PRIVATE);
    small[600] = make(48); // EXPECT: reachable
    // VALGRIND: lost: as above
    // LSAN: lost: as above
    mprotect(small, 8192, PROT_NONE);
    struct node **write_only = map(8192, MAP_PRIVATE);
    write_only[600] = make(56); // EXPECT: reachable
    // VALGRIND: lost: it takes only what can be read
    // LSAN: lost: as above
    mprotect(write_only, 8192, PROT_WRITE);
}

static void shared(void) {
    struct node **memory = map(1 << 20, MAP_SHARED);
    memory[7000] = make(64); // EXPECT: reachable
    // VALGRIND: lost: it takes only writable memory as roots
    // LSAN: lost: as above
    mprotect(memory, 1 << 20, PROT_NONE);
}

static void part_of_much(void) {
    const size_t much = (size_t)1 << 33;
    struct node **memory = map(much, MAP_PRIVATE);
    struct node **part = memory + much / 2 / sizeof(*memory);
    part[9] = make(72); // EXPECT: reachable
    // VALGRIND: lost: as above
    // LSAN: lost: as above
    mprotect(memory, much, PROT_NONE);
}

static void thrown_away(void) {
    struct node **emptied = map(8192, MAP_PRIVATE);
    emptied[5] = make(80); // EXPECT: lost
    madvise(emptied, 8192, MADV_DONTNEED);
    mprotect(emptied, 8192, PROT_NONE);
}

int main(void) {
    play(sealed);
    play(shared);
    play(part_of_much);
    play(thrown_away);
    park();
}

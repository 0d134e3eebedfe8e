// SPDX-License-Identifier: BSD-2-Clause
// Memory out of the program's reach for a while, or made read-only or executable, still holds what it held.
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

// What a just-in-time compiler does.
static void code(void) {
    struct node **made = map(8192, MAP_PRIVATE);
    made[3] = make(88); // EXPECT: reachable
    // VALGRIND: lost: it takes only writable memory as roots
    // LSAN: lost: as above
    mprotect(made, 8192, PROT_READ | PROT_EXEC);
    struct node **only = map(8192, MAP_PRIVATE);
    only[3] = make(96); // EXPECT: reachable
    // VALGRIND: lost: as above
    // LSAN: lost: as above
    mprotect(only, 8192, PROT_EXEC);
    struct node **all = map(8192, MAP_PRIVATE);
    all[3] = make(104); // EXPECT: reachable
    // LSAN: lost: as above
    mprotect(all, 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
}

static void shared_read_only(void) {
    int file = memfd_create("pool", 0);
    if (file < 0 || ftruncate(file, 8192))
        _exit(3);
    struct node **memory = (struct node **)mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    memory[3] = make(112); // EXPECT: reachable
    // VALGRIND: lost: it takes only writable memory as roots
    // LSAN: lost: as above
    mprotect(memory, 8192, PROT_READ);
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
    play(code);
    play(shared_read_only);
    play(part_of_much);
    play(thrown_away);
    park();
}

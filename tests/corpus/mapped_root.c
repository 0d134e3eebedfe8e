// SPDX-License-Identifier: BSD-2-Clause
// Memory that the program mapped itself, private and shared, is a root.
#include "corpus.h"
#include <sys/mman.h>

static NOINLINE struct node **map(size_t bytes, int flags) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        _exit(3);
    return (struct node **)memory;
}

static void held(void) {
    map(1 << 20, MAP_PRIVATE)[70000] = make(40); // EXPECT: reachable
    // LSAN: lost: it takes no mapping of the program as a root unless told to
    struct node **table = map(8192, MAP_PRIVATE);
    table[3] = make(48); // EXPECT: reachable
    // LSAN: lost: as above
    table[3]->a = make(56); // EXPECT: reachable
    // LSAN: indirect: as above
    map(8192, MAP_SHARED)[9] = make(64); // EXPECT: reachable
    // LSAN: lost: as above
}

static void unmapped(void) {
    struct node **gone = map(8192, MAP_PRIVATE);
    gone[5] = make(72); // EXPECT: lost
    munmap(gone, 8192);
}

static void thrown_away(void) {
    struct node **emptied = map(8192, MAP_PRIVATE);
    emptied[5] = make(80); // EXPECT: lost
    madvise(emptied, 8192, MADV_DONTNEED);
}

static void read_only(void) {
    struct node **sealed = map(8192, MAP_PRIVATE);
    sealed[5] = make(88); // EXPECT: reachable
    // VALGRIND: lost: it takes only writable memory as roots
    // LSAN: lost: it takes no mapping of the program as a root unless told to
    mprotect(sealed, 8192, PROT_READ);
}

int main(void) {
    play(held);
    play(unmapped);
    play(thrown_away);
    play(read_only);
    park();
}

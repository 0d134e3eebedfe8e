// SPDX-License-Identifier: BSD-2-Clause
// A private mapping of a file, changed by the program, is a root; so is memory with a name.
#include "corpus.h"
#include <sys/mman.h>

static void build(void) {
    int file = memfd_create("corpus", 0);
    if (file < 0 || ftruncate(file, 8192))
        _exit(3);
    struct node **shared = (struct node **)mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    struct node **private = (struct node **)mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    shared[10] = make(40); // EXPECT: reachable
    // LSAN: lost: it takes no mapping of the program as a root unless told to
    private[1000] = make(48); // EXPECT: reachable
    // LSAN: lost: it takes no mapping of the program as a root unless told to
}

int main(void) {
    play(build);
    park();
}

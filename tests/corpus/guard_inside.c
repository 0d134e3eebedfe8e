// SPDX-License-Identifier: BSD-2-Clause
// A page without access in the middle of global variables, as a program puts one behind a buffer: what stands before
// and behind it holds.
#include "corpus.h"
#include <sys/mman.h>

enum { PAGE = 4096 };

__attribute__((aligned(4096))) struct node *table[3 * PAGE / sizeof(void *)];

static void build(void) {
    table[0] = make(40);                            // EXPECT: reachable
    table[PAGE / sizeof(void *) - 1] = make(48);    // EXPECT: reachable
    table[2 * PAGE / sizeof(void *)] = make(56);    // EXPECT: reachable
    table[2 * PAGE / sizeof(void *)]->a = make(64); // EXPECT: reachable
    make(72);                                       // EXPECT: lost
    // LSAN: held: its scan reads the page without access, and ends with a fault
    if (mprotect((char *)table + PAGE, PAGE, PROT_NONE))
        _exit(3);
}

int main(void) {
    play(build);
    park();
}

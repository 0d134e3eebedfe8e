// SPDX-License-Identifier: BSD-2-Clause
// 32-bit offsets from the start of an arena in place of pointers, as in V8 and the JVM.
#include "corpus.h"

char *heap_base;
uint32_t first;

static void build(void) {
    heap_base = (char *)make(64);     // EXPECT: reachable
    struct node *far_away = make(80); // EXPECT: lost
    // TRUTH: held: only the program knows what to add
    first = (uint32_t)((char *)far_away - heap_base);
    far_away->a = make(80); // EXPECT: indirect
    // TRUTH: held: as above
}

int main(void) {
    play(build);
    park();
}

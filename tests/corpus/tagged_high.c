// SPDX-License-Identifier: BSD-2-Clause
// Tags in the unused high bits of pointers (NaN boxing, versions against ABA): no address any more.
#include "corpus.h"

uint64_t values[3];

static void build(void) {
    values[0] = (uintptr_t)make(32) | UINT64_C(0xfff8) << 48; // EXPECT: lost
    // TRUTH: held: only the program knows which bits are the address
    struct node *object = make(32); // EXPECT: lost
    // TRUTH: held: as above
    object->a = make(40); // EXPECT: indirect
    // TRUTH: held: as above
    values[1] = (uintptr_t)object | UINT64_C(1) << 62;
    values[2] = (uintptr_t)make(48); // EXPECT: reachable
}

int main(void) {
    play(build);
    park();
}

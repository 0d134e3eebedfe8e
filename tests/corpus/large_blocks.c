// SPDX-License-Identifier: BSD-2-Clause
// Blocks with a mapping of their own: held, holding from their far end, dropped.
#include "corpus.h"

struct node *large;

static void held(void) {
    large = make(8 << 20);           // EXPECT: reachable
    large[500000].b = make(40);      // EXPECT: reachable
    large[1].a = make(4 << 20);      // EXPECT: reachable
    large[1].a[200000].a = make(48); // EXPECT: reachable
}

static void dropped(void) {
    struct node *lost = make(2 << 20); // EXPECT: lost
    lost[100000].a = make(56);         // EXPECT: indirect
}

static void freed(void) {
    struct node *gone = make(2 << 20);
    gone[70000].a = make(64); // EXPECT: lost
    free(gone);
}

int main(void) {
    play(held);
    play(dropped);
    play(freed);
    park();
}

// SPDX-License-Identifier: BSD-2-Clause
// The stack holds what its live frames hold, and nothing of those that were left.
#include "corpus.h"

struct on_stack {
    struct node *volatile block;
    struct node *array[10];
};

static NOINLINE void left(void) {
    struct on_stack local = {make(32), {NULL}}; // EXPECT: lost
    KEEP(&local);
}

static NOINLINE void deeper(int depth) {
    struct on_stack local = {make(40), {NULL}}; // EXPECT: 5 reachable
    local.array[7] = make(48);                  // EXPECT: 5 reachable
    local.array[7]->a = make(56);               // EXPECT: 5 reachable
    KEEP(&local);
    if (depth)
        deeper(depth - 1);
    else {
        play(left);
        park();
    }
    KEEP(&local);
}

int main(void) {
    struct node *volatile of_main = make(64);     // EXPECT: reachable
    struct node *volatile overwritten = make(72); // EXPECT: lost
    overwritten = of_main;
    scrub();
    KEEP(&overwritten);
    deeper(4);
}

// SPDX-License-Identifier: BSD-2-Clause
// Binary trees: held by the root, dropped, and a branch cut off.
#include "corpus.h"

struct node *root;

static NOINLINE struct node *grow(int depth, size_t size) {
    struct node *node = make(size);
    if (depth > 1) {
        node->a = grow(depth - 1, size);
        node->b = grow(depth - 1, size);
    }
    return node;
}

static void held(void) {
    root = grow(4, 24); // EXPECT: 15 reachable
}

static void dropped(void) {
    KEEP(grow(4, 40)); // EXPECT: 1 lost, 14 indirect
}

static void branch_cut(void) {
    struct node *tree = grow(3, 56); // EXPECT: 4 reachable, 1 lost, 2 indirect
    root->a->a->a->a = tree;
    tree->b = NULL;
}

int main(void) {
    play(held);
    play(dropped);
    play(branch_cut);
    park();
}

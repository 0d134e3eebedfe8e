// SPDX-License-Identifier: BSD-2-Clause
// Trees with pointers to the parent: any leaf that is held holds the whole tree.
#include "corpus.h"

struct branch {
    struct branch *parent, *left, *right;
};

struct branch *leaf;

static NOINLINE struct branch *grow(struct branch *parent, int depth) {
    struct branch *branch = (struct branch *)make(sizeof(*branch));
    branch->parent = parent;
    if (depth > 1) {
        branch->left = grow(branch, depth - 1);
        branch->right = grow(branch, depth - 1);
    }
    return branch;
}

static void held(void) {
    leaf = grow(NULL, 4)->left->right->left; // EXPECT: 15 reachable
}

static void dropped(void) {
    KEEP(grow(NULL, 4)); // EXPECT: 1 lost, 14 indirect
    // LSAN: 15 indirect: of a ring of lost blocks it calls all indirect, for each has one that points to it
}

int main(void) {
    play(held);
    play(dropped);
    park();
}

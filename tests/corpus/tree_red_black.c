// SPDX-License-Identifier: BSD-2-Clause
// The colour of a tree node in the lowest bit of its parent pointer: a link between nodes holds.
#include "corpus.h"

struct branch {
    uintptr_t parent_and_colour;
    struct branch *left, *right;
};

struct branch *root, *leaf;

static NOINLINE struct branch *under(struct branch *parent) {
    struct branch *branch = (struct branch *)make(sizeof(*branch));
    branch->parent_and_colour = (uintptr_t)parent | 1;
    return branch;
}

static void from_the_root(void) {
    root = under(NULL);       // EXPECT: reachable
    root->left = under(root); // EXPECT: reachable
}

static void from_a_leaf(void) {
    struct branch *top = under(NULL); // EXPECT: reachable
    // VALGRIND: possible: it does not know the mark
    top->left = under(top);  // EXPECT: reachable
    top->right = under(top); // EXPECT: reachable
    // VALGRIND: possible: as above
    leaf = top->left;
}

int main(void) {
    play(from_the_root);
    play(from_a_leaf);
    park();
}

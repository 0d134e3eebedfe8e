// SPDX-License-Identifier: BSD-2-Clause
//
// Blocks whose holders and retained bytes are written beside them, for readers of heap snapshots. Waits to be
// killed, when it has written a line.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

struct pair {
    void *left;
    void *right;
};

struct pair *tree;     // retains 16 + 16 + 1000 + 2000: its halves, and what only the right one holds
void *shared_by_two;   // 3000, held by itself and by the tree: neither retains it
static uintptr_t mask; // 16 + 5000 are lost, the 5000 because only the 16 point to them

NOINLINE static void *leaf_of_left(void) {
    return calloc(1, 1000);
}

NOINLINE static void *leaf_of_right(void) {
    return calloc(1, 2000);
}

NOINLINE static void *leaf_of_both(void) {
    return calloc(1, 3000);
}

NOINLINE static void *leaf_that_is_lost(void) {
    return calloc(1, 5000);
}

NOINLINE static struct pair *join(void *left, void *right) {
    struct pair *pair = calloc(1, sizeof(*pair));
    pair->left = left;
    pair->right = right;
    return pair;
}

NOINLINE static void lose(void) {
    struct pair *pair = calloc(1, sizeof(*pair));
    pair->left = leaf_that_is_lost();
    pair->right = shared_by_two;
    mask = ~(uintptr_t)pair;
}

NOINLINE static void build(void) {
    shared_by_two = leaf_of_both();
    tree = join(leaf_of_left(), join(shared_by_two, leaf_of_right()));
    lose();
}

// What the calls before left on the stack holds nothing.
NOINLINE static void wipe(void) {
    volatile char room[16384];
    for (size_t i = 0; i < sizeof(room); i++)
        room[i] = 0;
}

int main(void) {
    build();
    wipe();
    write(1, "ready\n", 6);
    pause();
    return mask == 1;
}

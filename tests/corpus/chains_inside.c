// SPDX-License-Identifier: BSD-2-Clause
// Chains of two blocks, with a pointer to the start or into the middle at each step, held or dropped; with
// both kinds at once; and blocks of no bytes.
#include "corpus.h"

enum { MIDDLE = 16, SIZE = 64 };
struct node *held_start[3], *held_middle[3], *both[2], *nothing;

// Not zeroed: what begins with a length of 0 may be a string.
static NOINLINE struct node *filled(void) {
    struct node *block = make(SIZE);
    memset(block, 0x7f, SIZE);
    block->a = NULL;
    return block;
}

static struct node *middle(struct node *block) {
    return (struct node *)((char *)block + MIDDLE);
}

static void from_the_start(void) {
    held_start[0] = filled();            // EXPECT: reachable
    held_start[1] = filled();            // EXPECT: reachable
    held_start[1]->a = filled();         // EXPECT: reachable
    held_start[2] = filled();            // EXPECT: reachable
    held_start[2]->a = middle(filled()); // EXPECT: possible
}

static void from_the_middle(void) {
    struct node *first = filled(), *second = filled(); // EXPECT: 2 possible
    held_middle[0] = middle(filled());                 // EXPECT: possible
    first->a = filled();                               // EXPECT: possible
    held_middle[1] = middle(first);
    second->a = middle(filled()); // EXPECT: possible
    held_middle[2] = middle(second);
}

static void from_nowhere(void) {
    struct node *first = filled(), *second = filled(); // EXPECT: 2 lost
    KEEP(filled());                                    // EXPECT: lost
    first->a = filled();                               // EXPECT: indirect
    second->a = middle(filled());                      // EXPECT: indirect
    KEEP(first);
    KEEP(second);
}

// The better pointer decides, whichever comes first.
static void from_both(void) {
    both[0] = filled(); // EXPECT: reachable
    held_start[0]->a = middle(both[0]);
    struct node *last = filled(); // EXPECT: reachable
    held_middle[0]->a = last;
    both[1] = last;
}

static void empty(void) {
    nothing = malloc(0); // EXPECT: reachable
    KEEP(malloc(0));     // EXPECT: lost
}

int main(void) {
    play(from_the_start);
    play(from_the_middle);
    play(from_nowhere);
    play(from_both);
    play(empty);
    park();
}

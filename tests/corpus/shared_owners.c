// SPDX-License-Identifier: BSD-2-Clause
// One block with several owners: the best of them decides.
#include "corpus.h"

struct node *root;

static void two_lost_owners(void) {
    struct node *shared = make(24); // EXPECT: indirect
    make(24)->a = shared;           // EXPECT: lost
    make(24)->b = shared;           // EXPECT: lost
}

static void one_held_owner(void) {
    struct node *shared = make(32); // EXPECT: reachable
    make(32)->a = shared;           // EXPECT: lost
    root = make(32);                // EXPECT: reachable
    root->a = shared;
}

static void diamond(void) {
    struct node *top = make(40); // EXPECT: lost
    top->a = make(40);           // EXPECT: indirect
    top->b = make(40);           // EXPECT: indirect
    top->a->a = make(40);        // EXPECT: indirect
    top->b->a = top->a->a;
}

static void lost_one_points_to_held_ones(void) {
    struct node *lost = make(48); // EXPECT: lost
    lost->a = root;
}

static void possible_owner(void) {
    struct node *block = make(56); // EXPECT: possible
    block->a = make(56);           // EXPECT: possible
    root->b = (struct node *)((char *)block + 16);
}

static void possible_and_reachable_owner(void) {
    struct node *shared = make(64); // EXPECT: reachable
    root->a->a = shared;
    struct node *other = make(64); // EXPECT: possible
    other->a = shared;
    root->a->b = (struct node *)((char *)other + 16);
}

int main(void) {
    play(two_lost_owners);
    play(one_held_owner);
    play(diamond);
    play(lost_one_points_to_held_ones);
    play(possible_owner);
    play(possible_and_reachable_owner);
    park();
}

// SPDX-License-Identifier: BSD-2-Clause
// Doubly linked lists: a dropped one is one group that holds itself, with one block at its head.
#include "corpus.h"

struct node *first;

static NOINLINE struct node *chain(int nr) {
    struct node *head = make(64), *last = head;
    for (int i = 1; i < nr; i++) {
        struct node *next = make(64);
        last->a = next;
        next->b = last;
        last = next;
    }
    return head;
}

static void held(void) {
    first = chain(4); // EXPECT: 4 reachable
}

static void held_by_its_end(void) {
    struct node *last = chain(3); // EXPECT: 3 reachable
    while (last->a)
        last = last->a;
    first->b = last;
}

static void dropped(void) {
    KEEP(chain(6)); // EXPECT: 1 lost, 5 indirect
    // LSAN: 6 indirect: of a ring of lost blocks it calls all indirect, for each has one that points to it
}

int main(void) {
    play(held);
    play(held_by_its_end);
    play(dropped);
    park();
}

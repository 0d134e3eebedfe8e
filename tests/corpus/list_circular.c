// SPDX-License-Identifier: BSD-2-Clause
// Circular lists without a head: held by any one element, or by none.
#include "corpus.h"

struct node *any;

static NOINLINE struct node *ring(int nr, size_t size) {
    struct node *head = make(size), *last = head;
    for (int i = 1; i < nr; i++) {
        last->a = make(size);
        last = last->a;
    }
    last->a = head;
    return head;
}

static void held(void) {
    any = ring(5, 32)->a->a; // EXPECT: 5 reachable
}

static void dropped(void) {
    KEEP(ring(4, 40)); // EXPECT: 1 lost, 3 indirect
    // LSAN: 4 indirect: of a ring of lost blocks it calls all indirect, for each has one that points to it
}

static void alone(void) {
    KEEP(ring(1, 48)); // EXPECT: lost
}

int main(void) {
    play(held);
    play(dropped);
    play(alone);
    park();
}

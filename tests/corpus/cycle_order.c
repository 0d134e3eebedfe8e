// SPDX-License-Identifier: BSD-2-Clause
// A lost block leads into a ring: to either member, and before or behind it in memory. The classes are the same
#include "corpus.h"

static int before, to_second;

static void leads_in(void) {
    struct node *holder = before ? make(200) : NULL; // EXPECT: 2 lost
    struct node *first = make(200);                  // EXPECT: 4 indirect
    // VALGRIND: 1 lost, 3 indirect: which block of a ring leads depends on the order of addresses
    struct node *second = make(200); // EXPECT: 4 indirect
    first->a = second;
    second->a = first;
    if (!holder)
        holder = make(200); // EXPECT: 2 lost
    holder->b = to_second ? second : first;
}

int main(void) {
    for (int i = 0; i < 4; i++) {
        before = i & 1;
        to_second = i >> 1;
        play(leads_in);
    }
    park();
}

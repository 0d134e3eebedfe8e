// SPDX-License-Identifier: BSD-2-Clause
// Memory that the program takes by sbrk() itself, between pieces of malloc's heap, is a root.
#include "corpus.h"

static void build(void) {
    struct node **own = (struct node **)sbrk(65536);
    if (own == (void *)-1)
        _exit(3);
    own[0] = make(40); // EXPECT: reachable
    // LSAN: lost: it takes no mapping of the program as a root unless told to
    own[4000] = make(48); // EXPECT: reachable
    // LSAN: lost: as above
    own[4000]->a = make(56); // EXPECT: reachable
    // LSAN: indirect: as above
    own[5000] = make(64); // EXPECT: lost
    own[5000] = NULL;
    // More of malloc's own comes behind it.
    for (int i = 0; i < 40; i++)
        free(make(10000));
}

int main(void) {
    play(build);
    park();
}

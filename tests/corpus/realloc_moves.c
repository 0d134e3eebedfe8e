// SPDX-License-Identifier: BSD-2-Clause
// What realloc moves keeps what it points to; who kept the old address holds nothing.
#include "corpus.h"

struct node *grown;
struct node **vector;

static void build(void) {
    struct node *small = make(40);
    small->a = make(48);                           // EXPECT: reachable
    struct node *wall = make(40);                  // EXPECT: reachable
    grown = (struct node *)realloc(small, 300000); // EXPECT: reachable
    memset(grown + 1, 0, 300000 - sizeof(*grown));
    grown->b = wall;
    grown[1000].a = make(56); // EXPECT: reachable
    for (int i = 0; i < 40; i++) {
        size_t bytes = (size_t)(i ? 2 * i : 1) * sizeof(*vector);
        if ((i & (i - 1)) == 0)
            vector = (struct node **)realloc(vector, bytes); // EXPECT: reachable
        vector[i] = make(64);                                // EXPECT: 40 reachable
    }
}

static void shrunk(void) {
    struct node **block = (struct node **)make(4000);
    block[0] = make(72);                         // EXPECT: indirect
    block[400] = make(72);                       // EXPECT: lost
    block = (struct node **)realloc(block, 100); // EXPECT: lost
    KEEP(block);
}

int main(void) {
    play(build);
    play(shrunk);
    park();
}

// SPDX-License-Identifier: BSD-2-Clause
// Thread-local variables of the program, zeroed and initialised, far apart.
#include "corpus.h"

__thread struct node *near_variable;
__thread char room[20000];
__thread struct node *far_variable;
__thread struct {
    long number;
    struct node *block;
} initialised = {5, NULL};

static void build(void) {
    near_variable = make(40);       // EXPECT: reachable
    far_variable = make(48);        // EXPECT: reachable
    initialised.block = make(56);   // EXPECT: reachable
    struct node *inside = make(64); // EXPECT: reachable
    memcpy(room + (16 - (uintptr_t)room % 8) % 8 + 8000, &inside, sizeof(inside));
    near_variable->a = make(72); // EXPECT: lost
    near_variable->a = NULL;
}

int main(void) {
    play(build);
    park();
}

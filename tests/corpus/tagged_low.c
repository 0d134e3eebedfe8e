// SPDX-License-Identifier: BSD-2-Clause
// Small integers in the low bits of pointers, as dynamic languages have them.
#include "corpus.h"

uintptr_t values[4];

static void build(void) {
    values[0] = (uintptr_t)make(32);                      // EXPECT: reachable
    values[1] = (uintptr_t)make(32) | 1;                  // EXPECT: possible
    values[2] = (uintptr_t)make(32) | 7;                  // EXPECT: possible
    struct node *object = make(32);                       // EXPECT: possible
    object->a = (struct node *)((uintptr_t)make(40) | 2); // EXPECT: possible
    object->b = make(40);                                 // EXPECT: possible
    values[3] = (uintptr_t)object | 3;
}

int main(void) {
    play(build);
    park();
}

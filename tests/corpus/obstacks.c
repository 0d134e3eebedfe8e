// SPDX-License-Identifier: BSD-2-Clause
// Obstacks of the GNU C library: chunks of objects, the latest held by the obstack, each holds the one
// before.
#include "corpus.h"
#include <obstack.h>

#define obstack_chunk_alloc malloc
#define obstack_chunk_free  free

struct obstack stack;
struct node *object;

static void held(void) {
    obstack_init(&stack); // EXPECT: reachable
    for (int i = 0; i < 30; i++) {
        object = (struct node *)obstack_alloc(&stack, 1000); // EXPECT: 7 reachable
        memset(object, 0, 1000);
    }
    object->a = make(40); // EXPECT: reachable
}

static void dropped(void) {
    struct obstack *other = (struct obstack *)make(sizeof(*other)); // EXPECT: lost
    obstack_init(other);                                            // EXPECT: indirect
    struct node *inside = (struct node *)obstack_alloc(other, 64);
    memset(inside, 0, 64);
    inside->b = make(56); // EXPECT: indirect
}

static void freed(void) {
    struct obstack *other = (struct obstack *)make(sizeof(*other)); // EXPECT: lost
    obstack_init(other);
    struct node *inside = (struct node *)obstack_alloc(other, 64);
    inside->a = make(72); // EXPECT: lost
    inside->b = NULL;
    obstack_free(other, NULL);
}

int main(void) {
    play(held);
    play(dropped);
    play(freed);
    park();
}

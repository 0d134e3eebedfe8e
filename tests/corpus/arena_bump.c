// SPDX-License-Identifier: BSD-2-Clause
// An arena: objects in a large block that is held by its start hold other blocks; a dropped arena loses
// what its objects held.
#include "corpus.h"

struct arena {
    char *base;
    size_t used;
};

struct arena arena;

static NOINLINE struct node *take(struct arena *from, size_t size) {
    struct node *object = (struct node *)(from->base + from->used);
    from->used += size;
    return object;
}

static void held(void) {
    arena.base = (char *)make(65536); // EXPECT: reachable
    take(&arena, 48)->a = make(40);   // EXPECT: reachable
    struct node *object = take(&arena, 48);
    object->a = take(&arena, 4096);
    object->a->b = make(56); // EXPECT: reachable
}

static void dropped(void) {
    struct arena *local = (struct arena *)make(sizeof(*local)); // EXPECT: lost
    local->base = (char *)make(10000);                          // EXPECT: indirect
    take(local, 64);
    take(local, 64)->b = make(72); // EXPECT: indirect
}

int main(void) {
    play(held);
    play(dropped);
    park();
}

// SPDX-License-Identifier: BSD-2-Clause
// A pool of equal objects with a free list through them: a free object still holds what it points to.
#include "corpus.h"

enum { NR = 32 };

struct object {
    struct object *next_free;
    struct node *payload;
};

struct pool {
    struct object *objects, *free;
} pool;

static NOINLINE struct object *take(void) {
    struct object *object = pool.free;
    pool.free = object->next_free;
    return object;
}

static NOINLINE void give_back(struct object *object) {
    object->next_free = pool.free;
    pool.free = object;
}

static void build(void) {
    pool.objects = (struct object *)make(NR * sizeof(struct object)); // EXPECT: reachable
    for (int i = 0; i < NR; i++)
        give_back(&pool.objects[i]);
    take()->payload = make(40); // EXPECT: reachable
    struct object *careful = take(), *careless = take();
    careful->payload = make(48); // EXPECT: lost
    careful->payload = NULL;
    give_back(careful);
    careless->payload = make(48); // EXPECT: reachable
    give_back(careless);
}

int main(void) {
    play(build);
    park();
}

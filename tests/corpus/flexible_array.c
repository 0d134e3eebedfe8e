// SPDX-License-Identifier: BSD-2-Clause
// A structure with its array behind it: who keeps a pointer to the array keeps one into the middle.
#include "corpus.h"

struct buffer {
    size_t capacity, used, kind;
    char data[];
};

char *data;
struct buffer *buffer;

static NOINLINE struct buffer *create(size_t size) {
    struct buffer *made = (struct buffer *)make(sizeof(*made) + size);
    made->capacity = size;
    made->used = 0;
    made->kind = size * 3;
    return made;
}

static void build(void) {
    buffer = create(100);               // EXPECT: reachable
    struct buffer *other = create(200); // EXPECT: possible
    other->used = 300;                  // more than fits: nothing that looks like a string of the C++ library
    data = other->data;
    KEEP(create(300)); // EXPECT: lost
}

int main(void) {
    play(build);
    park();
}

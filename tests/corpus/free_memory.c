// SPDX-License-Identifier: BSD-2-Clause
// Free memory holds nothing, though the allocator leaves old pointers in it and points to it itself.
#include "corpus.h"

struct node *keeper[3];

static NOINLINE struct node *holder_of(struct node *block, size_t size) {
    struct node *holder = make(size);
    for (size_t i = 2; i < size / sizeof(*holder); i++)
        holder[i].a = block;
    return holder;
}

static void of_every_size(void) {
    static const size_t sizes[] = {64, 200, 1000, 5000, 40000, 400000};
    for (size_t i = 0; i < 6; i++) {
        struct node *lost = make(104 + 16 * i); // EXPECT: 6 lost
        free(holder_of(lost, sizes[i]));
    }
}

static void neighbours_hold(void) {
    keeper[0] = make(300);                             // EXPECT: reachable
    struct node *between = holder_of(make(312), 2000); // EXPECT: lost
    keeper[1] = make(300);                             // EXPECT: reachable
    free(between);
}

int main(void) {
    play(of_every_size);
    play(neighbours_hold);
    park();
}

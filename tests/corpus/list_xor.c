// SPDX-License-Identifier: BSD-2-Clause
// An XOR list: each element has (previous XOR next), so a scan sees the two ends and nothing between.
#include "corpus.h"

struct element {
    uintptr_t both;
    long key;
};

struct element *front, *back;

static void build(void) {
    struct element *end = (struct element *)make(32);   // EXPECT: reachable
    struct element *start = (struct element *)make(32); // EXPECT: reachable
    struct element *last = NULL, *now = start;
    for (int i = 0; i < 4; i++) {
        struct element *next = (struct element *)make(56); // EXPECT: 2 lost, 2 reachable
        // TRUTH: 4 held: only the program knows how to get an address from two
        now->both = (uintptr_t)last ^ (uintptr_t)next;
        last = now;
        now = next;
    }
    now->both = (uintptr_t)last ^ (uintptr_t)end;
    end->both = (uintptr_t)now; // XOR NULL: the neighbours of the ends are seen
    front = start;
    back = end;
}

int main(void) {
    play(build);
    park();
}

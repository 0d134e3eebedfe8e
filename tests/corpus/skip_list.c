// SPDX-License-Identifier: BSD-2-Clause
// A skip list: a node has as many pointers as its level. One node is taken out of the lowest level only by mistake.
#include "corpus.h"

enum { LEVELS = 4, NR = 16 };

struct skip {
    long key;
    struct node *value;
    struct skip *next[];
};

struct skip *head;

static NOINLINE struct skip *make_skip(int levels) {
    return (struct skip *)make(sizeof(struct skip) + (size_t)levels * sizeof(struct skip *));
}

static void build(void) {
    struct skip *last[LEVELS];
    head = make_skip(LEVELS); // EXPECT: reachable
    for (int i = 0; i < LEVELS; i++)
        last[i] = head;
    for (int key = 0; key < NR; key++) {
        int levels = 1 + (key % 2) + (key % 4 == 3) + (key % 8 == 7);
        struct skip *skip = make_skip(levels); // EXPECT: 14 reachable, 2 lost
        skip->key = key;
        skip->value = make(24); // EXPECT: 14 reachable, 2 indirect
        for (int i = 0; i < levels; i++) {
            last[i]->next[i] = skip;
            last[i] = skip;
        }
    }
    // Those of one level are gone with it; that of key 3 is still in its upper levels.
    for (struct skip *skip = head; skip->next[0]; skip = skip->next[0]) {
        struct skip *out = skip->next[0];
        if (out->key == 3 || out->key == 6 || out->key == 12) {
            skip->next[0] = out->next[0];
            out->next[0] = NULL;
            if (!skip->next[0])
                break;
        }
    }
}

int main(void) {
    play(build);
    park();
}

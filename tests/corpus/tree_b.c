// SPDX-License-Identifier: BSD-2-Clause
// A B-tree. A split that forgets the right half, and a root that was replaced with a copy of half of it.
#include "corpus.h"

enum { ORDER = 4 };

struct page {
    int nr;
    long keys[ORDER];
    struct page *below[ORDER + 1];
};

struct page *root;

static NOINLINE struct page *page(void) {
    return (struct page *)make(sizeof(struct page));
}

static void build(void) {
    root = page(); // EXPECT: lost
    root->nr = ORDER;
    for (int i = 0; i <= ORDER; i++) {
        root->below[i] = page(); // EXPECT: 3 reachable, 2 indirect
        root->below[i]->nr = ORDER;
        for (int k = 0; k <= ORDER; k++)
            root->below[i]->below[k] = page(); // EXPECT: 14 reachable, 10 indirect, 1 lost
    }
}

static void split(void) {
    struct page *leaf = root->below[0];
    leaf->nr--;
    leaf->below[ORDER] = NULL; // its right half has not been put anywhere
}

static void replace(void) {
    struct page *copy = page(); // EXPECT: reachable
    copy->nr = 2;
    for (int i = 0; i < 3; i++)
        copy->below[i] = root->below[i];
    for (int i = 0; i < 3; i++)
        root->below[i] = NULL;
    root = copy; // and the old one is not freed
}

int main(void) {
    play(build);
    play(split);
    play(replace);
    park();
}

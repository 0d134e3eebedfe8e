// SPDX-License-Identifier: BSD-2-Clause
// A cache with a table, a list by use, and reference counts: what was evicted while somebody used it.
#include "corpus.h"

struct item {
    struct item *newer, *older;
    int references;
    char *data;
};

struct item *items[8];
struct item *newest;
struct item *user;

static NOINLINE struct item *load(int key) {
    struct item *item = (struct item *)make(sizeof(*item));
    item->references = 1;
    item->data = (char *)make(100);
    items[key] = item;
    item->older = newest;
    if (newest)
        newest->newer = item;
    newest = item;
    return item;
}

static NOINLINE void evict(int key) {
    struct item *item = items[key];
    items[key] = NULL;
    if (item->older)
        item->older->newer = item->newer;
    if (item->newer)
        item->newer->older = item->older;
    else
        newest = item->older;
    item->older = item->newer = NULL;
}

static void build(void) {
    for (int i = 0; i < 4; i++)
        load(i);    // EXPECT: 8 reachable
    user = load(4); // EXPECT: 2 reachable
    load(5);        // EXPECT: 1 lost, 1 indirect
    load(6);        // EXPECT: 2 reachable
    evict(4);
    evict(5);
}

int main(void) {
    play(build);
    park();
}

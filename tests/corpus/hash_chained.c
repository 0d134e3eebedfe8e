// SPDX-License-Identifier: BSD-2-Clause
// A hash table with chains; entries that were taken out but not freed, and a table that grew.
#include "corpus.h"

struct entry {
    struct entry *next;
    unsigned key;
    char *value;
};

struct table {
    struct entry **buckets;
    unsigned nr_buckets;
};

struct table *table;

static NOINLINE void put(struct table *into, unsigned key) {
    struct entry *entry = (struct entry *)make(sizeof(*entry));
    entry->key = key;
    entry->value = strcpy((char *)make(20), "value");
    entry->next = into->buckets[key % into->nr_buckets];
    into->buckets[key % into->nr_buckets] = entry;
}

static NOINLINE struct table *create(unsigned nr) {
    struct table *made = (struct table *)make(sizeof(*made));
    made->buckets = (struct entry **)make(nr * sizeof(*made->buckets));
    made->nr_buckets = nr;
    return made;
}

static void held(void) {
    table = create(7); // EXPECT: 1 reachable, 1 lost
    for (unsigned i = 0; i < 20; i++)
        put(table, i); // EXPECT: 40 reachable
}

static void taken_out(void) {
    put(table, 7000); // EXPECT: 1 lost, 1 indirect
    struct entry *entry = table->buckets[0];
    table->buckets[0] = entry->next;
    entry->next = NULL;
}

static void grown_and_forgotten(void) {
    struct entry **old = table->buckets;
    struct entry **grown = (struct entry **)make(7 * 2 * sizeof(*grown)); // EXPECT: reachable
    memcpy(grown, old, 7 * sizeof(*old));
    table->buckets = grown;
    table->nr_buckets = 7; // still
}

int main(void) {
    play(held);
    play(taken_out);
    play(grown_and_forgotten);
    park();
}

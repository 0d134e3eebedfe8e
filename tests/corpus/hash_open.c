// SPDX-License-Identifier: BSD-2-Clause
// Open addressing: keys by value, values inside of the table or in blocks of their own.
#include "corpus.h"

struct slot {
    uint64_t key;
    char *text;
};

struct slot *slots;
struct slot *cursor;

static NOINLINE struct slot *find(uint64_t key) {
    uint64_t i = key * 11 % 64;
    while (slots[i].key && slots[i].key != key)
        i = (i + 1) % 64;
    return &slots[i];
}

static void held(void) {
    slots = (struct slot *)make(64 * sizeof(*slots)); // EXPECT: reachable
    for (uint64_t key = 1; key <= 40; key++) {
        struct slot *slot = find(key);
        slot->key = key;
        slot->text = strcpy((char *)make(24), "text"); // EXPECT: 39 reachable, 1 lost
    }
    cursor = find(9);
}

static void overwritten(void) {
    find(17)->text = strcpy((char *)make(24), "again"); // EXPECT: reachable
}

int main(void) {
    play(held);
    play(overwritten);
    park();
}

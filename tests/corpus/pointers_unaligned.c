// SPDX-License-Identifier: BSD-2-Clause
// Pointers in packed structures: no scan sees them that looks at whole words only.
#include "corpus.h"

struct __attribute__((packed)) packed {
    char type;
    struct node *pointer;
};

struct packed global;
struct packed *record;

static void build(void) {
    global.pointer = make(32); // EXPECT: lost
    // TRUTH: held: it is looked at with --unaligned
    // UNALIGNED: reachable
    record = (struct packed *)make(sizeof(*record)); // EXPECT: reachable
    record->pointer = make(40);                      // EXPECT: lost
    // TRUTH: held: as above
    // UNALIGNED: reachable
    record->pointer->a = make(48); // EXPECT: indirect
    // TRUTH: held: as above
    // UNALIGNED: reachable
    struct packed *dropped = (struct packed *)make(sizeof(*dropped)); // EXPECT: lost
    dropped->pointer = make(56);                                      // EXPECT: lost
    // UNALIGNED: indirect
}

int main(void) {
    play(build);
    park();
}

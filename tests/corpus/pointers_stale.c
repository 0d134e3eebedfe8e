// SPDX-License-Identifier: BSD-2-Clause
// A pointer to memory that was freed and handed out again holds the new block, by accident.
#include "corpus.h"

struct node *stale, *other;

static void build(void) {
    stale = make(104);
    free(stale);
    struct node *again = make(104); // EXPECT: reachable
    // TRUTH: gone: the program believes to have freed it
    again->a = make(120); // EXPECT: reachable
    // TRUTH: gone: as above
    if (again != stale)
        stale = again; // an allocator that does not reuse at once
    other = make(136);
    free(other); // and nothing came after it
}

int main(void) {
    play(build);
    park();
}

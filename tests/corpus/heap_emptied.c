// SPDX-License-Identifier: BSD-2-Clause
// The allocator's heap without a block: all that is left are blocks with mappings of their own, whose addresses
// are in the memory of a block that was freed.
#include "corpus.h"

enum { NR = 5, LARGE = 300000 };

static void **kept;

static NOINLINE void *make_large(void) {
    return calloc(1, LARGE); // EXPECT: 5 lost, 1 reachable
}

static NOINLINE void fill_and_free(void) {
    void **table = malloc(4000);
    memset(table, 0, 4000);
    for (int i = 0; i < NR; i++)
        table[100 + i] = make_large();
    kept = make_large();
    free(table);
}

int main(void) {
    fill_and_free();
    park();
    KEEP(kept);
}

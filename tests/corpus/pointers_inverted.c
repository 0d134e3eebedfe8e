// SPDX-License-Identifier: BSD-2-Clause
// Weak pointers kept inverted, so that a conservative collector does not see them.
#include "corpus.h"

uintptr_t weak[3];
struct node *strong[3];

static void build(void) {
    for (int i = 0; i < 3; i++) {
        strong[i] = make(64); // EXPECT: 2 reachable, 1 lost
        weak[i] = ~(uintptr_t)strong[i];
    }
    strong[1] = NULL;
}

int main(void) {
    play(build);
    park();
}

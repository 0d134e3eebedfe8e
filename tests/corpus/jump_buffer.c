// SPDX-License-Identifier: BSD-2-Clause
// longjmp leaves frames without cleaning up: what only they held is lost.
#include "corpus.h"
#include <setjmp.h>

static jmp_buf target;
struct node *saved;

static NOINLINE void deeper(void) {
    struct node *volatile local = make(40); // EXPECT: lost
    local->a = make(48);                    // EXPECT: indirect
    saved = make(56);                       // EXPECT: reachable
    longjmp(target, 1);
}

static NOINLINE void jump(void) {
    if (!setjmp(target))
        deeper();
}

int main(void) {
    play(jump);
    park();
}

// SPDX-License-Identifier: BSD-2-Clause
// A handler of a bad access jumps out of the function that made it: what its frames held is lost.
#include "corpus.h"
#include <setjmp.h>
#include <signal.h>

static sigjmp_buf target;
struct node *saved;

static void jump_back(int number) {
    struct node *volatile mine = make(32); // EXPECT: lost
    KEEP(mine);
    siglongjmp(target, 1);
}

static NOINLINE void touch(int *volatile nowhere) {
    struct node *volatile local = make(40); // EXPECT: lost
    local->a = make(48);                    // EXPECT: indirect
    saved = make(56);                       // EXPECT: reachable
    *nowhere = 1;
    KEEP(local);
}

static void run(void) {
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = jump_back;
    sigaction(SIGSEGV, &action, NULL);
    if (!sigsetjmp(target, 1))
        touch((int *)8);
}

int main(void) {
    play(run);
    park();
}

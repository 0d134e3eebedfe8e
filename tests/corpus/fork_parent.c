// SPDX-License-Identifier: BSD-2-Clause
// The scan looks at a parent whose child freed and overwrote its copy: nothing of that counts here.
#include "corpus.h"
#include <sys/wait.h>

struct node *held, *dropped;

static void before(void) {
    held = make(40);    // EXPECT: reachable
    held->a = make(48); // EXPECT: reachable
    dropped = make(56); // EXPECT: lost
}

int main(void) {
    play(before);
    pid_t child = fork();
    if (child == 0) {
        free(held->a);
        free(held);
        held = NULL;
        dropped->a = make(64);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    dropped = NULL;
    park();
}

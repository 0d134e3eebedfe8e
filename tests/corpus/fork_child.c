// SPDX-License-Identifier: BSD-2-Clause
// The scan looks at a forked child: blocks of its parent, held or lost there, and its own.
#include "corpus.h"
#include <sys/prctl.h>
#include <signal.h>
#include <sys/wait.h>

struct node *from_parent, *own;

static void before(void) {
    from_parent = make(40);    // EXPECT: reachable
    from_parent->a = make(48); // EXPECT: 1 lost
    KEEP(make(56));            // EXPECT: lost
}

static void after(void) {
    from_parent->a = NULL;
    own = make(64); // EXPECT: reachable
    KEEP(make(72)); // EXPECT: lost
}

int main(void) {
    play(before);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        play(after);
        park();
    }
    int status;
    waitpid(child, &status, 0);
    _exit(0);
}

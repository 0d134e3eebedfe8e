// SPDX-License-Identifier: BSD-2-Clause
// The scan comes while a signal handler runs: the interrupted frame and its registers still count.
#include "corpus.h"
#include <signal.h>

static void handler(int number) {
    struct node *volatile of_handler = make(40); // EXPECT: reachable
    park();
    KEEP(of_handler);
}

int main(void) {
    struct node *volatile interrupted = make(48); // EXPECT: reachable
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    KEEP(interrupted);
}

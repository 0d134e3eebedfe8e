// SPDX-License-Identifier: BSD-2-Clause
// A pointer on its way through a pipe from one part of the program to another: only the kernel has it.
#include "corpus.h"

int ends[2];

static void build(void) {
    struct node *message = make(40); // EXPECT: lost
    // TRUTH: held: what is in a pipe cannot be looked at without taking it out
    message->a = make(48); // EXPECT: indirect
    // TRUTH: held: as above
    if (pipe(ends) || write(ends[1], &message, sizeof(message)) != sizeof(message))
        _exit(3);
}

int main(void) {
    play(build);
    park();
}

// SPDX-License-Identifier: BSD-2-Clause
// Below the stack pointer there is nothing, however fresh what was left there.
#include "corpus.h"

static NOINLINE void leave_behind(void) {
    struct node *volatile room[2000];
    for (int i = 0; i < 2000; i++)
        room[i] = NULL;
    room[100] = make(40);    // EXPECT: lost
    room[100]->a = make(48); // EXPECT: indirect
    KEEP(room);
}

int main(void) {
    leave_behind();
    scrub_registers();
    park_as_it_is(); // far above it
}

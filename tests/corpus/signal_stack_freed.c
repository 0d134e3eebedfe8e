// SPDX-License-Identifier: BSD-2-Clause
// The memory of an alternate stack was freed while the kernel still has its address, and other blocks are there.
#include "corpus.h"
#include <signal.h>

static struct node *list;

static void set_and_free(void) {
    stack_t stack = {.ss_size = 64 << 10};
    stack.ss_sp = malloc(stack.ss_size);
    if (sigaltstack(&stack, NULL))
        _exit(3);
    free(stack.ss_sp);
}

static void fill(void) {
    for (int i = 0; i < 200; i++) {
        struct node *node = make(200); // EXPECT: 200 reachable
        node->a = list;
        list = node;
    }
}

int main(void) {
    play(set_and_free);
    play(fill);
    park();
}

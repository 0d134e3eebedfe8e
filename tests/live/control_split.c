// SPDX-License-Identifier: BSD-2-Clause
//
// A split stack (gcc -fsplit-stack): it grows piece by piece, the pieces come from mmap and are used again,
// and frames lie in many of them.
#include "program.h"
#include <pthread.h>

APART static int grow(int depth) {
    volatile char space[1000];
    space[0] = (char)depth;
    if (depth % 100 == 0)
        keep(malloc(61));
    if (depth == 1)
        return 0;
    return grow(depth - 1) + space[0];
}

static void *in_thread(void *arg) {
    for (int i = 0; i < 3; i++)
        grow(1000);
    return NULL;
}

int main(void) {
    pthread_t thread;
    in_thread(NULL);
    CHECK(pthread_create(&thread, NULL, in_thread, NULL) == 0);
    pthread_join(thread, NULL);
    return 0;
}

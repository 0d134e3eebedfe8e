// SPDX-License-Identifier: BSD-2-Clause
// A handler of exit() calls exit() again, and holds a block then.
#include <stdlib.h>

static void leave_again(void) {
    void *volatile held[600] = {malloc(3005)}; // further down than what the first call left
    held[1] = malloc(16);
    exit(held[1] ? 5 : 6);
}

int main(void) {
    atexit(leave_again);
    void *volatile held = malloc(4005);
    exit(held ? 3 : 4);
}

// SPDX-License-Identifier: BSD-2-Clause
// Allocates at each 64th level of a recursion that is deeper than can be kept, on the way in and on the way out.
#include <stdlib.h>

__attribute__((noinline)) static void *way_in(void) {
    return malloc(24);
}

__attribute__((noinline)) static void *way_out(void) {
    return malloc(48);
}

__attribute__((noinline)) static int down(int depth) {
    void *volatile first = depth % 64 ? NULL : way_in();
    int nr = depth ? down(depth - 1) : 0;
    void *volatile last = depth % 64 ? NULL : way_out();
    if (first)
        free(first);
    if (last)
        free(last);
    return nr + 1;
}

int main(void) {
    return down(24000) == 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
char *volatile kept[64];
static char *leaf(size_t size) { return malloc(size); }
static void hold(int nr) { for (int i = 0; i < nr; i++) kept[i] = leaf(100); }
int main(void) {
    hold(30);
    kept[40] = calloc(7, 1000);
    for (int i = 0; i < 50; i++) free(leaf(10));
    leaf(77);
    return 0;
}

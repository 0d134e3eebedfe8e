// SPDX-License-Identifier: BSD-2-Clause
// What is lost is made by a function that only makes it; the one that loses it calls that.
#include <stdlib.h>

static char *make(size_t bytes) {
    return malloc(bytes);
}

static void lose_name(void) {
    char *volatile name = make(100);
    name = NULL;
    (void)name;
}

int main(void) {
    for (int i = 0; i < 10; i++)
        lose_name();
    return 0;
}

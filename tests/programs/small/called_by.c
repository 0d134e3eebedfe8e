// SPDX-License-Identifier: BSD-2-Clause
// A function that only allocates makes the lost block; its caller loses it.
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

// SPDX-License-Identifier: BSD-2-Clause
// A log that is made longer by each line.
#include <stdlib.h>

static char *text;

static void add_line(size_t bytes) {
    text = realloc(text, bytes);
}

int main(void) {
    for (size_t i = 1; i <= 2000; i++)
        add_line(100 * i);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Ends at once.
#include <stdlib.h>
#include <unistd.h>

static void *volatile kept;

int main(void) {
    kept = malloc(10);
    _exit(0);
}

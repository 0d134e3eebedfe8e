// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
#include <unistd.h>
static void *kept[60];
int main(int argc, char **argv) {
    for (int i = 0; i < 60; i++) {
        kept[i] = malloc(10000);
        usleep(25000 * atoi(argv[1]));
    }
    for (int i = 0; i < 60; i++)
        free(kept[i]);
    return 0;
}

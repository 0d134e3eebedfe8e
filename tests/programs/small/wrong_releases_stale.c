// SPDX-License-Identifier: BSD-2-Clause
// Frees an address at which a freed block began, and that lies in a live block now.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    char *first = malloc(2000), *second = malloc(2000), *behind = malloc(2000);
    free(first);
    free(second); // joined with the first one
    char *both = malloc(4000);
    memset(both, 0, 4000);
    printf("%d %d\n", both == first, second > both && second < both + 4000);
    fflush(stdout);
    free(second);
    free(behind);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Blocks of 64 KiB of which the first byte is written: 1,000 that live for a while, and 1,000 more that are
// freed at once. Prints how many KiB of the heap are in memory with all of them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NR = 1000, BYTES = 64 << 10 };
static char *blocks[2 * NR];

static void fill(int from) {
    for (int i = from; i < from + NR; i++) {
        blocks[i] = malloc(BYTES);
        blocks[i][0] = 1;
    }
}

static long heap_kib(void) {
    static char text[1 << 16];
    FILE *file = fopen("/proc/self/smaps", "r");
    long kib = 0;
    int is_heap = 0;
    while (file && fgets(text, sizeof(text), file))
        if (strchr(text, '-') && strchr(text, '-') < strchr(text, ' '))
            is_heap = strstr(text, "[heap]") != NULL;
        else if (is_heap && strncmp(text, "Anonymous:", 10) == 0)
            kib += atol(text + 10);
    if (file)
        fclose(file);
    return kib;
}

int main(void) {
    fill(0);
    usleep(600000);
    free(malloc(10));
    usleep(200000);
    fill(NR);
    long kib = heap_kib();
    for (int i = NR; i < 2 * NR; i++)
        free(blocks[i]);
    printf("%ld\n", kib);
    return 0;
}

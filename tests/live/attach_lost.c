// SPDX-License-Identifier: BSD-2-Clause
// Makes a block, says "ready", waits for a line on its input, makes others, says "done", waits for another line.
//
// Of the others: 100 bytes in a variable; 200 bytes in the block from before; 5 blocks of 300 bytes that nothing
// has, and one of 400 bytes that nothing has and that has one of 500.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *kept;
void **before;

__attribute__((noinline)) static void keep(void) {
    kept = malloc(100);
    before[3] = malloc(200);
}

__attribute__((noinline)) static void lose(void) {
    for (int i = 0; i < 5; i++) {
        void *volatile block = malloc(300);
        memset(block, 0, 300);
        block = NULL;
    }
    void **volatile outer = malloc(400);
    memset(outer, 0, 400);
    outer[7] = malloc(500);
    memset(outer[7], 0, 500);
    outer = NULL;
}

// Over what is left on the stack and in registers.
__attribute__((noinline)) static void scrub(void) {
    volatile char room[65536];
    for (size_t i = 0; i < sizeof(room); i++)
        room[i] = 0;
}

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    setvbuf(stdin, NULL, _IONBF, 0);
    before = calloc(8, sizeof(*before));
    puts("ready");
    if (getchar() == EOF)
        return 1;
    keep();
    lose();
    scrub();
    puts("done");
    getchar();
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Holds 13 blocks, loses as many as it is told, says so without stdio, and ends by 5 when its input does. Where it is told seven: 13,700
// bytes in twenty blocks.
#include <stdlib.h>
#include <unistd.h>

void *held[13];

__attribute__((noinline)) static void hold(int i) {
    held[i] = malloc(1000);
}

__attribute__((noinline)) static void lose(size_t nr) {
    void *volatile block = malloc(nr);
    block = NULL;
    (void)block;
}

__attribute__((noinline)) static void clear_stack(void) {
    volatile char room[4096];
    for (size_t i = 0; i < sizeof(room); i++)
        room[i] = 0;
}

int main(int argc, char **argv) {
    char byte;
    for (int i = 0; i < 13; i++)
        hold(i);
    for (int i = argc > 1 ? atoi(argv[1]) : 0; i > 0; i--)
        lose(100);
    clear_stack();
    if (write(1, "ready\n", 6) != 6)
        return 1;
    while (read(0, &byte, 1) > 0)
        continue;
    return 5;
}

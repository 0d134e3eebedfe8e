// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile kept[100];

// No tail call: it has a frame.
__attribute__((noipa)) static void *make(size_t size) {
    void *block = malloc(size);
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

int main(void) {
    static char room[64];
    setvbuf(stdout, room, _IOFBF, sizeof(room));
    for (size_t i = 0; i < 100; i++)
        kept[i] = make(1000 + i);
    printf("%d\n", (int)getpid());
    fflush(stdout);
    char byte;
    ssize_t got = read(0, &byte, 1);
    for (int i = 0; i < 50; i++)
        free(kept[i]);
    return got == 1 ? 0 : 1;
}

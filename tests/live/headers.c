// SPDX-License-Identifier: BSD-2-Clause
// An allocator of a program puts a header of 32 bytes in front of what it hands out: nothing points to the starts of
// its blocks. 100 are held, from two places, 5 of them by others; 7 are dropped. Beside it, 3 blocks that are held by
// pointers into their middle only, and those are from a place of their own.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEADER = 32 };
void *held[95];
char *volatile inner[3];

__attribute__((noinline)) static void *get(size_t bytes) {
    char *block = malloc(HEADER + bytes);
    memset(block, 0, HEADER + bytes);
    *(size_t *)block = bytes;
    return block + HEADER;
}

__attribute__((noinline)) static void keep(void) {
    for (int i = 0; i < 95; i++)
        held[i] = get(100);
}

__attribute__((noinline)) static void chain(void) {
    for (int i = 0; i < 5; i++)
        *(void **)held[i] = get(200);
}

__attribute__((noinline)) static void drop(void) {
    for (int i = 0; i < 7; i++)
        get(300);
}

__attribute__((noinline)) static void point_inside(void) {
    for (int i = 0; i < 3; i++)
        inner[i] = (char *)malloc(400) + 32;
}

static void wipe_stack(void) {
    volatile char room[4096];
    for (size_t i = 0; i < sizeof(room); i++)
        room[i] = 0;
}

int main(void) {
    keep();
    chain();
    drop();
    point_inside();
    wipe_stack();
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
#include <string.h>
char *volatile held, *volatile middle;
__attribute__((noinline)) static void *take(size_t bytes) { char *p = malloc(bytes); memset(p, 0, bytes); return p; }
__attribute__((noinline)) static void work(int of) {
    if (of & 1) take(100);
    if (of & 2) middle = (char *)take(200) + 50;
    if (of & 4) held = take(300);
}
int main(int argc, char **argv) {
    char room[8192];
    work(argc > 1 ? atoi(argv[1]) : 0);
    memset(room, 0, sizeof(room));
    __asm__ volatile("" :: "r"(room) : "memory");
    return 0;
}

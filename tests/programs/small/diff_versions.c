// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <stdio.h>
#include <stdlib.h>
static void *volatile keep;
// LINES
__attribute__((noinline)) static void grow(int n) {
    for (int i = 0; i < n; i++)
        keep = malloc(100);
}
__attribute__((noinline)) static void serve(int n) {
    // EXTRA
    keep = malloc(300 + n);
    keep = calloc(1, 500);
    keep = malloc(700);
}
int main(void) {
    static char buffer[64];
    int n;
    setvbuf(stdin, buffer, _IOLBF, sizeof(buffer));
    setvbuf(stdout, NULL, _IONBF, 0);
    while (fgets(buffer + 32, 16, stdin) && (n = atoi(buffer + 32)) > 0) {
        grow(n);
        serve(n);
        puts("ok");
    }
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Loses three blocks that the program declares as known leaks, and two more. Then it waits until input ends.
#include <stdio.h>
#include <stdlib.h>

const char *__lsan_default_suppressions(void) {
    return "leak:lose_known\n";
}

__attribute__((noinline)) static void lose_known(void) {
    for (volatile int i = 0; i < 3; i++)
        *(char *volatile *)&(char *){malloc(100)} = NULL;
}

__attribute__((noinline)) static void lose(void) {
    for (volatile int i = 0; i < 2; i++)
        *(char *volatile *)&(char *){malloc(40)} = NULL;
}

int main(void) {
    lose_known();
    lose();
    puts("ok");
    fflush(stdout);
    return getchar() != EOF;
}

// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
#define APART __attribute__((noinline))
static void *volatile kept;
APART static void big(void) { kept = malloc(1000); }
APART static void small(void) { kept = calloc(1, 21); }
APART static void brief(void) { for (int i = 0; i < 102; i++) { kept = malloc(8); free(kept); } }
APART static void grown(void) {
    char *block = malloc(10);
    for (size_t i = 1; i <= 10; i++) block = realloc(block, 10 + i * 40);
    kept = block;
}
APART static void from_nothing(void) { kept = realloc(NULL, 64); }
APART static void array(void) { kept = reallocarray(NULL, 8, 9); }
int main(int argc, char **argv) {
    for (int i = 0; i < atoi(argv[1]); i++) { big(); small(); brief(); }
    for (int i = 0; i < atoi(argv[1]); i++) { grown(); from_nothing(); array(); }
    return !argc;
}

// SPDX-License-Identifier: BSD-2-Clause
// C code with functions inlined into one another, a cold half, and a nested block. Compiled many
// ways by make_programs.sh; test_symbols.c looks every instruction up.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inlined.h"

static inline __attribute__((always_inline)) int square(int x) {
    return x * x + outer_constant;
}

static inline __attribute__((always_inline)) int twice_square(int x) {
    int first = square(x);
    for (int i = 0; i < x; i++) {
        int step = square(i ^ first);
        first += step * header_inline(step);
    }
    return first + square(first);
}

__attribute__((noinline)) int exported_one(int x) {
    return twice_square(x) + twice_square(x + 1);
}

__attribute__((noinline, cold)) void give_up(const char *why) {
    fprintf(stderr, "%s\n", why);
    exit(1);
}

static __attribute__((noinline)) int hidden_two(const char *text) {
    if (!text)
        give_up("no text");
    if (text[0] == '?' && header_inline((int)strlen(text)) == 3)
        give_up("a question");
    return exported_one((int)strlen(text));
}

char *exported_keep(const char *text) {
    char *copy = malloc(strlen(text) + (size_t)hidden_two(text) % 7 + 1);
    return copy ? strcpy(copy, text) : NULL;
}

int main(int argc, char **argv) {
    char *kept = exported_keep(argv[argc - 1]);
    printf("%s %d\n", kept, exported_one(argc));
    free(kept);
    return 0;
}

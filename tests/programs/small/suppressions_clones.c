// SPDX-License-Identifier: BSD-2-Clause
// Leaks by copies that the compiler makes of functions (f.isra.0, f.constprop.0), by an owner, and by functions of
// the C library that the owner and main call. Each is one block.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct owner {
    char *name;
    char *other;
    long rest[4];
};

struct how {
    long size;
    long rest;
};

static __attribute__((noinline)) char *of_part(struct how *how, int unused) {
    (void)unused;
    char *block = malloc((size_t)how->size + 10);
    if (block)
        memset(block, 1, 5);
    return block;
}

static __attribute__((noinline)) char *of_constant(int nr, const char *text) {
    char *block = malloc((size_t)nr * 8);
    strcpy(block, text);
    return block;
}

__attribute__((noinline)) struct owner *make_owner(struct how *how) {
    struct owner *owner = malloc(sizeof(*owner));
    owner->name = strdup("some name");
    owner->other = of_part(how, 5);
    return owner;
}

void *volatile sink;

int main(int argc, char **argv) {
    struct how how = {argc, 0};
    sink = make_owner(&how);
    sink = of_constant(5, argc > 5 ? argv[1] : "short");
    char *text = NULL;
    if (asprintf(&text, "%d hello", argc) > 0)
        sink = text;
    text = NULL;
    sink = NULL;
    memset(&how, 0, sizeof(how));
    return 0;
}

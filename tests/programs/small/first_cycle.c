// SPDX-License-Identifier: BSD-2-Clause
// Three pairs of blocks that point to one another, and are lost; one that points to itself alone, and is lost too.
#include <stdlib.h>

struct node {
    struct node *other;
    char data[200];
};

static void pair(void) {
    struct node *volatile a = malloc(sizeof(struct node)), *volatile b = malloc(sizeof(struct node));
    a->other = b;
    b->other = a;
    a = b = NULL;
}

static void alone(void) {
    struct node *volatile a = malloc(sizeof(struct node)), *volatile under = malloc(sizeof(struct node));
    a->other = a;
    *(struct node *volatile *)a->data = under;
    under->other = NULL;
    a = under = NULL;
}

static void overwrite(void) {
    volatile char stack[4096];
    for (unsigned i = 0; i < sizeof(stack); i++)
        stack[i] = 0;
}

int main(int argc, char **argv) {
    for (int i = 0; i < (argc > 1 ? 0 : 3); i++)
        pair();
    alone();
    overwrite();
    return 0;
}

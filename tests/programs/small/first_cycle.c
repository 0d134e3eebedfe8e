// SPDX-License-Identifier: BSD-2-Clause
// Three pairs of blocks (or as many as the argument says) that point to one another, and are lost; one that points
// to itself, and one with a node that points into its middle, as the nodes of a std::map do: lost too, and no cycles.
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

static void map(void) {
    struct node *volatile head = malloc(sizeof(struct node)), *volatile under = malloc(sizeof(struct node));
    head->other = under;
    under->other = (struct node *)(head->data + 8);
    head = under = NULL;
}

static void overwrite(void) {
    volatile char stack[4096];
    for (unsigned i = 0; i < sizeof(stack); i++)
        stack[i] = 0;
}

int main(int argc, char **argv) {
    for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 3); i++)
        pair();
    alone();
    for (int i = 0; i < 20; i++)
        map();
    overwrite();
    return 0;
}

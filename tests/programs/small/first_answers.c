// SPDX-License-Identifier: BSD-2-Clause
// An owner of 400 bytes that leads to 50,000, three blocks of 5,000 without an owner, and a list whose nodes and
// data come from one line: all of it lost.
#include <stdlib.h>
#include <string.h>

struct owner {
    char *parts[50];
};

struct node {
    struct node *next;
    char *data;
};

static char *leaf(void) {
    char *part = malloc(1000);
    memset(part, 1, 1000);
    return part;
}

static void lose_owner(void) {
    struct owner *owner = malloc(sizeof(*owner));
    for (int i = 0; i < 50; i++)
        owner->parts[i] = leaf();
}

static void lose_three(void) {
    for (int i = 0; i < 3; i++) {
        void *volatile block = malloc(5000);
        (void)block;
    }
}

static void lose_list(void) {
    struct node *list = NULL;
    for (int i = 0; i < 10; i++) {
        // clang-format off
        struct node *node = malloc(sizeof(*node)); node->data = malloc(100);
        // clang-format on
        node->next = list;
        list = node;
    }
}

static __attribute__((noinline)) void overwrite(void) {
    volatile char stack[8192];
    memset((char *)stack, 0, sizeof(stack));
}

int main(void) {
    lose_owner();
    lose_three();
    lose_list();
    overwrite();
    return 0;
}

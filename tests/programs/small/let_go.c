// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
struct node { struct node *next; char bytes[24]; };
static __attribute__((noinline)) struct node *element(struct node *next) {
    struct node *node = calloc(1, sizeof(*node));
    node->next = next;
    return node;
}
static __attribute__((noinline)) void list_head(void) {
    struct node *list = NULL;
    for (int i = 0; i < 5; i++)
        list = element(list);
    void **volatile head = malloc(64);
    *head = list;
}
static __attribute__((noinline)) void single(void) {
    void **volatile head = malloc(128);
    *head = element(NULL);
}
static __attribute__((noinline)) void ring(void) {
    struct node *a = element(NULL), *b = element(a);
    a->next = element(b);
}
static void wipe(void) {
    volatile char bytes[4096];
    for (int i = 0; i < 4096; i++)
        bytes[i] = 0;
}
int main(void) {
    list_head();
    single();
    ring();
    wipe();
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Singly linked lists: one whose head was dropped, one that a global holds.
#include "corpus.h"

struct node *head;

static NOINLINE struct node *linked(struct node *rest, size_t size) {
    struct node *node = make(size);
    node->a = rest;
    return node;
}

static void held(void) {
    for (int i = 0; i < 5; i++)
        head = linked(head, 40); // EXPECT: 5 reachable
}

static void dropped(void) {
    struct node *tail = linked(NULL, 48);   // EXPECT: indirect
    struct node *middle = linked(tail, 48); // EXPECT: indirect
    KEEP(linked(middle, 48));               // EXPECT: lost
}

static void cut(void) {
    struct node *list = linked(linked(NULL, 56), 56); // EXPECT: 1 lost, 1 indirect
    head->b = linked(list, 56);                       // EXPECT: reachable
    head->b->a = NULL;
}

int main(void) {
    play(held);
    play(dropped);
    play(cut);
    park();
}

// SPDX-License-Identifier: BSD-2-Clause
// Intrusive lists as in the Linux kernel: the links lie in the middle of the elements and lead to middles.
#include "corpus.h"

struct link {
    struct link *next, *previous;
};

struct element {
    long key, unused;
    struct link link;
};

struct first_link {
    struct link link;
    long key;
};

struct link elements = {&elements, &elements};
struct link easy = {&easy, &easy};

static NOINLINE void append(struct link *list, struct link *link) {
    link->previous = list->previous;
    link->next = list;
    list->previous->next = link;
    list->previous = link;
}

static void in_the_middle(void) {
    for (int i = 0; i < 3; i++) {
        struct element *element = (struct element *)make(sizeof(*element)); // EXPECT: 3 possible
        append(&elements, &element->link);
    }
}

static void at_the_start(void) {
    for (int i = 0; i < 3; i++)
        append(&easy, &((struct first_link *)make(72))->link); // EXPECT: 3 reachable
}

static void taken_out(void) {
    struct element *element = (struct element *)make(88); // EXPECT: lost
    append(&elements, &element->link);
    element->link.previous->next = element->link.next;
    element->link.next->previous = element->link.previous;
}

int main(void) {
    play(in_the_middle);
    play(at_the_start);
    play(taken_out);
    park();
}

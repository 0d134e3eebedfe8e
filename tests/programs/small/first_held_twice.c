// SPDX-License-Identifier: BSD-2-Clause
// Two variables lead to each block of main: one block leads to others, one holds only itself.
#include <stdlib.h>

struct node {
    struct node *next;
    char text[392];
};

static struct node *list, *last_list;
static char *buffer, *position;

int main(void) {
    for (int i = 0; i < 10; i++) {
        struct node *node = calloc(1, sizeof(*node));
        node->next = list;
        list = node;
    }
    last_list = list;
    buffer = position = malloc(50000);
    return 0;
}

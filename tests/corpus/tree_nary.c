// SPDX-License-Identifier: BSD-2-Clause
// Trees whose children lie in arrays of their own, as in a document or a syntax tree.
#include "corpus.h"

struct element {
    char *name;
    struct element **children;
    size_t nr_children;
};

struct element *document;

static NOINLINE struct element *parse(int depth) {
    struct element *element = (struct element *)make(sizeof(*element));
    element->name = strcpy((char *)make(16), "element");
    element->nr_children = depth > 0 ? 3 : 0;
    if (element->nr_children)
        element->children = (struct element **)make(3 * sizeof(*element->children));
    for (size_t i = 0; i < element->nr_children; i++)
        element->children[i] = parse(depth - 1);
    return element;
}

static void held(void) {
    document = parse(2); // EXPECT: 30 reachable
}

static void array_dropped(void) {
    struct element *part = parse(1); // EXPECT: 2 reachable, 1 lost, 6 indirect
    document->children[2]->children[0]->children = (struct element **)part;
    part->children = NULL;
}

static void dropped(void) {
    KEEP(parse(1)); // EXPECT: 1 lost, 8 indirect
}

int main(void) {
    play(held);
    play(array_dropped);
    play(dropped);
    park();
}

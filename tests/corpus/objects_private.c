// SPDX-License-Identifier: BSD-2-Clause
// Objects with private data in front, as those of GLib. A pointer leads to the object, which begins with a
// pointer to its class, which begins with one to its type, whose data lead to the class. And two that are no
// such objects: arrays of pointers into which one was left, where there are pointers to short chains; and
// attributes of elements that a registry has.
#include "corpus.h"

enum { NR_TYPES = 5, NR = 40, WORDS = 6 };
struct data {
    size_t class_bytes;
    struct class *class;
};
struct type {
    size_t nr_references;
    struct data *data;
};
struct class {
    struct type *type;
    void (*finish)(void *object);
};
struct object {
    struct class *class;
    void *data;
};
struct registry {
    size_t nr;
    struct element **all;
};
struct element {
    struct registry *registry;
    void *data;
};
struct registry *registry;
struct element **attributes[NR];
struct class *classes[NR_TYPES];
struct object *objects[NR];
struct node ***arrays[NR];

static void declare(void) {
    for (int i = 0; i < NR_TYPES; i++) {
        struct type *type = (struct type *)make(sizeof(*type)); // EXPECT: 5 reachable
        type->nr_references = 1;
        type->data = (struct data *)make(sizeof(*type->data));  // EXPECT: 5 reachable
        classes[i] = (struct class *)make(sizeof(*classes[i])); // EXPECT: 5 reachable
        classes[i]->type = type;
        type->data->class = classes[i];
    }
}

static NOINLINE struct object *new_object(struct class *class, size_t private_bytes) {
    char *block = (char *)make(private_bytes + sizeof(struct object));
    memset(block, 0x7f, private_bytes);
    struct object *object = (struct object *)(block + private_bytes);
    object->class = class;
    return object;
}

static void held(void) {
    for (int i = 0; i < NR; i++) {
        objects[i] = new_object(classes[i % NR_TYPES], (size_t)(i % NR_TYPES) * 40); // EXPECT: 40 reachable
        // VALGRIND: 32 possible, 8 reachable: it does not know the class, unless GLib says where the object is
        objects[i]->data = make(24); // EXPECT: 40 reachable
        // VALGRIND: 32 possible, 8 reachable: only the object leads to it
    }
}

static void dropped(void) {
    for (int i = 0; i < NR_TYPES; i++)
        KEEP(new_object(classes[i], (size_t)i * 40)); // EXPECT: 5 lost
}

static NOINLINE struct node ***array(void) {
    struct node ***block = (struct node ***)make((WORDS + 1) * sizeof(*block)) + 1;
    for (int i = 0; i < WORDS; i++)
        block[i] = (struct node **)make(sizeof(struct node));
    return block;
}

static void left(void) {
    for (int i = 0; i < NR; i++) {
        int at = i % (WORDS - 1);
        struct node ***block = array(); // EXPECT: 280 possible
        *block[at] = (struct node *)block[at + 1];
        arrays[i] = &block[at];
    }
}

// Elements begin with a pointer to their registry, as classes do with one to their type. It leads to several.
static void declare_elements(void) {
    registry = (struct registry *)make(sizeof(*registry)); // EXPECT: reachable
    registry->nr = NR_TYPES;
    registry->all = (struct element **)make(NR_TYPES * sizeof(*registry->all)); // EXPECT: reachable
    for (int i = 0; i < NR_TYPES; i++) {
        registry->all[i] = (struct element *)make(sizeof(*registry->all[i])); // EXPECT: 5 reachable
        registry->all[i]->registry = registry;
    }
}

static NOINLINE struct element **attribute(size_t bytes, struct element *owner) {
    char *block = (char *)make(bytes + 2 * sizeof(owner)); // EXPECT: 40 possible
    memset(block, 0x7f, bytes);
    memcpy(block + bytes, &owner, sizeof(owner));
    return (struct element **)(block + bytes);
}

static void left_attributes(void) {
    for (int i = 0; i < NR; i++)
        attributes[i] = attribute((size_t)(16 + i % NR_TYPES * 40), registry->all[i % NR_TYPES]);
}

int main(void) {
    play(declare);
    play(held);
    play(dropped);
    play(left);
    play(declare_elements);
    play(left_attributes);
    park();
}

// SPDX-License-Identifier: BSD-2-Clause
// An arena that several callers fill: the line that makes its chunks tells less than the callers do. And a list.
#include <stdlib.h>

struct chunk {
    struct chunk *next;
    size_t used;
    char data[4096];
};

static struct chunk *chunks;

static struct chunk *new_chunk(void) {
    struct chunk *chunk = calloc(1, sizeof(*chunk));
    chunk->next = chunks;
    return chunks = chunk;
}

static void *take(size_t bytes) {
    struct chunk *chunk = chunks;
    if (!chunk || chunk->used + bytes > sizeof(chunk->data))
        chunk = new_chunk();
    chunk->used += bytes;
    return chunk->data + chunk->used - bytes;
}

static void parse_tree(void) {
    for (int i = 0; i < 900; i++)
        take(1024);
}

static void read_words(void) {
    for (int i = 0; i < 100; i++)
        take(1024);
}

struct node {
    struct node *next;
    void *payload;
};

static struct node *list;

static void add_node(size_t bytes, void *payload) {
    struct node *node = calloc(1, bytes);
    node->next = list;
    node->payload = payload;
    list = node;
}

int main(void) {
    parse_tree();
    read_words();
    add_node(20, malloc(5000));
    for (size_t bytes = 21; bytes < 25; bytes++)
        add_node(bytes, NULL);
    return 0;
}

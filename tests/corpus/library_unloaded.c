// SPDX-License-Identifier: BSD-2-Clause
// A library that was unloaded took its variables with it: what only they held is lost.
// FLAGS: -ldl
// LIBRARY: -shared -fPIC
#include "corpus.h"
#ifdef CORPUS_LIBRARY
struct node *table[100];

void fill(struct node *block, struct node **from_outside);
void fill(struct node *block, struct node **from_outside) {
    table[50] = block;
    *from_outside = (struct node *)malloc(80);
}
#else
#include <dlfcn.h>

struct node *outside;
static const char *path;

static void build(void) {
    void *library = dlopen(path, RTLD_NOW); // EXPECT: any held
    if (!library)
        _exit(3);
    void (*fill)(struct node *, struct node **);
    *(void **)&fill = dlsym(library, "fill");
    struct node *block = make(40); // EXPECT: lost
    block->a = make(48);           // EXPECT: indirect
    fill(block, &outside);         // EXPECT: reachable
    dlclose(library);              // EXPECT: any held
}

int main(int argc, char **argv) {
    path = argv[1];
    play(build);
    park();
}
#endif

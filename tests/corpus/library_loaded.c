// SPDX-License-Identifier: BSD-2-Clause
// Data of a loaded library hold; those of one that was unloaded are gone.
// FLAGS: -ldl
// LIBRARY: -shared -fPIC
#include "corpus.h"
#ifdef CORPUS_LIBRARY
struct node *table[100];

__attribute__((constructor)) static void load(void) {
    table[1] = make(40); // EXPECT: reachable
}

__attribute__((destructor)) static void unload(void) {
    free(table[1]);
}

void fill(size_t size);
void fill(size_t size) {
    table[50] = make(size);
    table[50]->a = make(size);
}
#else
#include <dlfcn.h>

static void *library;
static void (*fill)(size_t);
static const char *path;

static void held(void) {
    library = dlopen(path, RTLD_NOW); // EXPECT: any held
    if (!library)
        _exit(3);
    *(void **)&fill = dlsym(library, "fill");
    fill(48); // EXPECT: 2 reachable
}

int main(int argc, char **argv) {
    path = argv[1];
    play(held);
    park();
}
#endif

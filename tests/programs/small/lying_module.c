// SPDX-License-Identifier: BSD-2-Clause
// Loads the module it is named and allocates in it, then frees inside a block. With LIBRARY the module.
#include <stdlib.h>

#ifdef LIBRARY
void *allocate(void) {
    return malloc(1000);
}
#else
#include <dlfcn.h>

int main(int argc, char **argv) {
    void *module = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void *(*allocate)(void) = module ? (void *(*)(void))dlsym(module, "allocate") : NULL;
    if (!allocate)
        return 2;
    char *volatile block = allocate();
    free(block + 400);
    return 0;
}
#endif

// SPDX-License-Identifier: BSD-2-Clause
// Opens each library that it is given, has it allocate, and closes it again at once. With -DLIBRARY=N: such a
// library, whose block has N bytes.
#include <dlfcn.h>
#include <stdlib.h>

#ifdef LIBRARY
__attribute__((noinline)) void *allocate(void) {
    void *block = malloc(LIBRARY);
    __asm__ volatile("" : : "r"(block) : "memory"); // no tail call
    return block;
}

__attribute__((noinline)) void *through(void) {
    void *block = allocate();
    __asm__ volatile("" : : "r"(block) : "memory");
    return block;
}
#else
int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        void *library = dlopen(argv[i], RTLD_NOW);
        if (!library)
            return 3;
        void *(*through)(void) = (void *(*)(void))dlsym(library, "through");
        through();
        if (dlclose(library))
            return 4;
    }
    return 0;
}
#endif
